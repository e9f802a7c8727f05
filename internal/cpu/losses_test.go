package cpu

import (
	"math"
	"testing"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/graph/describe"
)

// square is a surrogate that no device knows.
type square struct{}

func (square) Value(y float64) float64 { return y * y }
func (square) Deriv(y float64) float64 { return 2 * y }
func (square) String() string          { return "square" }

// The plan's loops compute surrogates that have no kernel.
func TestUnknownSurrogate(t *testing.T) {
	const rows = 2*kernel.RowBlock + 3
	view := func(b, cols int) plan.View { return plan.View{Buffer: b, Stride: cols, Rows: rows, Cols: cols} }
	buffer := func(c plan.Class, cols int) plan.Buffer { return plan.Buffer{Class: c, Rows: rows, Cols: cols} }
	m, s := describe.Margins{Labels: make([]int32, rows), Classes: 3, Phi: square{}}, describe.Signs{Labels: make([]int8, rows), Phi: square{}}
	for i := range rows {
		m.Labels[i], s.Labels[i] = int32(i%3), int8(1-2*(i%2))
	}
	p := &plan.Plan{
		Dtype: tensor.Float64,
		Buffers: []plan.Buffer{buffer(plan.Leaf, 3), buffer(plan.Leaf, 1), buffer(plan.Gradient, 1), buffer(plan.Gradient, 3),
			buffer(plan.Gradient, 1), buffer(plan.Gradient, 1)},
		Forward: []plan.Region{{Rows: rows, Steps: []plan.Step{
			&plan.MarginLoss{Margins: m, S: view(0, 3), Out: view(2, 1)},
			&plan.MarginLossGrad{Margins: m, S: view(0, 3), D: view(1, 1), Out: view(3, 3)},
			&plan.SignedLoss{Signs: s, S: view(1, 1), Out: view(4, 1)},
			&plan.SignedLossGrad{Signs: s, S: view(1, 1), D: view(4, 1), Out: view(5, 1)},
		}}},
	}
	d := require.Value(New(kernel.Best(), 2))(t)
	defer d.Close()
	e := require.Value(newExecutor[float64](d, p))(t)
	reference := require.Value(plan.NewReference[float64](p, 0))(t)
	for b, cols := range []int{3, 1} {
		data := make([]float64, rows*cols)
		for i := range data {
			data[i] = math.Sin(float64(i + b))
		}
		for _, run := range []boundExecutor{e, reference} {
			require.NoError(t, run.Bind(view(b, cols), &matrix.Dense{Rows: rows, Cols: cols, Data: data}))
		}
	}
	for _, run := range []boundExecutor{e, reference} {
		require.NoError(t, run.Forward())
	}
	for b, cols := range []int{3, 1, 1, 3, 1, 1} {
		got, want := e.Contents(view(b, cols)), reference.Contents(view(b, cols))
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("b%d: element %d is %v, want %v", b, i, got[i], want[i])
			}
		}
	}
	if v := e.Contents(view(2, 1))[0]; v == 0 {
		t.Error("the losses are zero")
	}
}

// boundExecutor runs a plan and binds its inputs: an executor or the plan's reference.
type boundExecutor interface {
	Executor[float64]
	Bind(v plan.View, m matrix.Matrix) error
}
