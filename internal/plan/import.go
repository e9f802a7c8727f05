package plan

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph/describe"
)

// importer converts nodes to values.
type importer struct {
	source Source
	inputs Inputs
	values map[*gorgonia.Node]*value
}

// importGraph reads the part of the graph that the outputs need.
func importGraph(s Source) (*dag, error) {
	if s.Dtype != tensor.Float32 && s.Dtype != tensor.Float64 {
		return nil, fmt.Errorf("a plan is of float32 or float64, not of %v", s.Dtype)
	}
	if s.Graph == nil || s.Objective == nil || len(s.Gradients) != len(s.Parameters) {
		return nil, fmt.Errorf("a plan needs a graph, an objective and a gradient for each parameter: %d for %d", len(s.Gradients), len(s.Parameters))
	}
	for _, n := range slices.Concat(s.Parameters, s.Inputs, s.Coefficients) {
		if n.Dtype() != s.Dtype || n.Op() != nil {
			return nil, fmt.Errorf("%v is of %v, want an input node of %v", n, n.Dtype(), s.Dtype)
		}
	}
	im := &importer{source: s, inputs: InputsOf(s.Graph), values: map[*gorgonia.Node]*value{}}
	g := &dag{source: s}
	g.parameters = im.leaves(s.Parameters, Parameter)
	g.coefficients = im.leaves(s.Coefficients, Coefficient)
	g.inputs = im.leaves(s.Inputs, Leaf)
	var err error
	if g.objective, err = im.value(s.Objective); err != nil {
		return nil, err
	}
	for _, list := range []struct {
		nodes gorgonia.Nodes
		to    *[]*value
	}{{s.Constraints, &g.constraints}, {s.Watched, &g.watched}, {s.Gradients, &g.gradients}} {
		for _, n := range list.nodes {
			v, err := im.value(n)
			if err != nil {
				return nil, err
			}
			*list.to = append(*list.to, v)
		}
	}
	for i, v := range g.gradients {
		if v.size() != g.parameters[i].size() {
			return nil, fmt.Errorf("the gradient of %s has shape %v, want %v", s.Parameters[i].Name(), s.Gradients[i].Shape(), s.Parameters[i].Shape())
		}
	}
	return g, nil
}

func (im *importer) leaves(nodes gorgonia.Nodes, class Class) []*value {
	list := make([]*value, len(nodes))
	for i, n := range nodes {
		v := valueOf(n)
		v.class, v.index, v.node = class, i, n
		im.values[n] = v
		list[i] = v
	}
	return list
}

// valueOf returns a value with the node's shape.
func valueOf(n *gorgonia.Node) *value {
	v := &value{rows: 1, cols: 1, nodes: []int64{n.ID()}}
	for i, d := range n.Shape() {
		if i == 0 {
			v.rows = d
		} else {
			v.cols *= d
		}
	}
	return v
}

func (im *importer) value(n *gorgonia.Node) (*value, error) {
	if v := im.values[n]; v != nil {
		return v, nil
	}
	if n.Dtype() != im.source.Dtype {
		return nil, fmt.Errorf("node %d (%v) is of %v, the plan of %v: convert it, or run the graph with Gorgonia", n.ID(), n, n.Dtype(), im.source.Dtype)
	}
	v := valueOf(n)
	what := recognize(n)
	var err error
	switch {
	case n.Op() == nil:
		if n.Value() == nil && n.Name() == "" {
			return nil, fmt.Errorf("node %d is an input without value or name", n.ID())
		}
		v.class, v.node = Leaf, n
	case what.constant:
		v.class = Constant
		v.values, err = im.constants(n)
	default:
		err = im.computed(v, n, what)
	}
	if err != nil {
		return nil, fmt.Errorf("node %d (%v): %w", n.ID(), n, err)
	}
	im.values[n] = v
	return v, nil
}

