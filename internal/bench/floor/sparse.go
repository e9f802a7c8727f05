package floor

import (
	"fmt"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/cpu"
	"ppal/internal/plan"
)

// Sparse prepares the products with a sparse matrix, Z = X W and G = X^T Z. They read the entries
// only, and FLOPs counts the entries only.
func Sparse[T plan.Float](d *cpu.Device, x matrix.Sparse, width int) (*Products, error) {
	if width < 1 {
		return nil, fmt.Errorf("floor: products of width %d, want a positive width", width)
	}
	p := sparsePlan[T](x, width)
	e, err := compile[T](d, p)
	if err != nil {
		return nil, err
	}
	_, cols := x.Dims()
	w := make([]T, cols*width)
	for i := range w {
		w[i] = T(i%7-3) / 64
	}
	if err := e.Attach(p.Parameters[0], w); err != nil {
		return nil, err
	}
	run := func() { // neither fails: the regions hold products alone
		_ = e.Forward()
		_ = e.Backward(nil)
	}
	return &Products{run, float64(p.Forward[0].Steps[0].FLOPs() + p.Backward[0].Steps[0].FLOPs())}, nil
}

// compile compiles a plan of the element type.
func compile[T plan.Float](d *cpu.Device, p *plan.Plan) (plan.Executor[T], error) {
	if p.Dtype == tensor.Float32 {
		e, err := d.Compile32(p)
		if err != nil {
			return nil, err
		}
		return any(e).(plan.Executor[T]), nil
	}
	e, err := d.Compile64(p)
	if err != nil {
		return nil, err
	}
	return any(e).(plan.Executor[T]), nil
}

// sparsePlan returns a plan with one product in the forward pass and one in the backward pass.
func sparsePlan[T plan.Float](x matrix.Sparse, width int) *plan.Plan {
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
