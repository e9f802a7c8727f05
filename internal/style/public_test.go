package style

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"

	"ppal/internal/require"
)

// TestPublicDeclarations checks that exported functions, methods of exported types, exported
// variables and exported fields name no types of internal packages, which a program outside cannot
// name and whose documentation it cannot see. The exception is package cuda, which implements the
// device of internal/plan: a program opens it by graph.OpenGPU.
func TestPublicDeclarations(t *testing.T) {
	for name, text := range tracked(t, "*.go") {
		dir := path.Dir(name)
		if strings.HasSuffix(name, "_test.go") || strings.Contains("/"+name, "/internal/") || strings.HasPrefix(dir, "cmd") || strings.HasPrefix(dir, "testdata") || dir == "cuda" {
			continue
		}
		files := token.NewFileSet()
		f := require.Value(parser.ParseFile(files, name, text, parser.SkipObjectResolution))(t)
		internal := map[string]bool{}
		for _, i := range f.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			name := path.Base(p)
			if i.Name != nil {
				name = i.Name.Name
			}
			internal[name] = strings.Contains(p, "/internal/")
		}
		check := func(n ast.Node) {
			ast.Inspect(n, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && internal[x.Name] {
						t.Errorf("%v: a public declaration names %s.%s", files.Position(s.Pos()), x.Name, s.Sel.Name)
					}
				}
				return true
			})
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && (d.Recv == nil || exported(d.Recv.List[0].Type)) {
					check(d.Type)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						if s.Name.IsExported() {
							fieldsOf(s.Type, check)
						}
					case *ast.ValueSpec:
						if s.Type != nil && s.Names[0].IsExported() {
							check(s.Type)
						}
					}
				}
			}
		}
	}
}

// exported reports whether the type of a receiver is exported.
func exported(x ast.Expr) bool {
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	i, ok := x.(*ast.Ident)
	return !ok || i.IsExported()
}

// fieldsOf calls check for the exported fields and methods of a type, or for the type itself.
func fieldsOf(x ast.Expr, check func(ast.Node)) {
	var list *ast.FieldList
	switch x := x.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	default:
		check(x)
		return
	}
	for _, f := range list.List {
		if len(f.Names) == 0 || f.Names[0].IsExported() {
			check(f.Type)
		}
	}
}
