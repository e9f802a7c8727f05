package experiment

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets"
)

// rows are one split: the data matrix as trained (the graph sees pixels/s, and the centre c/s) and what the goal knows of each row.
type rows struct {
	data   datasets.Matrix
	labels []int // mnpc: classes by their place in the configuration; tables: -1 or +1
	groups []constraints.Group
	strata [][]int // the rows whose shares a mini-batch keeps; they hold every row once
}

// len is the number of rows.
func (r rows) len() int { return len(r.labels) }

// features is the number of columns.
func (r rows) features() int {
	_, cols := r.data.Dims()
	return cols
}

// centerNode adds c/s, nil without centring.
func centerNode(g *gorgonia.ExprGraph, dtype tensor.Dtype, center []float64) *gorgonia.Node {
	if center == nil {
		return nil
	}
	return gorgonia.NewMatrix(g, dtype, gorgonia.WithName("center"), gorgonia.WithShape(1, len(center)),
		gorgonia.WithValue(tensor.New(tensor.WithShape(1, len(center)), tensor.WithBacking(backing(dtype, center)))))
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

// window is rows from to to-1 of a matrix.
type window struct {
	datasets.Matrix
	from, to int
}

// newWindow keeps sparse rows sparse.
func newWindow(m datasets.Matrix, from, to int) datasets.Matrix {
	w := window{m, from, to}
	if s, ok := m.(sparseMatrix); ok {
		return sparseWindow{w, s}
	}
	return w
}

func (w window) Dims() (rows, cols int) {
	_, cols = w.Matrix.Dims()
	return w.to - w.from, cols
}

func (w window) Float32(dst []float32, from, to int) { w.Matrix.Float32(dst, w.from+from, w.from+to) }

func (w window) Float64(dst []float64, from, to int) { w.Matrix.Float64(dst, w.from+from, w.from+to) }

// sparseMatrix is a datasets.CSR, or a window on one.
type sparseMatrix interface {
	Sparse() (starts []int, columns []int32, values []float64)
}

type sparseWindow struct {
	window
	sparse sparseMatrix
}

func (w sparseWindow) Sparse() (starts []int, columns []int32, values []float64) {
	starts, columns, values = w.sparse.Sparse()
	return starts[w.from : w.to+1], columns, values
}
