package step

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// The momentum b_k follows the ramp. If the step leaps, b_k e_k stays e_{k-1} b.
func TestMomentum(t *testing.T) {
	for _, test := range []struct {
		name       string
		set        Settings
		k          int
		last, step float64
		want       float64
	}{
		{"the first step", Settings{}, 0, math.NaN(), 3, 0.5},
		{"on the ramp", Settings{}, 20, 0.1, 0.1, 0.75},
		{"a step that shrinks", Settings{}, 20, 0.1, 1e-3, 0.75},
		{"a step that grows", Settings{}, 20, 0.25, 1, 0.75},
		{"a step that leaps", Settings{}, 20, 0.125, 1, 0.75 / 8},
		{"at the limit", Settings{Momentum: 0.5}, 1000, 1, 1, 0.5},
		{"a leap at the limit", Settings{Momentum: 0.5}, 1000, 1, 16, 0.5 / 16},
		{"without momentum", Settings{Kind: Gradient}, 20, 0.125, 1, 0},
	} {
		if got := test.set.momentum(test.k, test.last, test.step); got != test.want {
			t.Errorf("%s: b = %v, want %v", test.name, got, test.want)
		}
	}
}

// Every kind has a name that Parse reads. Other numbers print as numbers.
func TestKinds(t *testing.T) {
	for k := Auto; k <= LBFGS; k++ {
		if got, err := Parse(k.String()); err != nil || got != k {
			t.Errorf("%v: %v, %v", k, got, err)
		}
	}
	for _, k := range []Kind{-1, LBFGS + 1} {
		if want := fmt.Sprintf("Kind(%d)", int(k)); k.String() != want {
			t.Errorf("%s, want %s", k, want)
		}
	}
	if _, err := Parse("newton"); !errors.Is(err, problem.ErrSettings) {
		t.Error(err)
	}
}

// The limits of the settings are in the range, except for a momentum of 1.
func TestValidate(t *testing.T) {
	for _, test := range []struct {
		set  Settings
		want string // "": valid
	}{
		{Settings{}, ""}, {Settings{Kind: LBFGS}, ""}, {Settings{Kind: Adam, Fixed: true}, ""}, {Settings{Fixed: true, Eta: 0.1}, ""},
		{Settings{Momentum: 0.999}, ""}, {Settings{Kind: Nesterov, Momentum: 0.5}, ""},
		{Settings{Kind: -1}, "unknown primal step"}, {Settings{Kind: LBFGS + 1}, "unknown primal step"},
		{Settings{Eta: -1}, "eta is -1"}, {Settings{Eta: math.Inf(1)}, "eta is +Inf"}, {Settings{Fixed: true}, "needs a positive eta"},
		{Settings{Kind: Gradient, Momentum: 0.5}, "does not support momentum"}, {Settings{Momentum: -0.1}, "momentum is -0.1"},
		{Settings{Momentum: 1}, "momentum is 1"}, {Settings{Momentum: math.NaN()}, "momentum is NaN"},
	} {
		err := test.set.Validate()
		if (err == nil) != (test.want == "") || err != nil && (!errors.Is(err, problem.ErrSettings) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: %v, want %q", test.set, err, test.want)
		}
	}
}

// A blind step does not probe before its first move; Adam has no rule.
func TestNewBlind(t *testing.T) {
	p := require.Value(problem.Functions{N: 1, F: func(x []float64) float64 { return x[0] * x[0] }, Gradient: func(d, x []float64) { d[0] = 2 * x[0] }}.New([]float64{1}))(t)
	for blind, build := range map[bool]func(Settings, problem.Problem) (Step, error){false: New, true: NewBlind} {
		s, err := build(Settings{}, p)
		if err != nil || s.(*descent).rule.blind != blind {
			t.Errorf("blind %t: %+v, %v", blind, s, err)
		}
		if s, err := build(Settings{Kind: Adam}, p); err != nil || s == nil {
			t.Error(s, err)
		}
		if _, err := build(Settings{Kind: LBFGS}, p); !errors.Is(err, problem.ErrSettings) {
			t.Error(err)
		}
	}
}

// Only quasi-Newton steps keep earlier vectors: 20 moves and 20 gradient changes.
func TestHistory(t *testing.T) {
	for kind, want := range map[Kind]int{Auto: 0, Nesterov: 0, Gradient: 0, Adam: 0, LBFGS: 40} {
		if got := (Settings{Kind: kind}).History(); got != want {
			t.Errorf("%v keeps %d vectors, want %d", kind, got, want)
		}
	}
}

// deep hides that functions have no hidden layers.
type deep struct{ problem.Problem }

// The first steps are longer without hidden layers: at most 0.1 (1 + ||x||) instead of 0.05 (1 +
// ||x||), and 0.5 (1 + ||u||) with whitened scales. With hidden layers, whitened scales allow 0.1.
func TestFirstLimit(t *testing.T) {
	p := newProblem(t, parabola(), []float64{1})
	for _, c := range []struct {
		p    problem.Problem
		want float64
	}{{p, 0.1}, {deep{p}, 0.05}, {scaledProblem{p, stretched(2)}, 0.1}, {scaledProblem{p, whitened(t, 1, 4)}, 0.5},
		{scaledProblem{deep{p}, whitened(t, 1, 4)}, 0.1}, {scaledProblem{deep{p}, stretched(2)}, 0.05}} {
		q := require.Value(NewQuasiNewton(c.p))(t)
		if q.limit != c.want || q.least != c.want {
			t.Errorf("%T: the first limit is %v and the least %v, want %v", c.p, q.limit, q.least, c.want)
		}
	}
}
