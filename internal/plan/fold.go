package plan

import "ppal/trainer/graph/describe"

// foldConstants evaluates operations on constant numbers.
func (g *dag) foldConstants() {
	for _, v := range g.all() {
		if v.kind != mapKind || v.size() != 1 {
			continue
		}
		args := [2]float64{}
		constant := true
		for i, w := range v.in {
			c, ok := w.scalarConstant()
			args[i], constant = c, constant && ok
		}
		switch {
		case !constant:
			continue
		case v.op.Arity() == 2:
			args[0] = describe.Binary(v.op, args[0], args[1])
		default:
			args[0] = describe.Unary(v.op, args[0])
		}
		*v = value{kind: leafKind, class: Constant, values: args[:1], rows: 1, cols: 1, nodes: v.nodes}
	}
}

// virtualBroadcasts makes element-wise operations read the original value of a broadcast instead of
// its copies.
func (g *dag) virtualBroadcasts() {
	for _, v := range g.all() {
		if v.kind != mapKind {
			continue
		}
		for i, w := range v.in {
			for isMap(w, describe.Identity) && !w.sameShape(w.in[0]) {
				w = w.in[0]
			}
			v.in[i] = w
		}
	}
}
