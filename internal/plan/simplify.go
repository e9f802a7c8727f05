package plan

import (
	"slices"

	"ppal/trainer/graph/describe"
)

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

// skipReshapes replaces an input that is a reshape by the input of the reshape, if both have the
// same shape as matrices, such as pictures and their rows. The steps before and after the reshape
// can then run in place.
func (g *dag) skipReshapes() {
	for _, v := range g.all() {
		for i, w := range v.in {
			for w.kind == reshapeKind && w.sameShape(w.in[0]) {
				w = w.in[0]
			}
			v.in[i] = w
		}
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

// simplifyActivations rewrites the derivatives of activations as functions of the saved activation
// a. Gorgonia computes them from z or keeps a second matrix:
//
//	z (z >= 0)                -> relu(z);  z >= 0 elsewhere -> relu'(a)
//	a (1 - a), a sigmoid(-z)  -> sigmoid'(a)    a = sigmoid(z)
//	1 - a^2                   -> tanh'(a)       a = tanh(z)
//
// The absolute error of sigmoid'(a) is at most a rounding error of a. Its relative error grows as a
// approaches 1. Beyond z = 37 (17 in float32), sigmoid'(a) is 0, because the true value is smaller
// than the rounding error.
func (g *dag) simplifyActivations() {
	g.simplifyReLU()
	for _, v := range g.all() {
		if v.kind != mapKind || len(v.in) != 2 {
			continue
		}
		x, y := v.in[0], v.in[1]
		switch {
		case v.op == describe.Mul && isSigmoidPair(x, y):
			*v = value{kind: mapKind, op: describe.SigmoidGrad, in: []*value{x}, rows: v.rows, cols: v.cols, nodes: append(v.nodes, y.nodes...)}
		case v.op == describe.Mul && isSigmoidPair(y, x):
			*v = value{kind: mapKind, op: describe.SigmoidGrad, in: []*value{y}, rows: v.rows, cols: v.cols, nodes: append(v.nodes, x.nodes...)}
		case v.op == describe.Sub && isConstant(x, 1) && isTanhSquare(y):
			*v = value{kind: mapKind, op: describe.TanhGrad, in: y.in[:1], rows: v.rows, cols: v.cols, nodes: append(v.nodes, y.nodes...)}
		}
	}
}

// simplifyReLU rewrites z (z >= 0), the form of Gorgonia's Rectify.
func (g *dag) simplifyReLU() {
	mask := func(v *value) bool { return isMap(v, describe.Gte) && isConstant(v.in[1], 0) }
	rectified := map[*value]*value{} // by z
	for _, v := range g.all() {
		if isMap(v, describe.Mul) && mask(v.in[1]) && v.in[1].in[0] == v.in[0] && v.sameShape(v.in[0]) {
			v.op, v.in, v.nodes = describe.ReLU, v.in[:1], append(v.nodes, v.in[1].nodes...)
			rectified[v.in[0]] = v
		}
	}
	for _, v := range g.all() {
		if mask(v) && rectified[v.in[0]] != nil {
			v.op, v.in = describe.ReLUGrad, []*value{rectified[v.in[0]]}
		}
	}
}

func isMap(v *value, op describe.Op) bool { return v.kind == mapKind && v.op == op }

func isConstant(v *value, c float64) bool {
	x, ok := v.scalarConstant()
	return ok && x == c
}

// isSigmoidPair recognizes a = sigmoid(z) with 1 - a or sigmoid(-z).
func isSigmoidPair(a, b *value) bool {
	switch {
	case !isMap(a, describe.Sigmoid):
		return false
	case isMap(b, describe.Sub):
		return isConstant(b.in[0], 1) && b.in[1] == a
	case isMap(b, describe.Sigmoid):
		return isMap(b.in[0], describe.Neg) && b.in[0].in[0] == a.in[0]
	}
	return false
}

func isTanhSquare(v *value) bool {
	switch {
	case isMap(v, describe.Mul):
		return v.in[0] == v.in[1] && isMap(v.in[0], describe.Tanh)
	case isMap(v, describe.Square):
		return isMap(v.in[0], describe.Tanh)
	}
	return false
}

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
