package style

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// No code searches the text of an error: the program decides by the type or the value of an error.
// The packages that help tests do search texts.
func TestNoErrorIsReadAsText(t *testing.T) {
	searches := []string{"Contains", "HasPrefix", "HasSuffix", "Cut", "CutPrefix", "CutSuffix", "Index", "EqualFold", "MatchString"}
	found := 0
	eachSource(t, "../..", func(path string) error {
		if slices.ContainsFunc([]string{"internal/datatest/", "internal/testkit/", "internal/require/", "_test.go"}, func(s string) bool { return strings.Contains(path, s) }) {
			return nil
		}
		files := token.NewFileSet()
		tree, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains(searches, f.Sel.Name) {
				return true
			}
			found++
			for _, a := range call.Args {
				if readsError(a) {
					t.Errorf("%s searches the text of an error", files.Position(call.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if found < 50 {
		t.Errorf("found %d searches in all: the test is broken", found)
	}
}

// readsError reports whether an expression calls the method Error.
func readsError(x ast.Expr) (reads bool) {
	ast.Inspect(x, func(n ast.Node) bool {
		if f, ok := n.(*ast.SelectorExpr); ok && f.Sel.Name == "Error" {
			reads = true
		}
		return true
	})
	return reads
}
