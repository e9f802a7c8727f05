package trainer

import (
	"context"
	"errors"
	"slices"
	"testing"

	"ppal/trainer/problem"
)

var errPass = errors.New("a failed pass")

// failing is a problem whose n-th forward or backward pass fails.
type failing struct {
	problem.Problem
	passes, n int
}

func (f *failing) pass() error {
	if f.passes++; f.passes == f.n {
		return errPass
	}
	return nil
}

func (f *failing) Forward(g []float64) (float64, error) {
	if err := f.pass(); err != nil {
		return 0, err
	}
	return f.Problem.Forward(g)
}

func (f *failing) Backward(coefficients []float64, d problem.Vector) error {
	if err := f.pass(); err != nil {
		return err
	}
	return f.Problem.Backward(coefficients, d)
}

// Each failed pass ends the run with the error, and no state to go on from.
func TestFailedPasses(t *testing.T) {
	run := func(n int) (*failing, *Result, error) {
		p := &failing{Problem: begin(t, square(problem.Regularizer{}), 4), n: n}
		r, err := Train(t.Context(), p, &returning{scripted{moves: []float64{-1, -1, -1, 1, 1}}}, Settings{Iterations: 6, RecordEvery: 2, CheckEvery: 1, NearEvery: 1,
			Tolerance: 0.01, Output: OutputBest})
		return p, r, err
	}
	whole, r, err := run(0)
	if err != nil || r.Output == 6 {
		t.Fatalf("%+v, %v", r, err)
	}
	for n := 1; n <= whole.passes; n++ {
		if _, r, err := run(n); !errors.Is(err, errPass) || r != nil && (r.Status != Failed || r.State != nil) {
			t.Errorf("a failure in pass %d of %d: %+v, %v", n, whole.passes, r, err)
		}
	}
}

// A run with checks and records of the iterate evaluates each iterate once. A returned point and
// the way back cost a pass each.
func TestPasses(t *testing.T) {
	set := Settings{Iterations: 4, RecordEvery: 2, CheckEvery: 1, Tolerance: 0.01, IgnoreConflict: true}
	p := count(begin(t, square(problem.Regularizer{}), 4))
	if trained(t, p, &scripted{moves: []float64{-0.5}, nu: []float64{0}}, set); p.evaluations != 5 {
		t.Errorf("%d forward passes, want 5", p.evaluations)
	}
	p = count(begin(t, square(problem.Regularizer{}), 4))
	// The points of the iterations 2 to 4 are returned, the last again at the end: 4 and 3 passes.
	if trained(t, p, &returning{scripted{moves: []float64{-0.5}, nu: []float64{0}}}, set); p.evaluations != 5+4+3 {
		t.Errorf("%d forward passes with a returned point, want 12", p.evaluations)
	}
	for output, want := range map[Output]bool{OutputLast: false, OutputRandom: true} {
		r, err := newRun(t.Context(), begin(t, square(problem.Regularizer{}), 4), &scripted{}, Settings{Output: output})
		if err != nil || (r.drawnAt != problem.Iterate) != want {
			t.Errorf("%s: a vector for the drawn iterate: %v, %v", output, r.drawnAt, err)
		}
	}
}

// kept keeps the states of the iterations when it is due.
type kept struct {
	due    []bool
	states []*State
	at     []problem.Point
}

func (c *kept) Due() bool {
	due := len(c.due) > 0 && c.due[0]
	if len(c.due) > 0 {
		c.due = c.due[1:]
	}
	return due
}

func (c *kept) Checkpoint(s *State, at problem.Point) {
	c.states, c.at = append(c.states, s), append(c.at, at)
}

// own returns the number of x, or nothing.
func own(x *float64) []float64 {
	if x == nil {
		return nil
	}
	return []float64{*x}
}

// A run keeps its state when a checkpoint is due and when it is interrupted, and another run
// continues from there with the same records, warnings and best iterate.
func TestCheckpointsByHand(t *testing.T) {
	moves := []float64{-1.5, -2, -0.5, 2, -0.125, 0.25, 0.25}
	ctx, cancel := context.WithCancel(t.Context())
	c, l := &kept{due: []bool{true, false, true, false, true}}, &journal{}
	l.after = func(r *Record) {
		if r.Iteration == 6 {
			cancel()
		}
	}
	set := Settings{Iterations: 9, RecordEvery: 1, Output: OutputBest}
	one := set
	one.Recorder, one.Checkpointer = l, c
	stopped, err := Train(ctx, begin(t, square(problem.Regularizer{}), 4), &scripted{moves: moves, nu: []float64{0.5}, gradients: 2}, one)
	if err != nil || stopped.Status != Interrupted || stopped.Iterations != 7 {
		t.Fatalf("%+v, %v", stopped, err)
	}
	if len(c.at) != 4 || c.at[0].Iteration != 0 || c.at[1].Iteration != 2 || c.at[1].GradientEvaluations != 4 || c.at[2].Iteration != 4 || c.at[3].Iteration != 7 {
		t.Fatalf("checkpoints at %+v, want 0, 2, 4 and 7", c.at)
	}
	whole := &journal{}
	one = set
	one.Recorder = whole
	want := trained(t, begin(t, square(problem.Regularizer{}), 4), &scripted{moves: moves, nu: []float64{0.5}, gradients: 2}, one)
	for i, s := range c.states {
		again := &journal{}
		one = set
		one.Recorder, one.Resume, one.ResumeAt = again, s, c.at[i]
		p := begin(t, square(problem.Regularizer{}), 77)
		got := trained(t, p, &scripted{moves: moves, nu: []float64{0.5}, gradients: 2}, one)
		if got.Output != want.Output || got.Objective != want.Objective || got.Point.GradientEvaluations != want.Point.GradientEvaluations ||
			!slices.Equal(got.Warnings, want.Warnings) || len(want.Warnings) != 1 || got.BestFeasible.Iteration != want.BestFeasible.Iteration {
			t.Errorf("from %d: %+v, whole %+v", c.at[i].Iteration, got, want)
		}
		rest := whole.records[c.at[i].Iteration:]
		for k, r := range again.records {
			if r.Iteration != rest[k].Iteration || r.Objective != rest[k].Objective || !slices.Equal(own(r.MeanStationarity), own(rest[k].MeanStationarity)) {
				t.Errorf("from %d: record %+v, whole %+v", c.at[i].Iteration, r, rest[k])
			}
		}
		if len(again.records) != len(rest) {
			t.Errorf("from %d: %d records, want %d", c.at[i].Iteration, len(again.records), len(rest))
		}
	}
}
