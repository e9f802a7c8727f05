package cpu

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/graph/describe"
)

// An expression has the same elements if its result takes the place of any operand.
func TestElementsInPlace(t *testing.T) {
	const rows, cols = 3, 20
	x, y, z := describe.Input(0), describe.Input(1), describe.Input(2) // z is a row
	square := describe.Square.Of(x)
	for _, e := range []*describe.Expr{
		describe.ReLU.Of(describe.Add.Of(square, y)), describe.ReLU.Of(describe.Add.Of(describe.Mul.Of(x, y), z)), describe.ReLU.Of(describe.Add.Of(square, describe.Mul.Of(y, z))),
		describe.Add.Of(square, y), describe.Sub.Of(square, y), describe.Sub.Of(y, square), describe.Mul.Of(square, y),
	} {
		m := &plan.Map{Expr: e, Args: []plan.View{{Rows: rows}, {Rows: rows, Buffer: 1}, {Rows: 1, Buffer: 2}}, Out: plan.View{Rows: rows}}
		for i := range m.Args {
			m.Args[i].Cols, m.Args[i].Stride = cols, cols
		}
		m.Out.Cols, m.Out.Stride = cols, cols
		result := func(out int) []float64 {
			w := &worker[float64]{Memory: &plan.Memory[float64]{Data: make([][]float64, 4), First: make([]int, 4)}, k: require.Value(kernel.New[float64](kernel.Best()))(t)}
			for i := range w.Data {
				for j := range rows * cols {
					w.Data[i] = append(w.Data[i], float64((7*i+5*j)%13-6))
				}
			}
			m.Out.Buffer = out
			require.NoError(t, newElements[float64](m).block(0, w, 0, rows))
			return w.Data[out]
		}
		for out, want := range [][]float64{result(3), result(3)} {
			if diff := cmp.Diff(want, result(out)); diff != "" {
				t.Errorf("%v in the place of operand %d: %s", e, out, diff)
			}
		}
	}
}
