package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// others maps an operator to the operators that mutants put in its place.
var others = map[token.Token][]token.Token{
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.AND: {token.OR}, token.OR: {token.AND}, token.XOR: {token.AND}, token.SHL: {token.SHR}, token.SHR: {token.SHL}, token.AND_NOT: {token.AND},
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR}, token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN}, token.MUL_ASSIGN: {token.QUO_ASSIGN},
	token.QUO_ASSIGN: {token.MUL_ASSIGN}, token.INC: {token.DEC}, token.DEC: {token.INC},
}

// comparison reports whether an expression compares two values.
func comparison(e ast.Expr) bool {
	b, ok := ast.Unparen(e).(*ast.BinaryExpr)
	return ok && (b.Op == token.EQL || b.Op == token.NEQ || len(others[b.Op]) == 2)
}

// isCondition reports whether e is the whole condition of an if statement or a loop.
func isCondition(e ast.Expr, parent ast.Node) bool {
	switch s := parent.(type) {
	case *ast.IfStmt:
		return s.Cond == e
	case *ast.ForStmt:
		return s.Cond == e
	}
	return false
}

// binary adds the mutants of an operator.
func (w *writer) binary(x *ast.BinaryExpr, parent ast.Node) {
	switch x.Op {
	case token.LAND, token.LOR:
		return // the operands have their own mutants: see condition
	case token.EQL, token.NEQ:
		if !isCondition(x, parent) {
			call := w.add(x, w.source(x), "the opposite")
			w.wrap(x, "((", ") != "+call+")")
		}
		return
	}
	left, right := w.info.Types[x.X], w.info.Types[x.Y]
	a, b := left.Type, right.Type
	if x.Op != token.SHL && x.Op != token.SHR {
		if left.Value != nil {
			a = b
		} else if right.Value != nil {
			b = a
		}
	}
	if t, ok := a.Underlying().(*types.Basic); ok && t.Info()&types.IsString != 0 && x.Op == token.ADD {
		return
	}
	first, second, result := w.typeName(a), w.typeName(b), w.typeName(w.info.Types[x].Type)
	if comparison(x) {
		result = "bool"
	}
	if first == "" || second == "" || result == "" {
		return
	}
	var body strings.Builder
	for i, op := range others[x.Op] {
		if i == 1 && isCondition(x, parent) {
			break // the condition has the mutants true and false
		}
		call := w.add(x, w.source(x), w.source(x.X)+" "+op.String()+" "+w.source(x.Y))
		other := "x " + op.String() + " y"
		if w.panics(op, a) {
			body.WriteString("if " + call + " { return " + other + " }; ")
		} else {
			body.WriteString("if " + w.differs(other) + call + " { return " + other + " }; ")
		}
	}
	w.wrap(x, "func(x "+first+", y "+second+") "+result+" { r := x "+x.Op.String()+" y; "+body.String()+"return r }(", ")")
	w.edits = append(w.edits, edit{w.offset(x.X.End()), w.offset(x.Y.Pos()), atOperator, ", "})
}

// outside reports whether a change of the current node to another text than "true" is outside of
// what the tests must notice: it drops an error that a call returned, or it changes the capacity of
// a slice or map. The results of a training do not depend on capacities.
func (w *writer) outside() bool {
	for i := len(w.stack) - 1; i > 0; i-- {
		switch x := w.stack[i-1].(type) {
		case *ast.IfStmt:
			if w.failed(x.Cond) && (w.stack[i] == ast.Node(x.Cond) || w.stack[i] == ast.Node(x.Body)) {
				_, returns := x.Body.List[0].(*ast.ReturnStmt)
				return returns && len(x.Body.List) == 1
			}
		case *ast.CallExpr:
			f := w.source(x.Fun)
			if f == "make" && len(x.Args) == 3 && w.stack[i] == ast.Node(x.Args[2]) || f == "slices.Grow" && w.stack[i] == ast.Node(x.Args[1]) {
				return true
			}
		}
	}
	return false
}

// failed reports whether a condition is "err != nil" for an error.
func (w *writer) failed(cond ast.Expr) bool {
	b, ok := cond.(*ast.BinaryExpr)
	return ok && b.Op == token.NEQ && w.source(b.Y) == "nil" && w.typeName(w.info.Types[b.X].Type) == "error"
}

// differs returns the beginning of a condition: without a trace, or with a result other than r.
func (w *writer) differs(other string) string {
	return `(mutantTrace == "" || r != (` + other + ")) && "
}

