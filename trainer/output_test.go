package trainer

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ppal/internal/require"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// weighted is a method with the given weights of its iterates.
type weighted struct {
	scripted
	weights []float64
}

func (m *weighted) OutputWeight(*problem.Point) float64 { return m.weights[m.k-1] }

// The output is a draw in proportion to the weights: the k-th iterate replaces the draw with
// probability w_k/(w_1 + ... + w_k).
func TestWeightedDrawByHand(t *testing.T) {
	weights := []float64{0, 3, 0.5, 2, 4, 0}
	outputs := map[int]bool{}
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 0x6f757470))
		want, sum := 0, 0.0
		for k, w := range weights {
			sum += w
			if rng.Float64()*sum < w {
				want = k + 1
			}
		}
		p := count(begin(t, square(problem.Regularizer{}), 0))
		r := trained(t, p, &weighted{scripted{moves: []float64{0.125}}, weights}, Settings{Iterations: 6, RecordEvery: 3, Output: OutputRandom, Seed: seed})
		x := float64(want) / 8
		if r.Output != want || iterate(p) != x || r.Objective != x*x/2 || r.Point.Constraints[0] != x-1 || p.vectors.used != 0 {
			t.Errorf("seed %d: iterate %d, x = %v, f = %v, want iterate %d", seed, r.Output, iterate(p), r.Objective, want)
		}
		outputs[r.Output] = true
	}
	if !outputs[2] || !outputs[4] || !outputs[5] || outputs[1] || outputs[6] {
		t.Errorf("outputs %v", outputs)
	}
	const none = "no iterate had a weight"
	r := trained(t, begin(t, square(problem.Regularizer{}), 0), &weighted{scripted{moves: []float64{0.5}}, make([]float64, 9)},
		Settings{Iterations: 2, Output: OutputRandom})
	if r.Output != 2 || len(r.Warnings) != 1 || r.Warnings[0].Code != WarnOutput || !strings.HasPrefix(r.Warnings[0].Text, none) {
		t.Errorf("without a weight: output %d, warnings %q", r.Output, r.Warnings)
	}
	for _, s := range []Settings{{Output: OutputRandom}, {Iterations: 2}} {
		if r := trained(t, begin(t, square(problem.Regularizer{}), 0), &weighted{scripted{moves: []float64{0.5}}, make([]float64, 9)}, s); len(r.Warnings) != 0 {
			t.Errorf("%+v: warnings %q", s, r.Warnings)
		}
	}
}

// speaking is a method with warnings and notes.
type speaking struct{ scripted }

func (m *speaking) Diagnose(context.Context, problem.Problem, *problem.Point) ([]string, error) {
	return []string{"before"}, nil
}

func (m *speaking) Conclude(*problem.Point, certify.Certificate) (warnings, notes []string) {
	return []string{"after"}, []string{"note"}
}

// Train passes on each warning at once. An infeasible run has no advice, but notes.
func TestWarningsAndNotes(t *testing.T) {
	var heard Warnings
	r := trained(t, begin(t, square(problem.Regularizer{}), 0), &speaking{scripted{moves: []float64{0}}},
		Settings{Iterations: 1, Warn: func(w Warning) { heard = append(heard, w) }})
	want := Warnings{{Code: WarnSettings, Text: "before"}, {Code: WarnConclusion, Text: "after"}}
	if !slices.Equal(r.Warnings, want) || !slices.Equal(heard, want) || !slices.Equal(r.Notes, []string{"note"}) {
		t.Errorf("warnings %q, heard %q, notes %q", r.Warnings, heard, r.Notes)
	}
	for status, want := range map[Status]Warnings{Infeasible: nil, IterationLimit: {{Code: WarnConclusion, Text: "after"}}} {
		b := require.Value(newRun(t.Context(), begin(t, square(problem.Regularizer{}), 0), &speaking{}, Settings{}))(t)
		b.warnings = nil
		if r, err := b.finish(status, nil); err != nil || !slices.Equal(r.Warnings, want) || len(r.Notes) != 1 {
			t.Errorf("%v: warnings %q, notes %q, error %v", status, r.Warnings, r.Notes, err)
		}
		if r, err := b.finish(status, errors.New("no")); err != nil || r.State != nil || len(r.Notes) != 0 {
			t.Errorf("after an error: %+v, %v", r, err)
		}
	}
}

// keeper is a recorder that keeps the last record.
type keeper struct{ last Record }

func (k *keeper) Record(r *Record) error {
	k.last = *r
	return nil
}

