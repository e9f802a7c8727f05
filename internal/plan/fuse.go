package plan

import (
	"slices"

	"ppal/trainer/graph/describe"
)

// accumulate turns the sum of two products into one product that is added to the result of the
// other product. It does the same with the sum of two products M^T w with group memberships, and
// with the sum of two derivatives ds of losses.
func (g *dag) accumulate() {
	for again := true; again; {
		again = false
		forward, users := g.forward(), g.users()
		for _, v := range g.all() {
			if !isMap(v, describe.Add) || !addable(v.in[0], v, users, forward) || !addable(v.in[1], v, users, forward) {
				continue
			}
			base, added := v.in[0], v.in[1]
			if added.hasBase() || !base.hasBase() && work(base) < work(added) {
				base, added = added, base
			}
			if added.hasBase() {
				continue
			}
			added.in = append(added.in, base)
			added.nodes = append(added.nodes, v.nodes...)
			g.replace(map[*value]*value{v: added})
			again = true
			break
		}
	}
}

// addable reports whether w, an operand of the sum v, can be computed by adding to the other
// operand: only v reads w.
func addable(w, v *value, users map[*value][]*value, forward map[*value]bool) bool {
	adds := w.kind == productKind || w.kind == meansGrad || w.kind == signedGrad
	return adds && len(users[w]) == 1 && w.sameShape(v) && forward[w] == forward[v]
}

// hasBase reports whether w is added to another value.
func (w *value) hasBase() bool {
	return (w.kind == productKind || w.kind == signedGrad) && len(w.in) == 3 || w.kind == meansGrad && len(w.in) == 2
}

// work returns the inner dimension of a product. accumulate adds the smaller product to the result
// of the larger product.
func work(w *value) int {
	if w.kind != productKind {
		return 0
	}
	_, inner := transposed(w.in[0], w.trans[0])
	return inner
}

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
