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
// is the plain product A W. A bias has the shape [1, out], and parameters of more dimensions have
// PyTorch's shape. The nodes have the names of [Architecture.Parameters].
type Network struct {
	graph        *gorgonia.ExprGraph
	architecture Architecture
	parameters   []Parameter
	dtype        tensor.Dtype
	nodes        gorgonia.Nodes // in the order of parameters
}

// New adds the model's parameters, with the values of weights, to the graph g. dtype is
// tensor.Float32 or tensor.Float64. New returns an error if the graph already has a node with the
// name of a parameter, because Gorgonia would merge the two nodes.
func New(g *gorgonia.ExprGraph, a Architecture, dtype tensor.Dtype, weights Weights) (*Network, error) {
	if dtype != tensor.Float32 && dtype != tensor.Float64 {
		return nil, errDtype("network", dtype)
	}
	a, err := completed(a)
	if err != nil {
		return nil, err
	}
	if err := weights.Check(a); err != nil {
		return nil, err
	}
	net := &Network{graph: g, architecture: a, parameters: a.Parameters(), dtype: dtype}
	for _, t := range weights {
		if len(g.ByName(t.Name)) > 0 {
			return nil, fmt.Errorf("models: the graph has a node named %q already: use one graph per network", t.Name)
		}
		shape := graphShape(t.Shape)
		net.nodes = append(net.nodes, gorgonia.NewTensor(g, dtype, len(shape), gorgonia.WithName(t.Name), gorgonia.WithShape(shape...),
			gorgonia.WithValue(tensor.New(tensor.Of(dtype), tensor.WithShape(shape...)))))
	}
	return net, net.SetWeights(weights)
}

// graphShape returns the shape of a parameter's node for a shape in PyTorch's layout.
func graphShape(shape []int) tensor.Shape {
	switch len(shape) {
	case 1:
		return tensor.Shape{1, shape[0]}
	case 2:
		return tensor.Shape{shape[1], shape[0]}
	}
	return shape
}

// toGraph copies the values of a parameter from PyTorch's layout to the layout of the parameter's
// node: a matrix is transposed, other shapes keep their order.
func toGraph[T, F float](to []T, from []F, shape []int) {
	if len(shape) == 2 {
		transpose(to, from, shape[0], shape[1])
	} else {
		transpose(to, from, 1, len(from))
	}
}

// fromGraph is the inverse of toGraph.
func fromGraph[T, F float](to []T, from []F, shape []int) {
	if len(shape) == 2 {
		transpose(to, from, shape[1], shape[0])
	} else {
		transpose(to, from, 1, len(from))
	}
}

// Architecture returns the model's description.
func (net *Network) Architecture() Architecture { return net.architecture }

// Parameters returns the parameter nodes in the order of [Architecture.Parameters].
func (net *Network) Parameters() gorgonia.Nodes {
	return append(gorgonia.Nodes(nil), net.nodes...)
}

// Weights returns a copy of the nodes' current values.
func (net *Network) Weights() (Weights, error) {
	weights := make(Weights, len(net.parameters))
	for i, p := range net.parameters {
		d, err := net.value(i)
		if err != nil {
			return nil, err
		}
		t := Tensor{Name: p.Name, Shape: p.Shape, Data: make([]float64, size(p.Shape))}
		if net.dtype == tensor.Float32 {
			fromGraph(t.Data, d.Float32s(), p.Shape)
		} else {
			fromGraph(t.Data, d.Float64s(), p.Shape)
		}
		weights[i] = t
	}
	return weights, nil
}

