package cpu

import (
	"fmt"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/plan"
)

// BareSparse prepares the two products of an iteration with a sparse matrix, as Bare has them: Z = X W and G = X^T Z, X of n x d, W of
// d x width. Only the entries are read; FLOPs counts them.
func BareSparse[T plan.Float](d *Device, x matrix.Sparse, width int) (*Bare, error) {
	if width < 1 {
		return nil, fmt.Errorf("cpu: bare products of width %d, want a positive one", width)
	}
	e, err := newExecutor[T](d, barePlan[T](x, width))
	if err != nil {
		return nil, err
	}
	_, cols := x.Dims()
	w := make([]T, cols*width)
	for i := range w {
		w[i] = T(i%7-3) / 64
	}
	if err := e.Attach(e.plan.Parameters[0], w); err != nil {
		return nil, err
	}
	run := func() { // products alone: nothing in the regions can fail
		_ = e.Forward()
		_ = e.Backward(nil)
	}
	return &Bare{run: run, flops: float64(e.plan.Forward[0].Steps[0].FLOPs() + e.plan.Backward[0].Steps[0].FLOPs())}, nil
}

// barePlan has one product in each half.
func barePlan[T plan.Float](x matrix.Sparse, width int) *plan.Plan {
	n, d := x.Dims()
	p := &plan.Plan{Dtype: tensor.Float64, Data: []matrix.Matrix{x}, Slots: []int{n * width}}
	if _, single := any(T(0)).(float32); single {
		p.Dtype = tensor.Float32
	}
	view := func(class plan.Class, rows, cols int) plan.View {
		p.Buffers = append(p.Buffers, plan.Buffer{Class: class, Rows: rows, Cols: cols, RowWise: rows == n})
		return plan.View{Buffer: len(p.Buffers) - 1, Stride: cols, Rows: rows, Cols: cols}
	}
	data, w := view(plan.Leaf, n, d), view(plan.Parameter, d, width)
	z, g := view(plan.Kept, n, width), view(plan.Gradient, d, width)
	p.Inputs, p.Parameters, p.Gradients, p.Objective = []plan.View{data}, []plan.View{w}, []plan.View{g}, z
	p.Forward = []plan.Region{{Rows: n, Steps: []plan.Step{&plan.Product{A: data, B: w, Out: z}}}}
	p.Backward = []plan.Region{{Rows: n, Steps: []plan.Step{&plan.Product{A: data, B: z, Out: g, TransA: true}}}}
	p.CountEntries()
	return p
}
