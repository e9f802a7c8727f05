package step

import (
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

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
