package trainer

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// rule is a dual rule with w_j = 2 lambda_j: lambda is g at the start, and then adds g.
type rule struct {
	lambda []float64
	needs  Needs
	primal step.Settings // the default is a gradient step of 1/2
}

func (r *rule) Name() string                { return "rule" }
func (r *rule) Needs() Needs                { return r.needs }
func (r *rule) StartDual(g []float64) error { r.lambda = slices.Clone(g); return nil }
func (r *rule) Coefficients(w, _ []float64) { w[0] = 2 * r.lambda[0] }
func (r *rule) UpdateDual(g []float64)      { r.lambda[0] += g[0] }
func (r *rule) Demand() step.Demand         { return step.Demand{} }
func (r *rule) PrimalStep() step.Settings {
	if r.primal == (step.Settings{}) {
		return step.Settings{Kind: step.Gradient, Fixed: true, Eta: 0.5}
	}
	return r.primal
}
func (r *rule) VisitDual(v problem.StateVisitor) { v.Numbers("lambda", r.lambda) }

// From x = 2, g = 1: lambda = 1 and w = 2. The step goes to x - (x + w)/2 = 0, with g = -1: lambda
// = 0, w = 0 and x = 0. Then lambda = -1, w = -2 and x = 1.
func TestStepperByHand(t *testing.T) {
	p := begin(t, square(problem.Regularizer{}), 2)
	s, w := NewStepper(&rule{}), make([]float64, 1)
	if _, err := s.Capture(p); !errors.Is(err, problem.ErrOrder) {
		t.Errorf("a state before the first step: %v", err)
	}
	check := func(s *Stepper, p problem.Problem, x, want float64) {
		t.Helper()
		if err := s.Coefficients(w, []float64{x - 1}); err != nil || w[0] != want || iterate(p) != x {
			t.Errorf("w = %v, x = %v, error %v, want %v at %v", w, iterate(p), err, want, x)
		}
	}
	move := func(s *Stepper, p problem.Problem) {
		t.Helper()
		require.NoError(t, s.Step(p, w))
	}
	check(s, p, 2, 2)
	check(s, p, 2, 2) // a second call changes nothing
	move(s, p)
	check(s, p, 0, 0)
	check(s, p, 0, 0)
	weighed := require.Value(s.Capture(p))(t)
	move(s, p)
	between := require.Value(s.Capture(p))(t)
	check(s, p, 0, -2)
	move(s, p)
	if iterate(p) != 1 {
		t.Errorf("x = %v, want 1", iterate(p))
	}
	for name, c := range map[string]struct {
		state *State
		w     float64
	}{"weighed": {weighed, 0}, "between": {between, -2}} {
		q := begin(t, square(problem.Regularizer{}), 9)
		r := NewStepper(&rule{})
		if err := r.Restore(q, 1, c.state); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check(r, q, 0, c.w)
		move(r, q)
		if want := -c.w / 2; iterate(q) != want {
			t.Errorf("%s: x = %v, want %v", name, iterate(q), want)
		}
		if err := r.Restore(q, 1, c.state); !errors.Is(err, problem.ErrOrder) {
			t.Errorf("%s: a second restore: %v", name, err)
		}
	}
	blind := NewStepper(&rule{needs: Needs{Of: "rule", Evaluations: true}})
	if err := blind.Coefficients(w, []float64{0}); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("a rule that needs evaluations: %v", err)
	}
}

