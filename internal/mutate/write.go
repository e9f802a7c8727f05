package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// sortFiles sorts files by name, so that the ids of mutants are the same in each run.
func sortFiles(fset *token.FileSet, files []*ast.File) {
	slices.SortFunc(files, func(a, b *ast.File) int {
		return strings.Compare(fset.Position(a.Pos()).Filename, fset.Position(b.Pos()).Filename)
	})
}

// writer inserts mutants in the text of a file. An inserted call mutant(ID) tells the program
// whether this mutant is active.
type writer struct {
	fset       *token.FileSet
	info       *types.Info
	pkg        *types.Package
	file       *ast.File
	name, text string

	next     int // the id of the next mutant
	mutants  []*mutant
	edits    []edit
	function string
	results  []*types.Tuple // of the functions around the node
	stack    []ast.Node
	ends     [][]string // the text to insert after each node of the stack
}

// edit replaces the text between two offsets. At one offset, the ends of nodes come before
// replaced operators and the beginnings of nodes.
type edit struct {
	from, to, order int
	text            string
}

const (
	atEnd = iota
	atOperator
	atBegin
)

// write returns the text of the file with its mutants.
func (w *writer) write() string {
	for _, d := range w.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			w.function = functionName(f)
			w.results = []*types.Tuple{w.info.Defs[f.Name].Type().(*types.Signature).Results()}
			ast.Inspect(f.Body, w.visit)
		}
	}
	slices.SortStableFunc(w.edits, func(a, b edit) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.order - b.order
	})
	var b strings.Builder
	at := 0
	for _, e := range w.edits {
		b.WriteString(w.text[at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.WriteString(w.text[at:])
	return b.String()
}

// functionName returns NAME or TYPE.NAME.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

func (w *writer) offset(p token.Pos) int { return w.fset.Position(p).Offset }

// source returns the original text of a node.
func (w *writer) source(n ast.Node) string { return w.text[w.offset(n.Pos()):w.offset(n.End())] }

// add registers a mutant and returns the call that asks for it.
func (w *writer) add(n ast.Node, before, after string) string {
	return "mutant(" + w.id(n, before, after) + ")"
}

// id registers a mutant and returns its number.
func (w *writer) id(n ast.Node, before, after string) string {
	short := func(s string) string {
		s = strings.Join(strings.Fields(s), " ")
		if len(s) > 120 {
			s = s[:120] + "..."
		}
		return s
	}
	m := &mutant{id: w.next, file: w.name, line: w.fset.Position(n.Pos()).Line, function: w.function, change: short(before) + " => " + short(after),
		outside: after != "true" && w.outside()}
	w.next++
	w.mutants = append(w.mutants, m)
	return strconv.Itoa(m.id)
}

// wrap inserts text before and after a node.
func (w *writer) wrap(n ast.Node, before, after string) {
	at := w.offset(n.Pos())
	w.edits = append(w.edits, edit{at, at, atBegin, before})
	last := len(w.ends) - 1
	w.ends[last] = append(w.ends[last], after)
}

// visit adds the mutants of a node, and the text after a node when the node ends.
func (w *writer) visit(n ast.Node) bool {
	if n == nil {
		last := len(w.stack) - 1
		at := w.offset(w.stack[last].End())
		for _, text := range slices.Backward(w.ends[last]) {
			w.edits = append(w.edits, edit{at, at, atEnd, text})
		}
		if _, ok := w.stack[last].(*ast.FuncLit); ok {
			w.results = w.results[:len(w.results)-1]
		}
		w.stack, w.ends = w.stack[:last], w.ends[:last]
		return true
	}
	if e, ok := n.(ast.Expr); ok {
		if t := w.info.Types[e]; t.Value != nil || t.IsType() {
			return false
		}
	}
	switch n.(type) {
	case *ast.GenDecl, *ast.BasicLit, *ast.LabeledStmt:
		return false
	}
	var parent ast.Node
	if len(w.stack) > 0 {
		parent = w.stack[len(w.stack)-1]
	}
	w.stack, w.ends = append(w.stack, n), append(w.ends, nil)
	if f, ok := n.(*ast.FuncLit); ok {
		w.results = append(w.results, w.info.Types[f].Type.(*types.Signature).Results())
	}
	if s, ok := n.(ast.Stmt); ok {
		w.statement(s, parent)
	}
	// The first text around a node is the outermost.
	if e, ok := n.(ast.Expr); ok {
		w.condition(e, parent)
	}
	switch x := n.(type) {
	case *ast.BinaryExpr:
		w.binary(x, parent)
	case *ast.UnaryExpr:
		w.unary(x)
	}
	return true
}

// typeName returns the name of a type in the file, and "" if the file cannot name the type.
func (w *writer) typeName(t types.Type) string {
	known := true
	name := types.TypeString(t, func(p *types.Package) string {
		if p == w.pkg {
			return ""
		}
		for _, i := range w.file.Imports {
			if strings.Trim(i.Path.Value, `"`) == p.Path() {
				if i.Name == nil {
					return p.Name()
				}
				return i.Name.Name
			}
		}
		known = false
		return p.Name()
	})
	if !known || strings.Contains(name, "untyped") || strings.Contains(name, "invalid") {
		return ""
	}
	return name
}
