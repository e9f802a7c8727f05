package plan

import "ppal/trainer/graph/describe"

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
