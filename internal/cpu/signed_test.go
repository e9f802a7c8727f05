package cpu

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"ppal/constraints"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/graph/describe"
)

// surrogates returns the package's surrogates and a surrogate without a kernel.
func surrogates() []describe.Surrogate {
	return []describe.Surrogate{constraints.Sigmoid, constraints.Logistic, constraints.Hinge, ramp{}}
}

type ramp struct{}

func (ramp) Value(y float64) float64 { return max(0, 2-y) }
func (ramp) Deriv(y float64) float64 { return math.Copysign(0.5, y-3) }
func (ramp) String() string          { return "ramp" }

// The passes equal the reference up to rounding, in the tails, at the kink, at the infinities and
// for NaN.
func TestSignedLosses(t *testing.T) {
	for _, level := range kernel.Levels() {
		checkSigned[float64](t, level, 1e-14)
		checkSigned[float32](t, level, 1e-6)
	}
}

func checkSigned[T plan.Float](t *testing.T, level kernel.Level, tolerance float64) {
	scores := []T{0, 1, -1, 0.5, -0.5, 3, -3, 20, -20, 60, -60, 1e30, -1e30, T(math.Inf(1)), T(math.Inf(-1)), T(math.NaN()), 1e-20}
	scores = append(scores, scores...)
	n := len(scores)
	signs, d, base := describe.Signs{}, make([]T, n), make([]T, n)
	for i := range scores {
		signs.Labels = append(signs.Labels, int8(1-2*(2*i/n)))
		d[i], base[i] = T(0.25*float64(i%5)-0.5), T(i%3-1)
	}
	column := func(buffer int) plan.View { return plan.View{Buffer: buffer, Stride: 1, Rows: n, Cols: 1} }
	k := require.Value(kernel.New[T](level))(t)
	for _, phi := range surrogates() {
		signs.Phi = phi
		for _, s := range []plan.Step{
			&plan.SignedLoss{Signs: signs, S: column(0), Out: column(2)},
			&plan.SignedLossGrad{Signs: signs, S: column(0), D: column(1), Out: column(2)},
			&plan.SignedLossGrad{Signs: signs, S: column(0), D: column(1), Out: column(2), Add: true},
		} {
			memory := func() *plan.Memory[T] {
				return &plan.Memory[T]{Data: [][]T{scores, d, slices.Clone(base)}, First: make([]int, 3)}
			}
			want, got := memory(), memory()
			require.NoError(t, plan.Run(s, want, 0, n, nil))
			w, compiled := &worker[T]{Memory: got, k: k}, (&executor[T]{k: k, threads: 1}).blockStep(s)
			for lo := 0; lo < n; lo += 10 {
				require.NoError(t, compiled.block(0, w, lo, min(lo+10, n)))
			}
			for i, x := range want.Data[2] {
				if !near(float64(got.Data[2][i]), float64(x), tolerance) {
					t.Errorf("%v, %T, %T: score %g, label %d: %g, want %g", level, x, s, scores[i], signs.Labels[i], got.Data[2][i], x)
				}
			}
			if name := fmt.Sprintf("%T", compiled); phi == (ramp{}) != (name == fmt.Sprintf("%T", &reference[T]{})) {
				t.Errorf("%v runs through %s", phi, name)
			}
		}
	}
}

// near compares numbers with a relative tolerance, and NaN and infinities exactly.
func near(a, b, tolerance float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= tolerance*max(math.Abs(b), 1e-30)
}