// panics reports whether an operator can panic for operands of type t.
func (w *writer) panics(op token.Token, t types.Type) bool {
	switch op {
	case token.SHL, token.SHR:
		return true
	case token.QUO, token.REM:
		b, ok := t.Underlying().(*types.Basic)
		return !ok || b.Info()&types.IsInteger != 0
	}
	return false
}

// unary adds the mutant without the operator.
func (w *writer) unary(x *ast.UnaryExpr) {
	switch x.Op {
	case token.SUB:
		if t := w.typeName(w.info.Types[x].Type); t != "" {
			call := w.add(x, w.source(x), w.source(x.X))
			w.wrap(x, "func(x "+t+") "+t+" { r := x; if "+w.differs("-x")+call+" { return -x }; return r }(", ")")
		}
	case token.NOT:
		if !comparison(x.X) {
			call := w.add(x, w.source(x), w.source(x.X))
			w.wrap(x, "(("+call+") != ", ")")
		}
	}
}

// condition adds the mutants in which a condition, or an operand of && or ||, is always true or
// always false.
func (w *writer) condition(e ast.Expr, parent ast.Node) {
	logic := token.ILLEGAL
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
		logic = b.Op
	}
	always, never := false, false
	switch p := parent.(type) {
	case *ast.IfStmt:
		always, never = p.Cond == e && logic != token.LAND, p.Cond == e && logic != token.LOR
	case *ast.ForStmt:
		never = p.Cond == e
	case *ast.BinaryExpr:
		always, never = p.Op == token.LAND && logic != token.LAND, p.Op == token.LOR && logic != token.LOR
	}
	if always {
		call := w.id(e, w.source(e), "true")
		w.wrap(e, "mutantOr("+call+", (", "))")
	}
	if never {
		call := w.id(e, w.source(e), "false")
		w.wrap(e, "mutantAnd("+call+", (", "))")
	}
}

// statement adds the mutants that remove a statement or change its operator. The statement must be
// part of a list.
func (w *writer) statement(s ast.Stmt, parent ast.Node) {
	switch parent.(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
	default:
		return
	}
	if c, ok := parent.(*ast.CommClause); ok && c.Comm == s {
		return
	}
	change := ""
	switch x := s.(type) {
	case *ast.AssignStmt:
		if x.Tok == token.DEFINE {
			return
		}
		if id, ok := x.Lhs[0].(*ast.Ident); ok && id.Name == "_" {
			return
		}
		t, basic := w.info.Types[x.Lhs[0]].Type.Underlying().(*types.Basic)
		for _, op := range others[x.Tok] {
			if basic && t.Info()&types.IsString != 0 {
				break
			}
			text := w.source(x.Lhs[0]) + " " + op.String() + " " + w.source(x.Rhs[0])
			change = "if " + w.add(x, w.source(x), text) + " { " + text + " } else "
		}
	case *ast.IncDecStmt:
		for _, op := range others[x.Tok] {
			text := w.source(x.X) + op.String()
			change = "if " + w.add(x, w.source(x), text) + " { " + text + " } else "
		}
	case *ast.ExprStmt:
		if c, ok := x.X.(*ast.CallExpr); !ok || w.exits(c) {
			return
		}
	case *ast.DeferStmt:
	case *ast.BranchStmt:
		if x.Tok != token.BREAK && x.Tok != token.CONTINUE {
			return
		}
	case *ast.ReturnStmt:
		w.returned(x)
		if len(x.Results) > 0 || w.results[len(w.results)-1].Len() > 0 {
			return
		}
	default:
		return
	}
	call := w.add(s, w.source(s), "removed")
	w.wrap(s, change+"if !"+call+" { ", " }")
}

// exits reports whether a call never returns.
func (w *writer) exits(c *ast.CallExpr) bool {
	f := w.source(c.Fun)
	return f == "panic" || f == "os.Exit"
}

// returned adds the mutants of a result: a constant truth value becomes the opposite, and the error
// of a call becomes nil.
func (w *writer) returned(s *ast.ReturnStmt) {
	for _, r := range s.Results {
		if id, ok := r.(*ast.Ident); ok && (id.Name == "true" || id.Name == "false") {
			at := w.offset(r.End())
			w.edits = append(w.edits, edit{at, at, atEnd, " != " + w.add(r, "return "+id.Name, "the opposite")})
		}
	}
	if len(s.Results) != 1 || w.results[len(w.results)-1].Len() != 1 {
		return
	}
	c, ok := s.Results[0].(*ast.CallExpr)
	if !ok || w.typeName(w.info.Types[c].Type) != "error" {
		return
	}
	w.wrap(c, "mutantNil("+w.id(s, w.source(s), "return nil")+", ", ")")
}
