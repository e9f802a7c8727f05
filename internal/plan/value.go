package plan

import (
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph/describe"
)

// kind is the operation that computes a value.
type kind uint8

const (
	leafKind     kind = iota // an input of the graph: see value.class
	mapKind                  // op over in, broadcast; after fusing, expr over in
	productKind              // in[0] in[1] (+ in[2], where it accumulates), transposed as trans says
	sumsKind                 // in[0] over axis
	concatKind               // in side by side
	rangeKind                // columns column.. of in[0]
	reshapeKind              // in[0], its elements in the same order
	marginKind               // description MarginLossOp
	marginGrad               // description MarginLossGradOp
	signedKind               // description SignedLossOp
	signedGrad               // description SignedLossGradOp over in[0], in[1] (+ in[2])
	meansKind                // description GroupMeansOp
	meansGrad                // description GroupMeansGradOp over in[0] (+ in[1])
	convolveKind             // picture, over pictures in[0] and filters in[1]
	inputGrad                // picture, over D in[0] and filters in[1]
	filterGrad               // picture, over pictures in[0] and D in[1]
	poolKind                 // description MaxPool
	poolGrad                 // description MaxPoolGrad over pictures in[0] and D in[1]
	normKind                 // description Normalize
	normGrad                 // description NormalizeGrad over in[0] and D in[1]
	pairsKind                // description PairMeansOp
	pairsGrad                // description PairMeansGradOp over scores in[0] and weights in[1]
	opaqueKind               // node's op
)

// value is a matrix in single assignment: the graph that the passes rewrite.
// Vectors [n] are n x 1, scalars 1 x 1, tensors [n, ...] n x the rest.
type value struct {
	kind       kind
	in         []*value
	rows, cols int
	nodes      []int64 // the Gorgonia nodes that this value computes

	class  Class // of leaves
	index  int   // of Parameter, Coefficient
	values []float64
	node   *gorgonia.Node // of leaves and opaque values

	op          describe.Op
	expr        *describe.Expr
	trans       [2]bool
	axis        Axis
	column      int
	description describe.Description
	picture     Window         // of convolutions
	shapes      []tensor.Shape // of an opaque value's inputs
}

func (v *value) size() int { return v.rows * v.cols }

// sameShape compares the shapes as matrices.
func (v *value) sameShape(w *value) bool { return v.rows == w.rows && v.cols == w.cols }

// computed reports whether a step writes the memory of v, and v is not a view of another value.
func (v *value) computed() bool {
	return v.kind != leafKind && v.kind != rangeKind && v.kind != reshapeKind
}

// scalarConstant returns the value of a constant 1 x 1.
func (v *value) scalarConstant() (float64, bool) {
	if v.kind == leafKind && v.class == Constant && v.size() == 1 {
		return v.values[0], true
	}
	return 0, false
}

// dag holds the values that the outputs need.
type dag struct {
	source Source

	objective                        *value
	constraints, watched, gradients  []*value
	parameters, inputs, coefficients []*value
}

// forwardRoots returns the outputs of the forward half.
func (g *dag) forwardRoots() []*value {
	return slices.Concat([]*value{g.objective}, g.constraints, g.watched)
}

// order lists the values that the roots need, each value after its inputs. A product's base, the
// value that the product is added to, comes before the factors.
func order(roots ...*value) []*value {
	var list []*value
	seen := map[*value]bool{}
	var visit func(v *value)
	visit = func(v *value) {
		if seen[v] {
			return
		}
		seen[v] = true
		if v.hasBase() {
			visit(v.in[len(v.in)-1])
		}
		for _, w := range v.in {
			visit(w)
		}
		list = append(list, v)
	}
	for _, v := range roots {
		visit(v)
	}
	return list
}

// all lists every live value, with the values of the forward half first.
func (g *dag) all() []*value { return order(append(g.forwardRoots(), g.gradients...)...) }

// forward returns the set of values that the forward half computes.
func (g *dag) forward() map[*value]bool {
	set := map[*value]bool{}
	for _, v := range order(g.forwardRoots()...) {
		set[v] = true
	}
	return set
}

// users lists, for each live value, the values that read it, once for each read. nil stands for an
// output of the plan.
func (g *dag) users() map[*value][]*value {
	users := map[*value][]*value{}
	for _, v := range g.all() {
		for _, w := range v.in {
			users[w] = append(users[w], v)
		}
	}
	for _, v := range append(g.forwardRoots(), g.gradients...) {
		users[v] = append(users[v], nil)
	}
	return users
}

// replace makes every reader of old read its replacement instead.
func (g *dag) replace(replacement map[*value]*value) {
	swap := func(list []*value) {
		for i, v := range list {
			if w := replacement[v]; w != nil {
				list[i] = w
			}
		}
	}
	for _, v := range g.all() {
		swap(v.in)
	}
	one := []*value{g.objective}
	swap(one)
	g.objective = one[0]
	swap(g.constraints)
	swap(g.watched)
	swap(g.gradients)
}

// copyOf returns a copy of v in separate memory.
func copyOf(v *value) *value {
	return &value{kind: mapKind, op: describe.Identity, in: []*value{v}, rows: v.rows, cols: v.cols, nodes: v.nodes}
}

// rangeOf returns cols columns of v from column on.
func rangeOf(v *value, column, cols int) *value {
	if column == 0 && cols == v.cols {
		return v
	}
	return &value{kind: rangeKind, in: []*value{v}, column: column, rows: v.rows, cols: cols}
}

// concatOf returns the values side by side. If the values are all column ranges of one value in
// order, it returns that value.
func concatOf(parts []*value) *value {
	if len(parts) == 1 {
		return parts[0]
	}
	if whole := wholeOf(parts); whole != nil {
		return whole
	}
	v := &value{kind: concatKind, in: parts, rows: parts[0].rows}
	for _, p := range parts {
		v.cols += p.cols
	}
	return v
}

// wholeOf returns the value whose column ranges are the parts, if the parts cover the value in
// order, else nil.
func wholeOf(parts []*value) *value {
	at := 0
	for _, p := range parts {
		if p.kind != rangeKind || p.in[0] != parts[0].in[0] || p.column != at {
			return nil
		}
		at += p.cols
	}
	if whole := parts[0].in[0]; at == whole.cols {
		return whole
	}
	return nil
}

// reshapeOf returns the elements of v in the same order with another shape.
func reshapeOf(v *value, rows, cols int) *value {
	if v.rows == rows && v.cols == cols {
		return v
	}
	return &value{kind: reshapeKind, in: []*value{v}, rows: rows, cols: cols}
}
