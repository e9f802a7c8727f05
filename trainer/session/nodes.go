package session

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// constantNode adds a matrix of constants to the graph. constantNode returns nil if values is
// empty.
func constantNode(g *gorgonia.ExprGraph, dtype tensor.Dtype, name string, values []float64, rows, cols int) *gorgonia.Node {
	if values == nil {
		return nil
	}
	return gorgonia.NewMatrix(g, dtype, gorgonia.WithName(name), gorgonia.WithShape(rows, cols),
		gorgonia.WithValue(tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(backing(dtype, values)))))
}

// backing returns a copy of the values in the type dtype.
func backing(dtype tensor.Dtype, values []float64) any {
	if dtype == tensor.Float64 {
		return append([]float64{}, values...)
	}
	single := make([]float32, len(values))
	for i, v := range values {
		single[i] = float32(v)
	}
	return single
}

// Column adds the constants [n, 1] to the graph of the scores [n, C], in the type of the scores.
// Nodes of a Statement uses Column for a constant of each row, such as a target. A graph can use
// each name only once.
func Column(scores *gorgonia.Node, name string, values []float64) *gorgonia.Node {
	return constantNode(scores.Graph(), scores.Dtype(), name, values, len(values), 1)
}

// Number returns a constant in the type of the scores.
func Number(scores *gorgonia.Node, x float64) *gorgonia.Node {
	if scores.Dtype() == tensor.Float32 {
		return gorgonia.NewConstant(float32(x))
	}
	return gorgonia.NewConstant(x)
}
