package session

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
)

// rows are one split: the data matrix as trained (the graph sees pixels/s, and the centre c/s) and
// what the task knows of each row.
type rows struct {
	data    matrix.Matrix
	labels  []int // pictures: the place of the class in classes; tables: -1 or +1
	classes []Class
	groups  []constraints.Group
	levels  [][]float64 // the quantiles that describe each intersectional group
	strata  [][]int     // the rows whose shares a mini-batch keeps; they hold every row once
}

// public is what a task knows of the rows.
func (r rows) public() Rows { return Rows{Labels: r.labels, Classes: r.classes, Groups: r.groups} }

// len is the number of rows.
func (r rows) len() int { return len(r.labels) }

// features is the number of columns.
func (r rows) features() int {
	_, cols := r.data.Dims()
	return cols
}

// constantNode adds a matrix of constants, nil without values.
func constantNode(g *gorgonia.ExprGraph, dtype tensor.Dtype, name string, values []float64, rows, cols int) *gorgonia.Node {
	if values == nil {
		return nil
	}
	return gorgonia.NewMatrix(g, dtype, gorgonia.WithName(name), gorgonia.WithShape(rows, cols),
		gorgonia.WithValue(tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(backing(dtype, values)))))
}

// backing copies values in the dtype.
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

// Column adds the constants [n, 1] to the graph of the scores [n, C], in the type of the scores: what
// a Statement's nodes know of each row. The name must not be used in the graph before.
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
