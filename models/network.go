package models

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Network holds a model's parameters as nodes of a Gorgonia graph and computes scores from them.
//
// In the graph a weight has the shape [in, out], the transpose of PyTorch's layout, so that a layer
// is the plain product A W. A bias has the shape [1, out]. The nodes have the names of
// [Spec.Parameters].
type Network struct {
	graph *gorgonia.ExprGraph
	spec  Spec
	dtype tensor.Dtype
	nodes gorgonia.Nodes // in the order of Spec.Parameters
}

// New adds the model's parameters, with the values of weights, to the graph g. dtype is
// tensor.Float32 or tensor.Float64. New returns an error if the graph already has a node with the
// name of a parameter, because Gorgonia would merge the two nodes.
func New(g *gorgonia.ExprGraph, spec Spec, dtype tensor.Dtype, weights Weights) (*Network, error) {
	if dtype != tensor.Float32 && dtype != tensor.Float64 {
		return nil, errDtype("network", dtype)
	}
	if err := weights.Check(spec); err != nil {
		return nil, err
	}
	net := &Network{graph: g, spec: spec, dtype: dtype}
	for _, t := range weights {
		if len(g.ByName(t.Name)) > 0 {
			return nil, fmt.Errorf("models: the graph has a node named %q already: use one graph per network", t.Name)
		}
		rows, cols := graphShape(t.Shape)
		net.nodes = append(net.nodes, gorgonia.NewMatrix(g, dtype, gorgonia.WithName(t.Name), gorgonia.WithShape(rows, cols),
			gorgonia.WithValue(tensor.New(tensor.Of(dtype), tensor.WithShape(rows, cols)))))
	}
	return net, net.SetWeights(weights)
}

// graphShape returns the shape of a parameter's node for a shape in PyTorch's layout.
func graphShape(shape []int) (rows, cols int) {
	if len(shape) == 1 {
		return 1, shape[0]
	}
	return shape[1], shape[0]
}

// Spec returns the model's description.
func (net *Network) Spec() Spec { return net.spec }

// Parameters returns the parameter nodes in the order of [Spec.Parameters].
func (net *Network) Parameters() gorgonia.Nodes {
	return append(gorgonia.Nodes(nil), net.nodes...)
}

// Weights returns a copy of the nodes' current values.
func (net *Network) Weights() (Weights, error) {
	parameters := net.spec.Parameters()
	weights := make(Weights, len(parameters))
	for i, p := range parameters {
		d, err := net.value(i)
		if err != nil {
			return nil, err
		}
		t := Tensor{Name: p.Name, Shape: p.Shape, Data: make([]float64, size(p.Shape))}
		rows, cols := graphShape(p.Shape)
		if net.dtype == tensor.Float32 {
			transpose(t.Data, d.Float32s(), rows, cols)
		} else {
			transpose(t.Data, d.Float64s(), rows, cols)
		}
		weights[i] = t
	}
	return weights, nil
}

// SetWeights copies the weights into the nodes' current values, in place. If a value overflows
// float32, SetWeights returns an error and changes nothing.
func (net *Network) SetWeights(weights Weights) error {
	if err := weights.Check(net.spec); err != nil {
		return err
	}
	if net.dtype == tensor.Float32 {
		if err := weights.checkFloat32(); err != nil {
			return err
		}
	}
	for i, t := range weights {
		d, err := net.value(i)
		if err != nil {
			return err
		}
		rows, cols := graphShape(t.Shape)
		if net.dtype == tensor.Float32 {
			transpose(d.Float32s(), t.Data, cols, rows)
		} else {
			transpose(d.Float64s(), t.Data, cols, rows)
		}
	}
	return nil
}

// checkFloat32 returns an error if a value overflows float32.
func (w Weights) checkFloat32() error {
	for _, t := range w {
		for i, v := range t.Data {
			if math.IsInf(float64(float32(v)), 0) {
				return fmt.Errorf("models: %w: %s is %v at %d, which overflows float32", ErrWeights, t.Name, v, i)
			}
		}
	}
	return nil
}

// value returns the value of parameter i as a row-major matrix. Gorgonia checks the dtype and the
// shape.
func (net *Network) value(i int) (*tensor.Dense, error) {
	n := net.nodes[i]
	d, ok := n.Value().(*tensor.Dense)
	if !ok || !d.DataOrder().IsRowMajor() || d.RequiresIterator() {
		return nil, fmt.Errorf("models: the value of %s is a %T, expected a dense %v matrix of shape %v",
			n.Name(), n.Value(), net.dtype, n.Shape())
	}
	return d, nil
}

// transpose writes the transpose of the rows x cols matrix from to to.
func transpose[T, F float](to []T, from []F, rows, cols int) {
	for i := range rows {
		for j := range cols {
			to[j*rows+i] = T(from[i*cols+j])
		}
	}
}

