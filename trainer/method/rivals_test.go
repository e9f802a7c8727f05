package method_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer/method"
)

// Methods that are not rivals keep the larger promise: each entry of the table reaches the KKT
// epsilon 1e-6, and runs on mini-batches end with steps on all rows. Runs of rivals do not end with
// these steps.
func TestRivals(t *testing.T) {
	rival := map[string]bool{}
	for _, d := range method.All() {
		rival[d.Name] = d.Rival
		if got := method.FinishOn(d.New(), handProblem(t, testkit.HandFunctions()), 5); got == d.Rival {
			t.Errorf("%s: rival %v, and its last iterations use all rows: %v", d.Name, d.Rival, got)
		}
	}
	for _, e := range table() {
		if m := e.make(); !rival[m.Name()] && e.tolerance > 1e-6 {
			t.Errorf("%s reaches %g only", e.name, e.tolerance)
		}
	}
}

// A new method needs its own file alone: no other file has a method of its type, and no file of the
// module asks whether a value has the type.
func TestMethodsNeedOneFile(t *testing.T) {
	trees := map[string]*ast.File{}
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			trees[path], err = parser.ParseFile(token.NewFileSet(), path, nil, 0)
		}
		return err
	}))
	home := map[string]string{} // of each described type
	for path, tree := range trees {
		ast.Inspect(tree, func(n ast.Node) bool {
			if x, ok := n.(*ast.IndexExpr); ok && name(x.X) == "describe" {
				home[name(x.Index)] = path
			}
			return true
		})
	}
	if len(home) != len(method.All()) {
		t.Fatalf("found %v, want %d methods", home, len(method.All()))
	}
	for path, tree := range trees {
		asks := func(e ast.Expr) {
			x, package_ := e, filepath.Dir(path) == filepath.Dir(home["PPALA"])
			if s, ok := x.(*ast.SelectorExpr); ok {
				x, package_ = s.Sel, name(s.X) == "method"
			}
			if package_ && home[name(x)] != "" {
				t.Errorf("%s asks for the type %s", path, name(x))
			}
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil && tree.Name.Name == "method" {
					if own := home[name(pointee(n.Recv.List[0].Type))]; own != "" && own != path {
						t.Errorf("%s has a method of %s", path, own)
					}
				}
			case *ast.TypeAssertExpr:
				asks(pointee(n.Type))
			case *ast.TypeSwitchStmt:
				for _, c := range n.Body.List {
					for _, e := range c.(*ast.CaseClause).List {
						asks(pointee(e))
					}
				}
			}
			return true
		})
	}
}

// pointee returns the type to which e points, or e.
func pointee(e ast.Expr) ast.Expr {
	if s, ok := e.(*ast.StarExpr); ok {
		return s.X
	}
	return e
}

// name returns the name of an identifier, else "".
func name(e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
