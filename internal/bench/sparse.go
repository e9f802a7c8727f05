package bench

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
	return planned[T](d, x, width)
}

// planned prepares the products that a device compiles for a data matrix.
func planned[T plan.Float](d *cpu.Device, x matrix.Matrix, width int) (*Products, error) {
	p := dataPlan[T](x, width)
	_, cols := x.Dims()
	w := make([]float64, cols*width)
	for i := range w {
		w[i] = float64(i%7-3) / 64
	}
	v, err := d.NewVectors(p.Dtype, &matrix.Dense{Rows: len(w), Cols: 1, Data: w}, nil)
	if err != nil {
		return nil, err
	}
	program, err := d.Compile(p, v)
	if err != nil {
		return nil, err
	}
	gradient := v.New()
	run := func() { // no error is possible: the regions contain only products
		_, _ = program.Forward(nil)
		_ = program.Backward(nil, gradient)
	}
	return &Products{run, float64(p.Forward[0].Steps[0].FLOPs() + p.Backward[0].Steps[0].FLOPs())}, nil
}

// dataPlan returns a plan with one product in the forward pass and one in the backward pass.
func dataPlan[T plan.Float](x matrix.Matrix, width int) *plan.Plan {
	n, d := x.Dims()
	p := &plan.Plan{Dtype: tensor.Float64, Data: []matrix.Matrix{x}, Slots: []int{n * width, 1}}
	if _, single := any(T(0)).(float32); single {
		p.Dtype = tensor.Float32
	}
	view := func(class plan.Class, rows, cols int) plan.View {
		p.Buffers = append(p.Buffers, plan.Buffer{Class: class, Rows: rows, Cols: cols, RowWise: rows == n})
		return plan.View{Buffer: len(p.Buffers) - 1, Stride: cols, Rows: rows, Cols: cols}
	}
	data, w := view(plan.Leaf, n, d), view(plan.Parameter, d, width)
	z, g := view(plan.Kept, n, width), view(plan.Gradient, d, width)
	p.Inputs, p.Parameters, p.Gradients, p.Objective = []plan.View{data}, []plan.View{w}, []plan.View{g}, view(plan.Kept, 1, 1)
	p.Buffers[p.Objective.Buffer].Slot = 1
	p.Forward = []plan.Region{{Rows: n, Steps: []plan.Step{&plan.Product{A: data, B: w, Out: z}}}}
	p.Backward = []plan.Region{{Rows: n, Steps: []plan.Step{&plan.Product{A: data, B: z, Out: g, TransA: true}}}}
	p.CountEntries()
	return p
}
