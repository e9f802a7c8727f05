package problem_test

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer/problem"
)

// batches counts the samples and is a problem of a drawn group with kinks.
type batches struct {
	problem.Problem
	samples []int
}

func (b *batches) Sample(k int) error                   { b.samples = append(b.samples, k); return nil }
func (*batches) GroupFeatures() []float64               { return nil }
func (*batches) DecisionViolations() ([]float64, error) { return nil, nil }
func (*batches) NonSmooth() bool                        { return true }

func TestPoint(t *testing.T) {
	b := &batches{Problem: testkit.Start(t, planes(), 3, 2)}
	at := problem.NewPoint(b)
	if err := at.SampleAndForward(b, 7); err != nil || len(b.samples) != 1 || b.samples[0] != 7 {
		t.Errorf("the samples %v, %v", b.samples, err)
	}
	if at.Objective != 23 {
		t.Errorf("f = %v, want 23", at.Objective)
	}
	equal(t, "g", at.Constraints, 6, 6)
	d := b.Space().New()
	for range 2 {
		if err := at.Backward(b, []float64{1, 0, 0}, d); err != nil {
			t.Error(err)
		}
	}
	if at.GradientEvaluations != 2 || at.Backward(failing{b}, nil, d) == nil {
		t.Errorf("%d gradients, want 2", at.GradientEvaluations)
	}
	p := testkit.Start(t, planes(), 3, 2)
	at = problem.NewPoint(p)
	if err := at.SampleAndForward(p, 1); err != nil || at.Objective != 23 {
		t.Errorf("without batches: f = %v, %v", at.Objective, err)
	}
	if err := at.SampleAndForward(failing{p}, 1); !errors.Is(err, errPass) {
		t.Errorf("a failed pass: %v", err)
	}
	for _, c := range []struct{ g, want float64 }{{-1, 0}, {2, 2}} {
		if v := problem.MaxViolation([]float64{-3, c.g, -2}); v != c.want {
			t.Errorf("the largest violation is %v, want %v", v, c.want)
		}
	}
}

// passes counts the forward passes.
type passes struct {
	problem.Problem
	forwards int
}

func (p *passes) Forward(g []float64) (float64, error) { p.forwards++; return p.Problem.Forward(g) }

// A restored point repeats the forward pass once, when a backward pass or Refresh needs the pass.
func TestRestore(t *testing.T) {
	p := &passes{Problem: testkit.Start(t, planes(), 3, 2)}
	at, d := problem.NewPoint(p), p.Space().New()
	require.NoError(t, at.Forward(p))
	for i, refresh := range []func() error{
		func() error { return at.Backward(p, []float64{1, 0, 0}, d) },
		func() error { return at.Refresh(p) },
	} {
		at.Restore(22, []float64{5, 7})
		equal(t, "g", at.Constraints, 5, 7)
		if at.Objective != 22 || !at.Stale() {
			t.Errorf("after Restore: %+v", at)
		}
		for range 2 {
			require.NoError(t, refresh())
		}
		if at.Objective != 23 || at.Stale() || p.forwards != 2+i {
			t.Errorf("f = %v, stale %v after %d passes", at.Objective, at.Stale(), p.forwards)
		}
	}
	at.Restore(22, at.Constraints)
	if err := at.Backward(failing{p}, nil, d); !errors.Is(err, errPass) {
		t.Errorf("a failed pass: %v", err)
	}
}

func TestFeaturesOf(t *testing.T) {
	fn := planes()
	fn.Pieces = problem.Abs(1, 2)
	pieces := testkit.Start(t, fn, 3, -2)
	g := make([]float64, 2)
	require.Value(pieces.Forward(g))(t)
	equal(t, "|h| - eps", g, 6-1, 6-2)
	for _, p := range []problem.Problem{pieces, problem.Split(pieces.(problem.Piecewise))} {
		if n, _ := p.Dims(); n != 2 {
			t.Errorf("%T has %d variables, want 2", p, n)
		}
		// Twice, because a pass adds to coefficients.
		for range 2 {
			c := make([]float64, 1+problem.Constraints(p))
			c[1] = 1
			equal(t, "the first piece", backward(t, p, p.Backward, c...), 2, 0)
		}
	}
	b := &batches{Problem: pieces}
	for _, c := range []struct {
		p    problem.Problem
		want problem.Features
	}{
		{pieces, problem.Features{Pieces: pieces.(problem.Piecewise), Shallow: true}},
		{b, problem.Features{Batches: b, Group: b, Kinks: true}},
		{problem.NewProximal(b, 1), problem.Features{Kinks: true}},
	} {
		if got := problem.FeaturesOf(c.p); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%T: %+v, want %+v", c.p, got, c.want)
		}
	}
}