// A nearly stationary point with an objective of at least CollapseAbove gives a warning, and a
// record with an objective near twice CollapseAbove is not feasible.
func TestCollapseByHand(t *testing.T) {
	for _, c := range []struct {
		f, slope, above float64
		want            bool
	}{
		{2, 1e-3, 2, true}, {2, 0.0011, 2, false}, {1.8, 9, 1, true}, {1.79, 9, 1, false}, {2, 0, 2.5, false}, {2, 1e-4, 1.5, true}, {2, 0, 0, false}, {0, 0, 0, false},
	} {
		fn := problem.Functions{N: 1, F: func([]float64) float64 { return c.f }, Gradient: func(dst, _ []float64) { dst[0] = c.slope }}
		r := trained(t, begin(t, fn, 1), &scripted{moves: []float64{0}}, Settings{Iterations: 1, CollapseAbove: c.above})
		if got := len(r.Warnings) == 1 && r.Warnings.Has(WarnCollapsed); got != c.want {
			t.Errorf("%+v: warnings %q", c, r.Warnings)
		}
		own := &keeper{}
		given := c.above > 0 && c.f >= 1.8*c.above
		set := Settings{Iterations: 1, CollapseAbove: c.above, Output: OutputBest, Recorder: own}
		r = trained(t, begin(t, fn, 1), &scripted{moves: []float64{0}}, set)
		if last := own.last; last.GivenUp != given || last.Feasible(0) == given || (r.BestFeasible == nil) != given || r.Warnings.Has(WarnOutput) != given {
			t.Errorf("%+v: given up %t, best feasible %v, warnings %q", c, last.GivenUp, r.BestFeasible, r.Warnings)
		}
	}
}

// A run that reaches a limit has the status of the limit, even if its context is cancelled.
func TestLimitsComeBeforeInterruption(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		set  Settings
		want Status
	}{
		{Settings{Iterations: 1}, Interrupted}, {Settings{}, IterationLimit},
		{Settings{Iterations: 1, Deadline: time.Now().Add(-time.Hour)}, TimeLimit},
		{Settings{Iterations: 1, Gradients: 1, ResumeAt: problem.Point{GradientEvaluations: 1}, Resume: &State{Method: "scripted",
			Numbers: map[string][]float64{"k": {0}}, Vectors: map[string][]float64{"iterate": {0}}}}, GradientLimit},
	} {
		r, err := Train(cancelled, begin(t, square(problem.Regularizer{}), 0), &scripted{moves: []float64{0}}, c.set)
		if err != nil || r.Status != c.want || r.Iterations != 0 {
			t.Errorf("%+v: %v after %d, want %v", c.set, r.Status, r.Iterations, c.want)
		}
	}
	b := require.Value(newRun(t.Context(), begin(t, square(problem.Regularizer{}), 0), &scripted{moves: []float64{0}}, Settings{Iterations: 3, TimeLimit: time.Minute}))(t)
	b.seconds = 60
	if status, err := b.loop(); status != TimeLimit || b.at.Iteration != 0 || err != nil {
		t.Errorf("after exactly the time limit: %v after %d, %v", status, b.at.Iteration, err)
	}
}

// stopAt cancels a run after an iteration.
type stopAt struct {
	journal
	at   int
	stop context.CancelFunc
}

func (s *stopAt) Tick(at *problem.Point) {
	if at.Iteration == s.at {
		s.stop()
	}
}

// A run that is interrupted between two checks has the status Interrupted even if it meets the
// tolerance, because the uninterrupted run goes on to the next check. The scripted method is at the
// solution from its first iteration on, and each fourth iteration has a check.
func TestInterruptionBetweenChecks(t *testing.T) {
	for at, want := range map[int]Status{3: Interrupted, 4: Converged} {
		ctx, cancel := context.WithCancel(t.Context())
		set := Settings{Iterations: 20, CheckEvery: 4, Tolerance: 1e-6, Recorder: &stopAt{at: at, stop: cancel}}
		r, err := Train(ctx, begin(t, square(problem.Regularizer{}), 1), &scripted{moves: []float64{-1, 0}}, set)
		if err != nil || r.Status != want || r.Iterations != at {
			t.Fatalf("interrupted after %d: %v after %d, %v, want %v", at, r.Status, r.Iterations, err, want)
		}
		set.Recorder, set.Resume, set.ResumeAt = nil, r.State, r.Point
		r = trained(t, begin(t, square(problem.Regularizer{}), 1), &scripted{moves: []float64{0}}, set)
		if r.Status != Converged || r.Iterations != 4 {
			t.Errorf("interrupted after %d and resumed: %v after %d, want the tolerance after 4", at, r.Status, r.Iterations)
		}
	}
}
