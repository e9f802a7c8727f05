package step

import (
	"errors"
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

func newProblem(t *testing.T, fn problem.Functions, start []float64) problem.Problem {
	t.Helper()
	return require.Value(fn.New(start))(t)
}

func iterate(p problem.Problem) []float64 {
	n, _ := p.Dims()
	x := make([]float64, n)
	p.Space().Read(x, problem.Iterate)
	return x
}

// minimise runs the step on the problem without multipliers.
func minimise(t *testing.T, fn problem.Functions, start []float64, iterations int) (problem.Problem, *problem.Point, *QuasiNewton) {
	t.Helper()
	p := newProblem(t, fn, start)
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	q := require.Value(NewQuasiNewton(p))(t)
	for range iterations {
		if _, _, err := q.Predict(p, &at, Augmented{}); err != nil {
			t.Fatal(err)
		}
		before := at.Objective
		moved := require.Value(q.Try(p, &at, Augmented{}))(t)
		if !moved && at.Objective != before {
			t.Fatalf("f changed from %v to %v without a move", before, at.Objective)
		}
	}
	return p, &at, q
}

// f = sum_i i x_i^2/2 - x_i in 30 dimensions, more than the pairs span.
func quadratic(n int) problem.Functions {
	return problem.Functions{N: n,
		F: func(x []float64) float64 {
			sum := 0.0
			for i, v := range x {
				sum += float64(1+i)*v*v/2 - v
			}
			return sum
		},
		Gradient: func(dst, x []float64) {
			for i, v := range x {
				dst[i] = float64(1+i)*v - 1
			}
		}}
}

func TestQuasiNewtonMinimisesAQuadratic(t *testing.T) {
	const n = 30
	p, _, _ := minimise(t, quadratic(n), make([]float64, n), 80)
	for i, v := range iterate(p) {
		if want := 1 / float64(1+i); math.Abs(v-want) > 1e-8 {
			t.Errorf("x_%d = %v, want %v", i, v, want)
		}
	}
}

// Each step of the first length would decrease f by a tenth. On a parabola the steps grow, and f
// falls to rounding within a few evaluations. Where f is not a parabola, the steps keep their
// length.
func TestQuasiNewtonTakesLongerStepsOnParabolas(t *testing.T) {
	parabola := problem.Functions{N: 1,
		F:        func(x []float64) float64 { return x[0] * x[0] / 2 },
		Gradient: func(dst, x []float64) { dst[0] = x[0] }}
	if _, at, _ := minimise(t, parabola, []float64{20}, 12); at.Objective > 1e-6 {
		t.Errorf("f = %v after 12 steps on a parabola, want 0", at.Objective)
	}
	quartic := problem.Functions{N: 1,
		F:        func(x []float64) float64 { return math.Pow(x[0], 4) },
		Gradient: func(dst, x []float64) { dst[0] = 4 * math.Pow(x[0], 3) }}
	if _, _, q := minimise(t, quartic, []float64{20}, 12); q.limit != shallowLimit {
		t.Errorf("c = %v on x^4, want %v", q.limit, shallowLimit)
	}
}

// The squared norm belongs to the model: x_i = 1/(i + 2) in f + ||x||^2/2.
func TestQuasiNewtonIncludesTheSquaredNorm(t *testing.T) {
	const n = 5
	fn := quadratic(n)
	fn.Regularizer = problem.Regularizer{Kind: problem.SquaredL2, Weight: 1}
	p, _, _ := minimise(t, fn, make([]float64, n), 60)
	for i, v := range iterate(p) {
		if want := 1 / float64(2+i); math.Abs(v-want) > 1e-8 {
			t.Errorf("x_%d = %v, want %v", i, v, want)
		}
	}
}

// Where f is not finite, the step shrinks the region and leaves the iterate.
func TestQuasiNewtonAvoidsNonFiniteValues(t *testing.T) {
	fn := problem.Functions{N: 1,
		F:        func(x []float64) float64 { return x[0] - math.Log(x[0]) }, // minimum at 1, NaN below 0
		Gradient: func(dst, x []float64) { dst[0] = 1 - 1/x[0] }}
	p, at, _ := minimise(t, fn, []float64{40}, 100)
	if x := iterate(p)[0]; math.Abs(x-1) > 1e-6 || math.IsNaN(at.Objective) {
		t.Errorf("x = %v, f = %v, want 1 and 1", x, at.Objective)
	}
}

// At the minimiser the search ends: no more evaluations.
func TestQuasiNewtonEndsAtRounding(t *testing.T) {
	_, at, q := minimise(t, quadratic(3), []float64{1, 1, 1}, 200)
	if !q.exhausted || at.GradientEvaluations > 100 {
		t.Errorf("exhausted is %v after %d gradients, want true after fewer than 100", q.exhausted, at.GradientEvaluations)
	}
	if q.Refresh(); q.exhausted {
		t.Error("new multipliers must begin the search again")
	}
}

func TestQuasiNewtonRefuses(t *testing.T) {
	fn := quadratic(3)
	fn.Regularizer = problem.Regularizer{Kind: problem.L1, Weight: 1}
	if _, err := NewQuasiNewton(newProblem(t, fn, make([]float64, 3))); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("error %v, want ErrSettings", err)
	}
	if _, err := New(Settings{Kind: LBFGS}, newProblem(t, quadratic(3), make([]float64, 3))); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("error %v, want ErrSettings", err)
	}
}

// The augmented Lagrangian's coefficients are the derivatives of its value with respect to g, and
// its gain is ||w - lambda||^2/(2c).
func TestAugmented(t *testing.T) {
	phi := Augmented{Multipliers: []float64{0, 2, 0.5, 3}, Penalty: 4}
	g := []float64{0.3, -0.2, -0.5, 0.1}
	w := make([]float64, 4)
	phi.Coefficients(w, g)
	gain := 0.0
	for j := range g {
		const h = 1e-6
		up, down := append([]float64(nil), g...), append([]float64(nil), g...)
		up[j] += h
		down[j] -= h
		if slope := (phi.Value(1, up) - phi.Value(1, down)) / (2 * h); math.Abs(slope-w[j]) > 1e-6 {
			t.Errorf("d phi/d g_%d = %v, w = %v", j, slope, w[j])
		}
		gain += (w[j] - phi.Multipliers[j]) * (w[j] - phi.Multipliers[j]) / 8
	}
	if got := phi.Gain(g); math.Abs(got-gain) > 1e-12 {
		t.Errorf("the gain is %v, want %v", got, gain)
	}
}
