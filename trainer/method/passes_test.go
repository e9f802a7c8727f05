package method

import (
	"context"
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// shallow is a problem of slopes without hidden layers.
type shallow struct{ *slopes }

func (shallow) Shallow() bool { return true }

// adamOn returns ALM with Adam's steps, ready for iterations on p.
func adamOn(t *testing.T, p problem.BlockSampler) (*ALM, *problem.Point) {
	t.Helper()
	m := &ALM{Inner: 1, Primal: step.Settings{Kind: step.Adam, Eta: 0.1}}
	at := problem.NewPoint(p)
	require.NoError(t, at.SampleAndForward(p, 0))
	require.NoError(t, m.Init(p, &at))
	return m, &at
}

// iterate takes an iteration.
func iterate(t *testing.T, m trainer.Method, p problem.Problem, at *problem.Point) float64 {
	t.Helper()
	require.NoError(t, m.Iterate(p, at))
	at.Iteration++
	return iterateOf(p)[0]
}

// The first pass has w = 1. Then lambda = 1, which each iteration moves by c g/T with c = 1. The
// returned point is the mean of the later iterates with growing weights.
func TestPassesByHand(t *testing.T) {
	p := newSlopes(t, []float64{1, 1, 1, 1})
	m, at := adamOn(t, p)
	w := []float64{0}
	for range 3 {
		iterate(t, m, p, at)
		if m.Coefficients(w, []float64{7}); w[0] != 1 || m.lambda[0] != 1 || m.Return(p) {
			t.Fatalf("in the first pass: w = %v, lambda = %v", w, m.lambda)
		}
	}
	mean := iterate(t, m, p, at)
	if m.Coefficients(w, []float64{7}); w[0] != 8 {
		t.Errorf("after the first pass: w = %v, want 8", w)
	}
	lambda := 1.0
	for j := 2; j < 8; j++ {
		x := iterate(t, m, p, at)
		lambda = max(0, lambda+m.constraints.g[0]/4)
		mean += 4 / (float64(j) + 3) * (x - mean)
		if math.Abs(m.lambda[0]-lambda) > 1e-14 {
			t.Fatalf("lambda is %v after %d iterations, want %v", m.lambda[0], j, lambda)
		}
	}
	if nu := m.Report().Nu; nu[0] != m.lambda[0] {
		t.Errorf("the records' multiplier is %v, want %v", nu, m.lambda)
	}
	if !m.Return(p) || math.Abs(iterateOf(p)[0]-mean) > 1e-14 {
		t.Errorf("the returned point is %v, want %v", iterateOf(p), mean)
	}
	m, _ = adamOn(t, p)
	if m.Inner = 0; m.Init(p, at) != nil || m.passes.first != 0 {
		t.Errorf("a later round begins with %d first passes", m.passes.first)
	}
	if m = (&ALM{Primal: m.Primal}); m.Init(p, at) != nil || m.passes.first != DefaultALMInner/4 {
		t.Errorf("%d first passes of 4 batches", m.passes.first)
	}
	for name, c := range map[string]struct {
		m    trainer.Method
		p    problem.Problem
		want bool
	}{
		"adam": {m, p, true}, "a linear model": {m, shallow{p}, false}, "no blocks": {m, withoutBlocks(p), false},
		"nesterov": {&ALM{}, p, false}, "ppala": {&PPALA{Primal: m.Primal}, p, false},
	} {
		if AveragesOn(c.m, c.p) != c.want {
			t.Errorf("%s: want %v", name, c.want)
		}
	}
}

// The guard returns to the end of the best pass, or to the start, with half the step size.
func TestPassesGuard(t *testing.T) {
	p := newSlopes(t, []float64{1, 1})
	m, at := adamOn(t, p)
	s := m.passes
	dead := false
	pass := func(x, f float64) bool {
		t.Helper()
		p.Space().Write(problem.Iterate, []float64{x})
		at.Objective, at.Constraints[0] = f, -1
		collapsed := func(mean float64, g []float64) bool {
			if mean != f || g[0] != -1 {
				t.Errorf("the means are %v and %v, want %v and -1", mean, g, f)
			}
			return dead
		}
		for range 2 { // batches
			if s.observe(p, at, m.lambda, collapsed) {
				return true
			}
		}
		return false
	}
	dead = true
	if !pass(5, 2) || iterateOf(p)[0] != 0 || s.first != 1 || s.scale != 0.5 {
		t.Errorf("a dead first pass: %+v at %v", s, iterateOf(p))
	}
	dead = false
	if pass(1, 2) || s.first != 0 || !math.IsInf(s.best, 1) {
		t.Errorf("the first pass: %+v", s)
	}
	m.lambda[0] = 3
	if pass(2, 1) || s.best != 1 || s.bestDual[0] != 3 {
		t.Errorf("the best pass: %+v", s)
	}
	m.lambda[0] = 4
	if pass(3, 2) || s.best != 1 || iterateOf(p)[0] != 3 { // 2 = 1.5 best + 0.5
		t.Errorf("a pass at the limit: %+v", s)
	}
	if !pass(4, 2.001) || iterateOf(p)[0] != 2 || m.lambda[0] != 3 || s.scale != 0.25 || s.count != 0 {
		t.Errorf("a worse pass: %+v at %v, lambda %v", s, iterateOf(p), m.lambda)
	}
	if d := m.Demand(); d.ScheduledStep != 0.25*0.1 {
		t.Errorf("the step size is %v", d.ScheduledStep)
	}
	s.returns = mostReturns
	if pass(4, 9) || iterateOf(p)[0] != 4 {
		t.Errorf("after %d returns: %+v", mostReturns, s)
	}
}

// A resumed run continues bit for bit, and a return to an earlier pass sets Adam's moments to 0.
func TestPassesResume(t *testing.T) {
	run := func(settings trainer.Settings) (*trainer.Result, float64) {
		p := newSlopes(t, []float64{0.2, 1.8, 0.5, 1.5})
		m := &ALM{Primal: step.Settings{Kind: step.Adam, Eta: 0.1}}
		SetCollapsed(m, func(_ float64, g []float64) bool { return g[0] > 0.2 })
		settings.Full = newSlopes(t, []float64{1})
		r := require.Value(trainer.Train(context.Background(), p, m, settings))(t)
		return r, iterateOf(settings.Full)[0]
	}
	_, want := run(trainer.Settings{Iterations: 21})
	half, _ := run(trainer.Settings{Iterations: 10})
	_, got := run(trainer.Settings{Iterations: 21, Resume: half.State, ResumeAt: problem.Point{Iteration: 10}})
	if got != want {
		t.Errorf("resumed at 10: x = %v, uninterrupted %v", got, want)
	}
	p := newSlopes(t, []float64{1}) // a pass is an iteration
	m, at := adamOn(t, p)
	m.collapsed = func(float64, []float64) bool { return true }
	moments := &kept{numbers: map[string][]float64{}, counts: map[string]int{}}
	iterate(t, m, p, at)
	m.step.VisitState(onlyCounts{moments})
	if moments.counts["adam.t"] != 0 || m.passes.returns != 1 || !slices.Equal(iterateOf(p), []float64{0}) {
		t.Errorf("%v, %+v", moments.counts, m.passes)
	}
}

// onlyCounts is a visitor of counts.
type onlyCounts struct{ *kept }

func (onlyCounts) Number(string, *float64)       {}
func (onlyCounts) Vector(string, problem.Vector) {}