// SetWeights copies the weights into the nodes' current values, in place. If a value overflows
// float32, SetWeights returns an error and changes nothing.
func (net *Network) SetWeights(weights Weights) error {
	if err := weights.Check(net.architecture); err != nil {
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
		if net.dtype == tensor.Float32 {
			toGraph(d.Float32s(), t.Data, t.Shape)
		} else {
			toGraph(d.Float64s(), t.Data, t.Shape)
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

// value returns the value of parameter i, row-major. Gorgonia checks the dtype and the shape.
func (net *Network) value(i int) (*tensor.Dense, error) {
	n := net.nodes[i]
	d, ok := n.Value().(*tensor.Dense)
	if !ok || !d.DataOrder().IsRowMajor() || d.RequiresIterator() {
		return nil, fmt.Errorf("models: the value of %s is a %T, expected a dense %v tensor of shape %v",
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
// c. In an architecture with first layers, X stays unchanged: a first layer is
//
//	(X - 1 c) W + 1 b = X W + 1 (b - c W)
//
// so that the gradient of W is X^T D - c^T (1^T D), a rank-one correction by the gradient of the
// bias.
func (net *Network) Scores(x, center *gorgonia.Node) (*gorgonia.Node, error) {
	return net.ScaledScores(x, center, nil)
}

// ScaledScores returns the scores of the rows (x - c) o a, multiplied column by column. scale is a
// node [d, 1] with a, or nil for none. The first layers are those of Scores with diag(a) W instead
// of W.
func (net *Network) ScaledScores(x, center, scale *gorgonia.Node) (*gorgonia.Node, error) {
	if err := net.checkRows("x", x); err != nil {
		return nil, err
	}
	inputs, outputs := net.architecture.Dims()
	if center != nil {
		if err := net.checkRows("center", center); err != nil {
			return nil, err
		}
		if center.Shape()[0] != 1 {
			return nil, fmt.Errorf("models: center has shape %v, expected [1, %d]", center.Shape(), inputs)
		}
	}
	if scale != nil && (scale.Graph() != net.graph || scale.Dtype() != net.dtype || !scale.Shape().Eq(tensor.Shape{inputs, 1})) {
		return nil, fmt.Errorf("models: scale is a node %v of %v, expected [%d, 1] of %v in the parameters' graph",
			scale.Shape(), scale.Dtype(), inputs, net.dtype)
	}
	parameters, first := net.Parameters(), firstLayers(net.architecture)
	var err error
	for _, k := range first {
		w, b := &parameters[k], &parameters[k+1]
		if scale != nil {
			*w, err = gorgonia.BroadcastHadamardProd(scale, *w, []byte{1}, nil)
		}
		if err == nil && center != nil {
			*b, err = shifted(*b, center, *w)
		}
		if err != nil {
			return nil, fmt.Errorf("models: %s: %w", net.parameters[k].Name, err)
		}
	}
	if first == nil {
		if x, err = normalized(x, center, scale); err != nil {
			return nil, fmt.Errorf("models: the normalization of the rows: %w", err)
		}
	}
	scores, err := net.architecture.Scores(x, parameters)
	if err != nil {
		return nil, err
	}
	if want := (tensor.Shape{x.Shape()[0], outputs}); scores == nil || !scores.Shape().Eq(want) {
		return nil, fmt.Errorf("models: the scores of the kind %s are the node %v, expected the shape %v", net.architecture.Kind(), scores, want)
	}
	return scores, nil
}

// normalized returns (X - 1 c) diag(a).
func normalized(x, center, scale *gorgonia.Node) (*gorgonia.Node, error) {
	var err error
	if center != nil {
		if center, err = gorgonia.Neg(center); err != nil {
			return nil, err
		}
		if x, err = AddBias(x, center); err != nil {
			return nil, err
		}
	}
	if scale == nil {
		return x, nil
	}
	row, err := gorgonia.Reshape(scale, tensor.Shape{1, x.Shape()[1]})
	if err != nil {
		return nil, err
	}
	return gorgonia.BroadcastHadamardProd(x, row, nil, []byte{0})
}

// shifted returns b - c W.
func shifted(b, c, w *gorgonia.Node) (*gorgonia.Node, error) {
	cw, err := gorgonia.Mul(c, w)
	if err != nil {
		return nil, err
	}
	return gorgonia.Sub(b, cw)
}

// checkRows returns an error if n does not hold rows of the model's features.
func (net *Network) checkRows(what string, n *gorgonia.Node) error {
	inputs, _ := net.architecture.Dims()
	if n == nil {
		return fmt.Errorf("models: %s is nil", what)
	}
	if n.Graph() != net.graph {
		return fmt.Errorf("models: %s and the parameters belong to different graphs", what)
	}
	if n.Dims() != 2 || n.Shape()[1] != inputs {
		return fmt.Errorf("models: %s has shape %v, expected [n, %d]", what, n.Shape(), inputs)
	}
	if n.Dtype() != net.dtype {
		return fmt.Errorf("models: %s is of %v, the parameters are of %v", what, n.Dtype(), net.dtype)
	}
	return nil
}
