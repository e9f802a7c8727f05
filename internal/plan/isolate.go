package plan

import "slices"

// isolateOutputs inserts copies for values that need separate memory: gradients, because a device
// chooses their place; parts of a concatenation, which the copy writes to their place; and reshaped
// values, whose memory must have no gaps.
func (g *dag) isolateOutputs() {
	g.isolateGradients()
	g.isolateParts()
	users := g.users()
	for _, v := range g.all() {
		if v.kind != reshapeKind {
			continue
		}
		w := v.in[0]
		if w.kind == rangeKind || slices.ContainsFunc(users[w], isConcat) {
			v.in = []*value{copyOf(w)}
		}
	}
}

func isConcat(v *value) bool { return v != nil && v.kind == concatKind }

func (g *dag) isolateGradients() {
	forward, users := g.forward(), g.users()
	seen := map[*value]bool{}
	for i, v := range g.gradients {
		p := g.parameters[i]
		if !v.computed() || v.kind == concatKind || forward[v] || seen[v] || !v.sameShape(p) || slices.ContainsFunc(users[v], isConcat) {
			v = copyOf(reshapeOf(v, p.rows, p.cols))
		}
		seen[v] = true
		g.gradients[i] = v
	}
}

// isolateParts copies the parts of concatenations that a step cannot write to their place: inputs,
// views, values of the other half, and parts of two concatenations.
func (g *dag) isolateParts() {
	forward := g.forward()
	placed := map[*value]bool{}
	for _, v := range g.all() {
		if v.kind != concatKind {
			continue
		}
		v.in = slices.Clone(v.in)
		for i, p := range v.in {
			if !p.computed() || placed[p] || forward[p] != forward[v] || slices.Contains(g.gradients, p) {
				v.in[i] = copyOf(p)
			}
			placed[p] = true
		}
	}
}