// flags is a StateVisitor of counts.
type flags struct {
	problem.StateVisitor
	saved, restored int
}

func (f *flags) Count(_ string, n *int) { f.saved, *n = *n, f.restored }

func TestVisitFlag(t *testing.T) {
	for _, flag := range []bool{false, true} {
		for restored := range 2 {
			v, got := &flags{restored: restored}, flag
			problem.VisitFlag(v, "flag", &got)
			if (v.saved == 1) != flag || got != (restored == 1) {
				t.Errorf("%v was saved as %d, and %d restored as %v", flag, v.saved, restored, got)
			}
		}
	}
}

// TestPassesWithoutWork checks that a pass leaves out functions with coefficients of 0.
func TestPassesWithoutWork(t *testing.T) {
	fn := planes()
	fn.Gradient = func([]float64, []float64) { t.Error("the gradient with the coefficient 0") }
	p := testkit.Start(t, fn, 3, 2)
	d := p.Space().New()
	p.Space().Write(d, []float64{5, 5})
	require.NoError(t, p.Backward([]float64{0, 1, 1}, d))
	got := make([]float64, 2)
	p.Space().Read(got, d)
	equal(t, "d", got, 2, 3)

	fn = planes()
	fn.JacobianT = func(_, _, _ []float64) { t.Error("the Jacobian with coefficients of 0") }
	p = testkit.Start(t, fn, 3, 2)
	equal(t, "d", backward(t, p, p.Backward, 1, 0, 0), 1, 10)

	fn.M, fn.G, fn.JacobianT = 0, nil, nil
	p = testkit.Start(t, fn, 3, 2)
	if f, err := p.Forward(nil); f != 23 || err != nil {
		t.Errorf("without constraints: f = %v, %v", f, err)
	}
	equal(t, "d without constraints", backward(t, p, p.Backward, 1), 1, 10)

	// A term with the coefficient 0 does not reach the constraint.
	m := require.Value(problem.NewAffineMap(2, []problem.AffineRow{{Coefficients: []float64{0, 1}}}))(t)
	g := make([]float64, 1)
	m.Apply(g, []float64{math.NaN(), 3})
	equal(t, "g", g, 3)
	if err := m.SetShifts([]float64{math.NaN()}); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("a shift of NaN: %v", err)
	}
}

func TestSpace(t *testing.T) {
	s := problem.NewHostSpace([]float64{3, 4}, problem.Regularizer{Kind: problem.Ball, Radius: 2.5})
	s.Space().Project()
	equal(t, "the projection", s.Slice(problem.Iterate), 1.5, 2)
	l1 := problem.NewHostSpace([]float64{3, 4}, problem.Regularizer{Kind: problem.L1, Weight: 1})
	l1.Space().Project()
	equal(t, "without a domain", l1.Slice(problem.Iterate), 3, 4)
	if u, v := s.Roundoff(), problem.NewHostSpace([]float32{1}, problem.Regularizer{}).Roundoff(); u != 0x1p-53 || v != 0x1p-24 {
		t.Errorf("roundoffs %v and %v", u, v)
	}
	d, squares := l1.New(), l1.New()
	l1.Write(d, []float64{1, -2})
	l1.Space().Adagrad(d, squares, 0.5) // moves by 1/2, and the threshold is 1/2
	got := l1.Slice(problem.Iterate)
	if !(math.Abs(got[0]-2) < 1e-9 && math.Abs(got[1]-4) < 1e-9) {
		t.Errorf("after AdagradStep %v, want 2 and 4", got)
	}
	equal(t, "the squares", l1.Slice(squares), 1, 4)
	defer func() {
		if recover() == nil {
			t.Error("the iterate was freed")
		}
	}()
	s.Free(problem.Iterate)
}
