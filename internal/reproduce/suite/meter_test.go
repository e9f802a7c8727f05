package suite

import (
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// scripted is f = x, g = x - 1.5 in one variable. Its backward pass uses the x of the last forward
// pass, as a device does.
type scripted struct {
	problem.Problem
	x float64
}

func newScripted(t *testing.T, r problem.Regularizer) *scripted {
	t.Helper()
	p := require.Value(problem.Functions{N: 1, M: 1, Regularizer: r,
		F: func(x []float64) float64 { return x[0] }, Gradient: func(dst, x []float64) { dst[0] = 1 },
		G:         func(dst, x []float64) { dst[0] = x[0] - 1.5 },
		JacobianT: func(dst, x, w []float64) { dst[0] = w[0] },
	}.New([]float64{1}))(t)
	return &scripted{Problem: p}
}

func (s *scripted) Forward(g []float64) (float64, error) {
	x := []float64{0}
	s.Space().Read(x, problem.Iterate)
	s.x = x[0]
	return s.Problem.Forward(g)
}

func (s *scripted) Backward(coefficients []float64, d problem.Vector) error {
	if err := s.Problem.Backward(coefficients, d); err != nil {
		return err
	}
	s.Space().Write(d, []float64{s.x})
	return nil
}

// A checkpoint has the best value of the evaluations up to its number.
func TestMeterCheckpoints(t *testing.T) {
	p := newScripted(t, problem.Regularizer{})
	var checkpoints []Checkpoint
	m := newMeter(p, nil, func(c Checkpoint) error { checkpoints = append(checkpoints, c); return nil })
	g := []float64{0}
	for k := 1; k <= 40; k++ {
		x := 1 - float64(k)/100 // decreases
		if k > 25 {
			x = 1 // increases again
		}
		if k == 5 || k > 38 {
			x = 2 // infeasible
		}
		p.Space().Write(problem.Iterate, []float64{x})
		require.Value(m.Forward(g))(t)
	}
	require.NoError(t, m.finish())
	for i, want := range []float64{0.9, 0.8, 0.75, 0.75} {
		if got := float64(checkpoints[i].Best); checkpoints[i].Checkpoint != Checkpoints()[i] || math.Abs(got-want) > 1e-12 {
			t.Errorf("%+v, want the best value %v", checkpoints[i], want)
		}
	}
	if len(checkpoints) != len(Checkpoints()) {
		t.Errorf("%d checkpoints, want %d", len(checkpoints), len(Checkpoints()))
	}
}

// An evaluation is the larger number of the passes. Certificates do not count.
func TestMeterCounts(t *testing.T) {
	p := newScripted(t, problem.Regularizer{})
	var seen []Evaluation
	m := newMeter(p, func(e Evaluation) error { seen = append(seen, e); return nil }, nil)
	d, g := p.Space().New(), []float64{0}
	forward := func() {
		require.Value(m.Forward(g))(t)
	}
	forward()
	for range 15 {
		require.NoError(t, m.Backward([]float64{1, 1}, d))
	}
	forward() // after the checkpoint 10
	if seen[1].Evaluations != 15 || seen[1].Forwards != 2 || seen[1].Backwards != 15 {
		t.Errorf("%+v", seen[1])
	}
	require.NoError(t, m.returned([]float64{-3}))
	require.NoError(t, m.Backward([]float64{1, 1}, d))
	got := []float64{0}
	if p.Space().Read(got, d); got[0] != 1 {
		t.Errorf("the gradient is at %v, want the point of the last forward pass, 1", got)
	}
	if m.last.Forwards != 2 || m.last.Backwards != 16 {
		t.Errorf("%+v: certificates count", m.last)
	}
}

// A point outside the ball is infeasible, also if it meets the constraints.
func TestMeterOutside(t *testing.T) {
	for _, r := range []problem.Regularizer{{Kind: problem.Ball, Radius: 2}, {Kind: problem.Box, Lower: -2, Upper: math.Inf(1)}} {
		p := newScripted(t, r)
		m := newMeter(p, nil, nil)
		p.Space().Write(problem.Iterate, []float64{-3})
		require.Value(m.Forward([]float64{0}))(t)
		want := 0.5
		if r.Kind == problem.Box {
			want = 1.0 / 3
		}
		if got := float64(m.last.Violation); math.Abs(got-want) > 1e-12 || !math.IsNaN(m.best) {
			t.Errorf("%v: violation %v, want %v; best %v", r.Kind, got, want, m.best)
		}
	}
}

// quartered is scripted with a sample of a quarter of the rows, which adds 1 to f and takes 1 from
// g. Each grade has its own passes.
type quartered struct {
	*scripted
	sample scripted
	grade  int
	passes []int // the grades of the forward passes
}

func newQuartered(t *testing.T) *quartered {
	t.Helper()
	p := newScripted(t, problem.Regularizer{})
	return &quartered{scripted: p, sample: scripted{Problem: p.Problem}, grade: 1}
}

func (q *quartered) Grades() []problem.Grade { return []problem.Grade{{Share: 0.25}, {Share: 1}} }
func (q *quartered) SetGrade(k int)          { q.grade = k }
func (q *quartered) Grade() int              { return q.grade }

func (q *quartered) Forward(g []float64) (float64, error) {
	q.passes = append(q.passes, q.grade)
	if q.grade == 1 {
		return q.scripted.Forward(g)
	}
	f, err := q.sample.Forward(g)
	g[0]--
	return f + 1, err
}

func (q *quartered) Backward(coefficients []float64, d problem.Vector) error {
	if q.grade == 1 {
		return q.scripted.Backward(coefficients, d)
	}
	return q.sample.Backward(coefficients, d)
}

// Passes on a sample count by its share, rounded up. Their evaluations have f and g of all rows,
// and the optimiser gets f, g and the gradient of the sample.
func TestMeterOfSamples(t *testing.T) {
	q := newQuartered(t)
	var seen []Evaluation
	m := newMeter(q, func(e Evaluation) error { seen = append(seen, e); return nil }, nil)
	d, g := q.Space().New(), []float64{0}
	pass := func(grade int, x float64) (f float64) {
		t.Helper()
		q.SetGrade(grade)
		q.Space().Write(problem.Iterate, []float64{x})
		f = require.Value(m.Forward(g))(t)
		if q.Grade() != grade {
			t.Fatalf("grade %d after a pass of grade %d", q.Grade(), grade)
		}
		return f
	}
	// Feasible on the sample only, and feasible with f on the sample above the best f.
	for k, x := range []float64{2, 1.25, 1.5, 1.75, 1} {
		if f := pass(0, x); f != x+1 || g[0] != x-2.5 {
			t.Errorf("the optimiser gets f = %v, g = %v at %v", f, g, x)
		}
		require.NoError(t, m.Backward([]float64{1, 0}, d))
		at := []float64{0}
		if q.Space().Read(at, d); at[0] != x {
			t.Errorf("the gradient is that of %v, want that of the sample at %v", at, x)
		}
		if n := 1 + k/4; seen[k].Forwards != n || m.last.Backwards != n || m.last.Evaluations != n || float64(seen[k].F) != x ||
			float64(seen[k].Violation) != max(0, x-1.5) {
			t.Errorf("after %d passes: %+v and %d backward passes, want %d, f = %v", k+1, seen[k], m.last.Backwards, n, x)
		}
	}
	if pass(1, 1.375); m.last.Forwards != 3 || math.Abs(m.forwards-2.25) > 0 || m.best != 1 {
		t.Errorf("%+v after 2.25 forward passes, best %v", m.last, m.best)
	}
	if want := []int{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1}; !slices.Equal(q.passes, want) {
		t.Errorf("passes of the grades %v, want %v", q.passes, want)
	}
	q.SetGrade(0)
	n := len(q.passes)
	if err := m.finish(); err != nil || q.Grade() != 0 || m.last.Forwards != 3 {
		t.Errorf("the certificates leave grade %d and %+v, %v", q.Grade(), m.last, err)
	}
	if certified := q.passes[n:]; len(certified) == 0 || slices.Contains(certified, 0) {
		t.Errorf("certificates have passes of the grades %v, want all rows", certified)
	}
}