// Scores returns the scores f(X), a node [n, C], of the rows X, a node [n, d] of the network's
// graph and dtype. It may be called for several X; all calls share the parameters.
//
// center is a node [1, d] with the centre c, or nil for none. The scores are those of the rows x -
// c, and X stays unchanged: the first layer is
//
//	(X - 1 c) W + 1 b = X W + 1 (b - c W)
//
// so that the gradient of W is X^T D - c^T (1^T D), a rank-one correction by the gradient of the
// bias.
//
// Each layer is one product, one [AddBias] and one Gorgonia activation. Separate heads end in one
// [Columns].
func (net *Network) Scores(x, center *gorgonia.Node) (*gorgonia.Node, error) {
	return net.ScaledScores(x, center, nil)
}

// ScaledScores returns the scores of the rows (x - c) o a, multiplied column by column, without
// changing X. scale is a node [d, 1] with a, or nil for none. The first layer is that of Scores
// with diag(a) W instead of W.
func (net *Network) ScaledScores(x, center, scale *gorgonia.Node) (*gorgonia.Node, error) {
	if err := net.checkRows("x", x); err != nil {
		return nil, err
	}
	if center != nil {
		if err := net.checkRows("center", center); err != nil {
			return nil, err
		}
		if center.Shape()[0] != 1 {
			return nil, fmt.Errorf("models: center has shape %v, expected [1, %d]", center.Shape(), net.spec.Inputs)
		}
	}
	if scale != nil && (scale.Graph() != net.graph || scale.Dtype() != net.dtype || !scale.Shape().Eq(tensor.Shape{net.spec.Inputs, 1})) {
		return nil, fmt.Errorf("models: scale is a node %v of %v, expected [%d, 1] of %v in the parameters' graph",
			scale.Shape(), scale.Dtype(), net.spec.Inputs, net.dtype)
	}
	var outputs gorgonia.Nodes
	parameters := net.nodes
	for i := range net.spec.heads() {
		layers := net.spec.head(i)
		f, err := net.head(x, center, scale, layers, parameters)
		if err != nil {
			return nil, err
		}
		outputs = append(outputs, f)
		parameters = parameters[2*len(layers):]
	}
	if net.spec.Heads != Separate {
		return outputs[0], nil
	}
	return Columns(outputs...)
}

// head returns the output of one network, whose nodes are the first in parameters.
func (net *Network) head(x, center, scale *gorgonia.Node, layers []layer, parameters gorgonia.Nodes) (*gorgonia.Node, error) {
	a := x
	for i, l := range layers {
		w, b := parameters[2*i], parameters[2*i+1]
		var err error
		if i == 0 && scale != nil {
			if w, err = gorgonia.BroadcastHadamardProd(scale, w, []byte{1}, nil); err != nil {
				return nil, fmt.Errorf("models: layer %s: %w", l.name, err)
			}
		}
		if i == 0 && center != nil {
			if b, err = shifted(b, center, w); err != nil {
				return nil, fmt.Errorf("models: layer %s: %w", l.name, err)
			}
		}
		if a, err = affine(a, w, b); err != nil {
			return nil, fmt.Errorf("models: layer %s: %w", l.name, err)
		}
		if i+1 < len(layers) {
			if a, err = net.activate(a); err != nil {
				return nil, fmt.Errorf("models: layer %s: %w", l.name, err)
			}
		}
	}
	return a, nil
}

// affine returns A W + 1 b.
func affine(a, w, b *gorgonia.Node) (*gorgonia.Node, error) {
	z, err := gorgonia.Mul(a, w)
	if err != nil {
		return nil, err
	}
	return AddBias(z, b)
}

// shifted returns b - c W.
func shifted(b, c, w *gorgonia.Node) (*gorgonia.Node, error) {
	cw, err := gorgonia.Mul(c, w)
	if err != nil {
		return nil, err
	}
	return gorgonia.Sub(b, cw)
}

func (net *Network) activate(z *gorgonia.Node) (*gorgonia.Node, error) {
	switch net.spec.Activation {
	case ReLU:
		return gorgonia.Rectify(z)
	case Tanh:
		return gorgonia.Tanh(z)
	default:
		return gorgonia.Sigmoid(z)
	}
}

// checkRows returns an error if n does not hold rows of the model's features.
func (net *Network) checkRows(what string, n *gorgonia.Node) error {
	if n == nil {
		return fmt.Errorf("models: %s is nil", what)
	}
	if n.Graph() != net.graph {
		return fmt.Errorf("models: %s and the parameters belong to different graphs", what)
	}
	if n.Dims() != 2 || n.Shape()[1] != net.spec.Inputs {
		return fmt.Errorf("models: %s has shape %v, expected [n, %d]", what, n.Shape(), net.spec.Inputs)
	}
	if n.Dtype() != net.dtype {
		return fmt.Errorf("models: %s is of %v, the parameters are of %v", what, n.Dtype(), net.dtype)
	}
	return nil
}
