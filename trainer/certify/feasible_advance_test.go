package certify

import (
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// newAdvance returns projected gradients for x >= 1, x <= -1 from x, with the gradient at x. v is
// x^2 + 1 in [-1, 1] and (1 + |x|)^2/2 outside.
func newAdvance(t *testing.T, x float64) *projected {
	t.Helper()
	s := searchScalar{functions{func(x float64) float64 { return x + 1 }, func(x float64) float64 { return 1 - x }},
		functions{func(float64) float64 { return 1 }, func(float64) float64 { return -1 }}, 0, 0}
	q := newViolation(s.problem(t, x, problem.Regularizer{}))
	r := newProjected(q, problem.NewScratch(q.space))
	require.NoError(t, r.begin())
	return r
}

// From x = 1/2 with the slope 1 and the step 3, the trial points -5/2, -1 and -1/4 have v = 6.125,
// 2 and 1.0625. v at the last ten iterates bounds v at the next, less 1e-4 t 3.
func TestAdvanceByHand(t *testing.T) {
	for name, c := range map[string]struct {
		recent []float64
		x      float64
		count  int
	}{
		"monotone":               {nil, -0.25, 1},
		"the tenth counts":       {append([]float64{100}, slices.Repeat([]float64{1}, 8)...), -2.5, 10},
		"the eleventh does not":  {append([]float64{100}, slices.Repeat([]float64{1}, 9)...), -0.25, 10},
		"less than the decrease": {[]float64{2.0001}, -0.25, 2},
		"more than the decrease": {[]float64{2.0002}, -1, 2},
	} {
		r := newAdvance(t, 0.5)
		r.step, r.recent = 3, c.recent
		moved, err := r.advance()
		x := []float64{0}
		if r.space.Read(x, problem.Iterate); err != nil || !moved || x[0] != c.x || len(r.recent) != c.count {
			t.Errorf("%s: moved %v to %v, %d values, error %v, want %v and %d", name, moved, x, len(r.recent), err, c.x, c.count)
		}
	}
}

// If no trial point lowers v, the iterate and v stay.
func TestAdvanceWithoutDescent(t *testing.T) {
	r := newAdvance(t, 0.5)
	r.step, r.v = 3, -1
	moved, err := r.advance()
	x := []float64{0}
	if r.space.Read(x, problem.Iterate); err != nil || moved || x[0] != 0.5 || r.v != 1.25 {
		t.Errorf("moved %v to %v, v = %v, error %v", moved, x, r.v, err)
	}
}

// back returns to the best point with its gradient, and forgets the values of v.
func TestBackByHand(t *testing.T) {
	r := newAdvance(t, 0.5)
	r.space.Write(r.best, []float64{-0.25})
	r.lowest, r.recent = 1.0625, []float64{7, 8}
	x, slope := []float64{0}, []float64{0}
	err := r.back()
	r.space.Read(x, problem.Iterate)
	if r.space.Read(slope, r.slope); err != nil || x[0] != -0.25 || slope[0] != -0.5 || r.v != 1.0625 || len(r.recent) != 0 {
		t.Errorf("x = %v, slope %v, v = %v, %v, error %v", x, slope, r.v, r.recent, err)
	}
	r.smooth = &recorded{traced: traced{Problem: r.smooth, failing: 2}}
	r.lowest = 1
	if err := r.back(); err != errPass {
		t.Errorf("a failed backward pass: %v", err)
	}
}

// A start that is not finite ends the search at once.
func TestSearchFromNaN(t *testing.T) {
	s := searchScalar{functions{func(x float64) float64 { return 1 + math.Sqrt(-x) }, func(x float64) float64 { return 1 + x }},
		functions{func(float64) float64 { return -1 }, func(float64) float64 { return 1 }}, 0, 0}
	o, err := SearchFeasible(t.Context(), s.problem(t, 5, problem.Regularizer{}), InfeasibleSettings{Iterations: 50})
	if err != nil || o.Certificate != nil || o.Attained || o.Evaluations != 1 {
		t.Errorf("%+v, %v", o, err)
	}
}

// slow returns a problem in many variables of different curvature whose constraints cannot be met:
// x_0 >= 1, x_0 <= -1 and |x_i| <= -1 with the slopes 1.3^-i. A search moves for hundreds of steps.
func slow(t *testing.T) problem.Problem {
	t.Helper()
	const n = 20
	start := make([]float64, n)
	for i := range start {
		start[i] = math.Sin(float64(i)) * 4
	}
	slope := func(i int) float64 { return math.Pow(1.3, -float64(i)) }
	p := require.Value(problem.Functions{N: n, M: 2 * n,
		F: func([]float64) float64 { return 0 }, Gradient: func(dst, _ []float64) { clear(dst) },
		G: func(dst, x []float64) {
			for i, v := range x {
				dst[2*i], dst[2*i+1] = 1+slope(i)*v, 1-slope(i)*v
			}
		},
		JacobianT: func(dst, _, w []float64) {
			for i := range dst {
				dst[i] = slope(i) * (w[2*i] - w[2*i+1])
			}
		}}.New(start))(t)
	return p
}

// While the search moves, a certificate needs four tests in a row without a fall of v, 10 steps
// apart. Here v falls until the test after 10 steps.
func TestFourTestsProve(t *testing.T) {
	for iterations, certified := range map[int]bool{40: false, 49: false, 50: true, 200: true} {
		o, err := SearchFeasible(t.Context(), slow(t), InfeasibleSettings{Iterations: iterations})
		if err != nil || (o.Certificate != nil) != certified || certified && o.Evaluations != 156 {
			t.Errorf("%d steps: %+v, %v", iterations, o, err)
		}
	}
}

func TestSphereByHand(t *testing.T) {
	for _, c := range []struct{ set, roundoff, want float64 }{{0, 0x1p-53, 1e-12}, {0, 0x1p-24, 1e-6}, {1e-3, 0x1p-53, 1e-3}, {1e-3, 0x1p-24, 1e-3}} {
		if got := (InfeasibleSettings{Sphere: c.set}).sphere(c.roundoff); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
