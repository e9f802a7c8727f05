package step

import (
	"errors"
	"math"
	"slices"
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

// atSlot returns a step whose pair in slot 0 has the products <d, s>, <d+, s>, <x, s> and <s, s>.
func atSlot(slope, next, along, squared float64) *QuasiNewton {
	q := &QuasiNewton{pairs: newPairs(&problem.Space{}, 0), limit: networkLimit, least: networkLimit}
	q.gram.SetSym(gradientRow, 0, slope)
	q.gram.SetSym(trialRow, 0, next)
	q.gram.SetSym(iterateRow, 0, along)
	q.gram.SetSym(0, 0, squared)
	return q
}

// The region and its limit follow the ratio of the measured and the predicted decrease. The
// predicted decrease is 4.
func TestResize(t *testing.T) {
	for _, test := range []struct {
		name                  string
		actual, value, length float64
		longest, parabola     bool
		limit                 float64
		radius, after         float64
	}{
		{name: "a poor step", actual: 0.8, value: 1, length: 6, radius: 3, limit: 1, after: 1},
		{name: "just no poor step", actual: 1, value: 1, length: 6, radius: 8, limit: 1, after: 1},
		{name: "no decrease", actual: math.NaN(), value: 1, length: 8, longest: true, radius: 4, limit: 1, after: 1},
		{name: "just no good step", actual: 3, value: 1, length: 8, longest: true, radius: 8, limit: 1, after: 1},
		{name: "a good step", actual: 3.2, value: 1, length: 7, radius: 16, limit: 1, after: 1},
		{name: "a good short step", actual: 4, value: 1, length: 0.8 * 8, radius: 8, limit: 1, after: 1},
		{name: "a slow step", actual: 4, value: -100, length: 8, longest: true, radius: 16, limit: 1, after: 2},
		{name: "just no slow step", actual: 4, value: 80, length: 8, longest: true, radius: 16, limit: 1, after: 1},
		{name: "just no fast step", actual: 4, value: 40, length: 8, longest: true, radius: 16, limit: 1, after: 1},
		{name: "a fast step", actual: 4, value: -20, length: 8, longest: true, radius: 16, limit: 1, after: 0.5},
		{name: "a fast step at the least limit", actual: 4, value: 20, length: 8, longest: true, radius: 16, limit: 1.5 * networkLimit, after: networkLimit},
		{name: "a parabola", actual: 4, value: 20, length: 8, longest: true, parabola: true, radius: 16, limit: 1, after: 2},
		{name: "a parabola that the region does not cut", actual: 4, value: 20, length: 8, parabola: true, radius: 16, limit: 1, after: 1},
	} {
		q := &QuasiNewton{radius: 8, limit: test.limit, least: networkLimit, length: test.length, plan: plan{decrease: 4, longest: test.longest}}
		if q.resize(test.actual, test.value, test.parabola); q.radius != test.radius || q.limit != test.after {
			t.Errorf("%s: radius %v and limit %v, want %v and %v", test.name, q.radius, q.limit, test.radius, test.after)
		}
	}
}

// A step is a parabola if the decrease is the mean of the slopes at its ends, up to a thousandth of
// the curvature's part, twice in a row. A slope that falls along the longest step is bent.
func TestParabola(t *testing.T) {
	for _, test := range []struct {
		slope, next, decrease, before float64
		longest                       bool
		cubic                         float64
		bent, want                    bool
	}{
		{slope: -6, next: -2, decrease: 4.0005, cubic: 0.0005 / 2, longest: true, want: true},
		{slope: -6, next: -2, decrease: 3.9995, cubic: 0.0005 / 2, want: true},
		{slope: -6, next: -2, decrease: 4.004, cubic: 0.004 / 2},
		{slope: -6, next: -2, decrease: 4, before: parabolaShare, want: true},
		{slope: -6, next: -2, decrease: 4, before: 0.0011},
		{slope: -2, next: -2, decrease: 2, cubic: math.Inf(1), longest: true},
		{slope: -2, next: -6, decrease: 4, cubic: math.Inf(1)},
		{slope: -2, next: -6, decrease: 4, cubic: math.Inf(1), longest: true, bent: true},
	} {
		q := atSlot(test.slope, test.next, 0, 0)
		q.cubic, q.plan.longest = test.before, test.longest
		got := q.parabola(test.decrease, 0)
		if got != test.want || q.bent != test.bent || q.cubic != test.cubic && !(math.Abs(q.cubic-test.cubic) < 1e-12) {
			t.Errorf("%+v: %t, cubic %v, bent %t", test, got, q.cubic, q.bent)
		}
	}
}

// Below the noise, the decrease comes from the slopes at the ends of the step. The squared norm is
// added without cancellation.
func TestActual(t *testing.T) {
	for _, test := range []struct {
		decrease, predicted, noise float64
		reg                        problem.Regularizer
		want                       float64
	}{
		{3, 2, 0.5, problem.Regularizer{}, 3},
		{-3, 2, 0.5, problem.Regularizer{}, -3},
		{3, 0.5, 0.5, problem.Regularizer{}, 4},
		{0.5, 2, 0.5, problem.Regularizer{}, 4},
		{-0.5, 2, 0.5, problem.Regularizer{}, 4},
		{3, 2, 0.5, problem.Regularizer{Kind: problem.SquaredL2, Weight: 0.5}, 3 - 0.25*(2*3+5)},
		{3, 2, 0.5, problem.Regularizer{Kind: problem.Ball, Weight: 0.5, Radius: 1}, 3},
	} {
		q := atSlot(-6, -2, 3, 5)
		q.space.Regularizer, q.plan.decrease = test.reg, test.predicted
		if got := q.actual(test.decrease, test.noise, 0); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// The search begins again once, without pairs and in a small region, and then ends.
func TestGiveUp(t *testing.T) {
	q := &QuasiNewton{pairs: pairs{order: []int{1, 0}}, plan: plan{norm: 3}}
	if q.giveUp(); q.exhausted || !q.restarted || len(q.order) != 0 || q.radius != 4e-3 {
		t.Errorf("the first time: %+v", q)
	}
	if q.giveUp(); !q.exhausted {
		t.Error("the second time: the search goes on")
	}
	q = &QuasiNewton{}
	if q.giveUp(); !q.exhausted {
		t.Error("without pairs: the search goes on")
	}
}

// The rows of H are the terms of the pieces that are not constant, each once.
func TestRowTerms(t *testing.T) {
	p := require.Value(problem.Functions{N: 1, M: 3, F: func([]float64) float64 { return 0 }, Gradient: func(d, _ []float64) { clear(d) },
		G: func(d, x []float64) { d[0], d[1], d[2] = x[0], 2*x[0], 1 }, JacobianT: func(d, _, w []float64) { d[0] = w[0] + 2*w[1] }}.New([]float64{1}))(t)
	pw := require.Value(problem.MakePiecewise(p, []problem.Piece{{Constraint: 0, Term: 1, Sign: 1}, {Constraint: 0, Term: 1, Sign: -1},
		{Constraint: 1, Term: 2, Sign: 0}, {Constraint: 1, Term: 0, Sign: 0.5}}))(t)
	if terms := RowTerms(pw); !slices.Equal(terms, []int{1, 0}) {
		t.Errorf("%v, want 1 and 0", terms)
	}
}