// The second step follows the curvature that the first step has measured, and a restored stepper
// takes the same steps to the bit.
func TestStepperContinues(t *testing.T) {
	p, w := begin(t, square(problem.Regularizer{}), 3), make([]float64, 1)
	nesterov := &rule{primal: step.Settings{Kind: step.Nesterov}}
	s := NewStepper(nesterov)
	advance := func(s *Stepper, p problem.Problem) float64 {
		t.Helper()
		from := iterate(p)
		require.NoError(t, s.Coefficients(w, []float64{from - 1}))
		require.NoError(t, s.Step(p, w))
		return from - iterate(p)
	}
	if first, second := advance(s, p), advance(s, p); first <= 0 || second < 2*first {
		t.Errorf("steps of %v and %v, want a short one and a long one", first, second)
	}
	advance(s, p)
	state := require.Value(s.Capture(p))(t)
	q, r := begin(t, square(problem.Regularizer{}), 0), NewStepper(&rule{primal: nesterov.primal})
	require.NoError(t, r.Restore(q, 1, state))
	for k := range 4 {
		if one, two := advance(s, p), advance(r, q); one != two || iterate(p) != iterate(q) {
			t.Errorf("step %d: %v, restored %v", k, one, two)
		}
	}
	state.Method = "other"
	if err := NewStepper(&rule{}).Restore(q, 1, state); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("a state of another rule: %v", err)
	}
}

// A missing part leaves its number, vector or list as it is. An empty list becomes nil.
func TestRestoredPartsByHand(t *testing.T) {
	p := begin(t, square(problem.Regularizer{}), 2)
	parts := func(s *State) *restorer { return &restorer{s: s, p: p, used: map[string]bool{}} }
	v := parts(newState("m"))
	v.Numbers("none", nil)
	if err := v.finish(); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("missing numbers of the length 0: %v", err)
	}
	v = parts(newState("m"))
	x, n, list := 1.5, 7, []float64{3}
	v.Number("x", &x)
	v.Count("n", &n)
	v.Vector("v", problem.Iterate)
	v.List("list", &list)
	if err := v.finish(); err == nil || !strings.Contains(err.Error(), `"x" has 0 numbers`) || x != 1.5 || n != 7 || iterate(p) != 2 || len(list) != 1 {
		t.Errorf("%v, %v, %v, %v, error %v", x, n, iterate(p), list, err)
	}
	s := newState("m")
	s.Numbers["list"] = []float64{}
	v = parts(s)
	own := []float64{4}
	if v.List("list", &list); list != nil {
		t.Errorf("an empty list becomes %v", list)
	}
	if v.Copy("copy", &own); own != nil || v.finish() != nil {
		t.Errorf("a missing copy becomes %v, error %v", own, v.err)
	}
}

// A state of another method, without a part, with another count or with another part is refused.
func TestStatesAreRefused(t *testing.T) {
	p := begin(t, square(problem.Regularizer{}), 2)
	good := func() *State { return Capture(p, &scripted{k: 7}) }
	q, m := begin(t, square(problem.Regularizer{}), 0), &scripted{}
	if err := good().Restore(q, m); err != nil || iterate(q) != 2 || m.k != 7 {
		t.Errorf("x = %v, k = %v, error %v", iterate(q), m.k, err)
	}
	for name, c := range map[string]struct {
		change func(s *State)
		want   string
	}{
		"method":     {func(s *State) { s.Method = "other" }, `belongs to the method "other"`},
		"number":     {func(s *State) { delete(s.Numbers, "k") }, `"k" has 0 numbers`},
		"numbers":    {func(s *State) { s.Numbers["k"] = []float64{1, 2} }, `"k" has 2 numbers`},
		"vector":     {func(s *State) { s.Vectors["iterate"] = []float64{1, 2} }, `"iterate" has 2 numbers`},
		"more":       {func(s *State) { s.Vectors["more"] = []float64{1} }, `contains "more"`},
		"two errors": {func(s *State) { delete(s.Vectors, "iterate"); delete(s.Numbers, "k"); s.Numbers["more"] = nil }, `"iterate" has 0 numbers`},
	} {
		s := good()
		c.change(s)
		if err := s.Restore(q, &scripted{}); !errors.Is(err, problem.ErrSettings) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		b := Settings{Iterations: 1, Resume: s}
		if _, err := Train(t.Context(), q, &scripted{}, b); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%s: a run resumes: %v", name, err)
		}
	}
}
