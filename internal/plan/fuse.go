package plan

import (
	"slices"

	"ppal/trainer/graph/describe"
)

// maxExpr is the largest number of operations of one fused pass.
const maxExpr = 24

// fuse fuses element-wise operations of one shape and one half into single passes, if nothing else
// reads the values between them.
func (g *dag) fuse() {
	f := fuser{users: g.users(), forward: g.forward(), sizes: map[*value]int{}}
	for _, v := range g.all() {
		if v.kind != mapKind {
			continue
		}
		f.sizes[v] = 1
		for _, w := range v.in {
			if f.inlined(w, v) {
				f.sizes[v] += f.sizes[w]
			}
		}
	}
	fused := map[*value]*value{}
	for v := range f.sizes {
		fused[v] = f.expand(v)
	}
	for v, w := range fused { // after the loop, because expand reads the original passes
		v.expr, v.in, v.nodes = w.expr, w.in, w.nodes
	}
}

type fuser struct {
	users   map[*value][]*value
	forward map[*value]bool
	sizes   map[*value]int // operations in a value's expression
}

// inlined reports whether w is evaluated within its reader v's pass.
func (f *fuser) inlined(w, v *value) bool {
	if w.kind != mapKind || !w.sameShape(v) || f.sizes[w] >= maxExpr {
		return false
	}
	if w.op == describe.Identity { // identity costs nothing: it is a broadcast or a copy
		return f.forward[w] == f.forward[v]
	}
	return len(f.users[w]) == 1 && f.forward[w] == f.forward[v]
}

// expand returns v's expression and its operands.
func (f *fuser) expand(v *value) *value {
	fused := &value{}
	var build func(w *value) *describe.Expr
	build = func(w *value) *describe.Expr {
		fused.nodes = append(fused.nodes, w.nodes...)
		args := make([]*describe.Expr, 2)
		for i, x := range w.in {
			if c, constant := x.scalarConstant(); constant {
				args[i] = &describe.Expr{Op: describe.Value, Const: c}
			} else if f.inlined(x, v) {
				args[i] = build(x)
			} else {
				args[i] = &describe.Expr{Op: describe.Load, Arg: fused.operand(x)}
			}
		}
		if w.op == describe.Identity {
			return args[0]
		}
		return &describe.Expr{Op: w.op, X: args[0], Y: args[1]}
	}
	fused.expr = build(v)
	slices.Sort(fused.nodes)
	fused.nodes = slices.Compact(fused.nodes)
	return fused
}

// operand returns the position of x among the inputs of v, and appends x if it is missing.
func (v *value) operand(x *value) int {
	at := slices.Index(v.in, x)
	if at < 0 {
		at = len(v.in)
		v.in = append(v.in, x)
	}
	return at
}