// computed fills in a value that has inputs.
func (im *importer) computed(v *value, n *gorgonia.Node, what recognized) error {
	children, err := im.inputs.Of(n)
	if err != nil {
		return err
	}
	if what.ignoreRest {
		children = children[:1]
	}
	for _, c := range children {
		in, err := im.value(c)
		if err != nil {
			return err
		}
		v.in = append(v.in, in)
		v.shapes = append(v.shapes, c.Shape())
	}
	v.kind, v.op, v.trans, v.axis, v.column, v.description, v.node = what.kind, what.op, what.trans, what.axis, what.column, what.description, n
	if what.description != nil {
		if err := checkDescription(what.description, v.in); err != nil {
			return err
		}
	}
	given := append([]*value(nil), v.in...)
	v.align(what)
	if e, ok := what.description.(describe.Elementwise); ok {
		if !v.broadcasts() {
			return errors.New("described as element-wise, but the shapes of its inputs do not fit")
		}
		v.expand(e.Expr)
		return nil
	}
	if !v.consistent() {
		v.kind, v.in = opaqueKind, given
	}
	return nil
}

// expand turns v into the value of an expression over its inputs: a tree of operations with the
// shape of v.
func (v *value) expand(e *describe.Expr) {
	inputs := v.in
	var build func(e *describe.Expr) *value
	build = func(e *describe.Expr) *value {
		switch e.Op {
		case describe.Load:
			return inputs[e.Arg]
		case describe.Value:
			return &value{kind: leafKind, class: Constant, values: []float64{e.Const}, rows: 1, cols: 1}
		}
		w := &value{kind: mapKind, op: e.Op, rows: v.rows, cols: v.cols, nodes: v.nodes, in: []*value{build(e.X)}}
		if e.Op.Arity() == 2 {
			w.in = append(w.in, build(e.Y))
		}
		return w
	}
	root := build(e)
	v.op, v.in = describe.Identity, []*value{root}
	if root.kind == mapKind && e.Op.Arity() > 0 {
		v.op, v.in = root.op, root.in
	}
}

// broadcasts reports whether every input has the shape of v, or a single row or a single column
// where v has more.
func (v *value) broadcasts() bool {
	for _, w := range v.in {
		if w.rows != v.rows && w.rows != 1 || w.cols != v.cols && w.cols != 1 {
			return false
		}
	}
	return true
}

// align changes the shapes of operands to the shapes that v's kind expects, if the node's shapes
// differ: vectors are columns, and sums of columns are a row.
func (v *value) align(what recognized) {
	for i, w := range v.in {
		switch {
		case v.kind == mapKind && w.size() == v.size():
			v.in[i] = reshapeOf(w, v.rows, v.cols)
		case v.kind == productKind && what.vectors[i]:
			v.in[i] = reshapeOf(w, w.size(), 1)
		}
	}
	if v.kind == sumsKind && v.axis == OverRows && v.rows != 1 {
		sums := *v
		sums.rows, sums.cols = 1, v.size()
		*v = value{kind: reshapeKind, in: []*value{&sums}, rows: v.rows, cols: v.cols}
	}
}

// consistent reports whether the shapes of the operands give the shape of v.
func (v *value) consistent() bool {
	switch v.kind {
	case mapKind:
		return len(v.in) == v.op.Arity() && v.broadcasts()
	case productKind:
		m, k := transposed(v.in[0], v.trans[0])
		l, n := transposed(v.in[1], v.trans[1])
		return k == l && m == v.rows && n == v.cols
	case reshapeKind:
		return v.in[0].size() == v.size()
	case sumsKind:
		w := v.in[0]
		return v.axis == OverAll && v.size() == 1 || v.axis == OverRows && v.size() == w.cols || v.axis == OverColumns && v.size() == w.rows
	}
	return true
}

// transposed returns the shape of v or of its transpose.
func transposed(v *value, trans bool) (rows, cols int) {
	if trans {
		return v.cols, v.rows
	}
	return v.rows, v.cols
}

// constants returns the elements of a constant node.
func (im *importer) constants(n *gorgonia.Node) ([]float64, error) {
	if axis, ok := sizeAxis(n.Op()); ok {
		children, err := im.inputs.Of(n)
		if err != nil {
			return nil, err
		}
		if s := children[0].Shape(); axis < len(s) {
			return []float64{float64(s[axis])}, nil
		}
		return []float64{1}, nil
	}
	v, err := n.Op().Do()
	if err != nil {
		return nil, err
	}
	switch x := v.Data().(type) {
	case float32:
		return []float64{float64(x)}, nil
	case float64:
		return []float64{x}, nil
	case []float32:
		wide := make([]float64, len(x))
		for i, e := range x {
			wide[i] = float64(e)
		}
		return wide, nil
	case []float64:
		return x, nil
	}
	return nil, fmt.Errorf("a constant of %v", v.Dtype())
}
