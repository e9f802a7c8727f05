package build

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Constant adds a matrix of constants to the graph. Constant returns nil if values is empty.
func Constant(g *gorgonia.ExprGraph, dtype tensor.Dtype, name string, values []float64, rows, cols int) *gorgonia.Node {
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
