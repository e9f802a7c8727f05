package cpu

import (
	"testing"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
)

// transposedProduct returns a plan with the product Z = X W^T for X of n x 2 and W of 2 x 2.
func transposedProduct(x *matrix.CSR) (*plan.Plan, *plan.Product) {
	p := &plan.Plan{Dtype: tensor.Float64, Data: []matrix.Matrix{x}, Slots: []int{x.Rows * 2}}
	view := func(class plan.Class, rows int) plan.View {
		p.Buffers = append(p.Buffers, plan.Buffer{Class: class, Rows: rows, Cols: 2, RowWise: rows == x.Rows})
		return plan.View{Buffer: len(p.Buffers) - 1, Stride: 2, Rows: rows, Cols: 2}
	}
	product := &plan.Product{A: view(plan.Leaf, x.Rows), B: view(plan.Parameter, 2), Out: view(plan.Kept, x.Rows), TransB: true}
	p.Inputs, p.Parameters, p.Objective = []plan.View{product.A}, []plan.View{product.B}, product.Out
	p.Forward = []plan.Region{{Rows: x.Rows, Steps: []plan.Step{product}}}
	p.CountEntries()
	return p, product
}

// A product accepts a transposed factor: X (W^T)^T is X W.
func TestSparseTransposedFactor(t *testing.T) {
	x := &matrix.CSR{Rows: 3, Cols: 2, Starts: []int{0, 2, 2, 3}, Columns: []int32{0, 1, 1}, Values: []float64{2, -1, 3}}
	for _, level := range kernel.Levels() {
		d := require.Value(New(level, 2))(t)
		p, product := transposedProduct(x)
		e := require.Value(newExecutor[float64](d, p))(t)
		require.NoError(t, e.Attach(p.Parameters[0], []float64{1, 10, 100, 1000})) // W column by column
		require.NoError(t, e.Forward())
		got := e.Contents(product.Out)
		for i, want := range []float64{2 - 10, 200 - 1000, 0, 0, 30, 3000} {
			if got[i] != want {
				t.Errorf("%v: Z is %v, want %v at %d", level, got, want, i)
			}
		}
	}
}
