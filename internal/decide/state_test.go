package decide

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer"
	"ppal/trainer/problem"
)

type (
	numbers = map[string][]float64
	texts   = map[string][]string
)

// savedLoop is a loop of two bounds and two weights in its fourth round, and the method's state.
func savedLoop(t *testing.T) (*loop, *trainer.State) {
	best := &solution{
		round: Round{Iteration: 40, Output: 38, Theta: 0.5, Shifts: []float64{0.1, 0.2}, Smooth: []float64{0.3, 0.4}, Decisions: []float64{0.5, 0.6}, Objective: 7,
			Exact: Exact{Offsets: []float64{-8}, Before: 9, After: 10, Violation: 11, Moved: true}},
		x: []float64{21, 22}, merit: &trainer.Merit{Violation: 27, Objective: 28}, nu: []float64{0, 23},
		state: &trainer.State{Method: "m", Numbers: numbers{"dual.k": {24}}, Vectors: numbers{"iterate": {25, 26}}},
		result: &trainer.Result{Attainable: true, Decay: trainer.Decay{Stationarity: 31, Infeasibility: 32, Complementarity: 33},
			BestFeasible: &trainer.Best{Iteration: 34, Objective: 35, X: []float64{36, 37}}, Warnings: trainer.Warnings{{Code: "code", Text: "w x"}}, Notes: []string{"n", "o"}},
	}
	l := &loop{p: testkit.Start(t, testkit.HandFunctions(), 0, 0), rounds: 3, theta: 0.25, before: 1.5, shifts: []float64{0.7, 0.8}, best: best,
		seconds: 61, repeated: 62, gradients: 63, conflict: conflict{spent: 64.5, inARow: 1}, warnings: warnings{told: trainer.Warnings{{Code: "code", Text: "told"}}}}
	return l, &trainer.State{Method: "m", Numbers: numbers{"dual.k": {1}}, Vectors: numbers{"iterate": {2, 3}}, Texts: texts{"run.warnings": {"x"}}}
}

// save returns the checkpoint of l.
func (l *loop) save(from *trainer.State) *trainer.State { return l.addProgress(l.addRounds(from)) }

// reopened returns a loop that resumes s.
func reopened(t *testing.T, s *trainer.State) (*loop, error) {
	l := &loop{p: testkit.Start(t, testkit.HandFunctions(), 0, 0), shifts: make([]float64, 2), result: &Result{Best: -1}, repeated: -1, theta: 1,
		set: trainer.Settings{Resume: s, ResumeAt: problem.Point{Iteration: 50, GradientEvaluations: 70}}}
	return l, l.resume()
}

// TestStateOfTheRounds compares a checkpoint with the numbers of the loop, and the resumed loop
// with the loop.
func TestStateOfTheRounds(t *testing.T) {
	l, from := savedLoop(t)
	got := l.save(from)
	want := &trainer.State{Method: "m",
		Numbers: numbers{"dual.k": {1}, "decisions.loop": {3, 0.25, 1.5}, "decisions.shifts": {0.7, 0.8}, "decisions.progress": {61, 62, 63, 64.5, 1},
			"decisions.best.round": {40, 0.5, 7, 9, 10, 11}, "decisions.best.shifts": {0.1, 0.2}, "decisions.best.smooth": {0.3, 0.4},
			"decisions.best.decisions": {0.5, 0.6}, "decisions.best.offsets": {-8}, "decisions.best.selected": {38, 27, 28}, "decisions.best.nu": {0, 23}, "decisions.best.state.dual.k": {24},
			"decisions.best.summary": {1, 31, 32, 33, 34, 35}},
		Vectors: numbers{"iterate": {2, 3}, "decisions.best.output": {21, 22}, "decisions.best.state.iterate": {25, 26}, "decisions.best.feasible": {36, 37}},
		Texts:   texts{"run.warnings": {"x"}, "decisions.told": {`{"code":"code","text":"told"}`}, "decisions.best.warnings": {`{"code":"code","text":"w x"}`}, "decisions.best.notes": {"n", "o"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the checkpoint (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(texts{"run.warnings": {"x"}}, from.Texts); diff != "" {
		t.Errorf("the checkpoint changes the method's state: %s", diff)
	}
	r := require.Value(reopened(t, got))(t)
	type parts struct {
		Rounds, Repeated, Gradients, InARow int
		Theta, Before, Seconds, Spent       float64
		Shifts, X, Nu                       []float64
		Told                                trainer.Warnings
		Round                               Round
		State                               *trainer.State
		Summary                             *trainer.Result
	}
	of := func(l *loop) parts {
		return parts{l.rounds, l.repeated, l.gradients, l.conflict.inARow, l.theta, l.before, l.seconds, l.conflict.spent, l.shifts,
			l.best.x, l.best.nu, l.warnings.told, l.best.round, l.best.state, l.best.summary()}
	}
	if diff := cmp.Diff(of(l), of(r), cmp.AllowUnexported(problem.Point{})); diff != "" {
		t.Errorf("the resumed loop (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(from, r.state); diff != "" || r.at.Iteration != 50 || r.at.GradientEvaluations != 70 {
		t.Errorf("at %+v, the method's state (-want +got):\n%s", r.at, diff)
	}
	if r.best.result != nil || len(r.result.Rounds) != 1 || r.result.Best != 0 || r.result.Rounds[0].Iteration != 40 {
		t.Errorf("the resumed result is %+v", r.result)
	}
	if diff := cmp.Diff(got, r.save(r.state)); diff != "" {
		t.Errorf("the checkpoint of the resumed loop (-want +got):\n%s", diff)
	}
}

// TestStateWithoutParts saves and resumes loops without a best round, without texts, without a
// feasible record, and with a best round whose summary is not known.
func TestStateWithoutParts(t *testing.T) {
	for name, change := range map[string]func(l *loop, from *trainer.State){
		"first round":         func(l *loop, _ *trainer.State) { l.best = nil },
		"no texts":            func(_ *loop, from *trainer.State) { from.Texts = nil },
		"no feasible record":  func(l *loop, _ *trainer.State) { l.best.result.BestFeasible = nil },
		"no feasible weights": func(l *loop, _ *trainer.State) { l.best.result.BestFeasible.X = nil },
		"not attainable":      func(l *loop, _ *trainer.State) { l.best.result.Attainable = false },
		"round of Start":      func(l *loop, _ *trainer.State) { l.best.start = true },
		"no summary":          func(l *loop, _ *trainer.State) { l.best.result = nil },
		"offsets of 0": func(l *loop, _ *trainer.State) {
			l.best.round.Exact.Offsets, l.best.round.Exact.Moved = []float64{0}, false
		},
	} {
		l, from := savedLoop(t)
		change(l, from)
		saved := l.save(from)
		r, err := reopened(t, saved)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(saved, r.save(r.state)); diff != "" {
			t.Errorf("%s (-saved +resumed):\n%s", name, diff)
		}
		switch {
		case (l.best == nil) != (r.best == nil):
			t.Errorf("%s: the best round is %v, want %v", name, r.best, l.best)
		case l.best == nil:
			if len(r.result.Rounds) != 0 || r.result.Best != -1 {
				t.Errorf("%s: %+v", name, r.result)
			}
		default:
			if diff := cmp.Diff(l.best.summary(), r.best.summary(), cmp.AllowUnexported(problem.Point{})); diff != "" || l.best.round.Exact.Moved != r.best.round.Exact.Moved || l.best.start != r.best.start {
				t.Errorf("%s: the summary (-saved +resumed):\n%s", name, diff)
			}
		}
	}
	l, from := savedLoop(t)
	l.best.result.BestFeasible.X = nil
	saved := l.save(from)
	if x, ok := saved.Vectors["decisions.best.feasible"]; ok {
		t.Errorf("a best feasible record without weights is saved with the weights %v", x)
	}
	// A state that has lost the vectors of the best round has no best round.
	maps.DeleteFunc(saved.Vectors, func(name string, _ []float64) bool { return strings.HasPrefix(name, bestPrefix) })
	if r, err := reopened(t, saved); err != nil || r.best != nil || r.seconds != 61 {
		t.Errorf("a state without the best round's vectors: %+v, %v", r, err)
	}
	// A state of trainer.Train has no rounds, and Result.State has no progress.
	l, from = savedLoop(t)
	if r, err := reopened(t, from); err != nil || r.rounds != 0 || r.theta != 1 || r.best != nil || r.repeated != -1 {
		t.Errorf("a state without rounds: %+v, %v", r, err)
	}
	if r, err := reopened(t, l.addRounds(from)); err != nil || r.rounds != 3 || r.seconds != 0 || r.repeated != -1 || r.best.summary() != nil {
		t.Errorf("a state without progress: %+v, %v", r, err)
	}
}

// TestStateOfAnotherProblem refuses each part of a checkpoint with a wrong length.
func TestStateOfAnotherProblem(t *testing.T) {
	for _, name := range []string{"loop", "shifts", "progress", "best.round", "best.shifts", "best.smooth", "best.decisions", "best.selected"} {
		for _, change := range []func([]float64) []float64{
			func(v []float64) []float64 { return append(slices.Clone(v), 1) }, func(v []float64) []float64 { return v[:len(v)-1] }} {
			l, from := savedLoop(t)
			s := l.save(from)
			s.Numbers[prefix+name] = change(s.Numbers[prefix+name])
			if _, err := reopened(t, s); !errors.Is(err, problem.ErrSettings) {
				t.Errorf("%s has %d numbers: %v", name, len(s.Numbers[prefix+name]), err)
			}
		}
	}
	l, from := savedLoop(t)
	s := l.save(from)
	s.Vectors["decisions.best.output"] = []float64{1}
	if _, err := reopened(t, s); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("weights of another model: %v", err)
	}
}

// TestWarmByHand compares the start state of a run with other bounds with the parts of the best
// round, and of the last iterate of a state without rounds.
func TestWarmByHand(t *testing.T) {
	state := func() *trainer.State {
		return &trainer.State{Method: "m", Numbers: numbers{"primal.k": {5}, "curvature.peak": {8}, "curvature.l": {3}, "dual.k": {9}, "dual.lambda": {1, 2}},
			Vectors: numbers{"iterate": {1, 2}, "primal.momentum": {3, 4}}}
	}
	want := &trainer.State{Method: "m", Numbers: numbers{"primal.k": {0}, "curvature.peak": {8}, "curvature.l": {8}, "dual.k": {0}, "dual.lambda": {1, 2}},
		Vectors: numbers{"iterate": {1, 2}, "primal.momentum": {0, 0}}}
	own := state()
	if diff := cmp.Diff(want, Warm(own)); diff != "" {
		t.Errorf("a state without rounds (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(state(), own); diff != "" {
		t.Errorf("Warm changes its argument:\n%s", diff)
	}
	for _, start := range [][]float64{nil, {1}} {
		f := Feedback{Start: start, Rounds: 2}
		l := &loop{f: f, set: trainer.Settings{Resume: Warm(own)}}
		if err := l.resume(); err != nil || l.rounds != 0 || l.starting() || l.share() != firstShare {
			t.Errorf("Start %v: a warm start begins in round %d, which ends at the share %v: %v", start, l.rounds, l.share(), err)
		}
		again := &loop{f: f, set: trainer.Settings{Resume: l.addRounds(own)}}
		if err := again.resume(); err != nil || again.starting() || again.share() != firstShare {
			t.Errorf("Start %v: the resumed warm start ends its first round at the share %v: %v", start, again.share(), err)
		}
	}
	l, from := savedLoop(t)
	l.best.state = state()
	if diff := cmp.Diff(want, Warm(l.save(from))); diff != "" {
		t.Errorf("the best round (-want +got):\n%s", diff)
	}
	for name, parts := range map[string]numbers{
		"a smaller peak": {"curvature.peak": {2}, "curvature.l": {3}},
		"no peak":        {"curvature.l": {3}},
		"no curvature":   {"curvature.peak": {2}},
	} {
		s := &trainer.State{Method: "m", Numbers: maps.Clone(parts), Vectors: numbers{}}
		if diff := cmp.Diff(parts, Warm(s).Numbers); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A new round measures the gradient of a quasi-Newton step again, without an estimate from the
// gradient of the round before. The rest of the state stays, and so does the state of the caller.
func TestWarmForgetsTheGradient(t *testing.T) {
	before := &trainer.State{Method: "ppala", Vectors: numbers{"iterate": {1}}, Numbers: numbers{
		"quasi.current": {1}, "quasi.known": {1}, "quasi.estimated": {1}, "quasi.exhausted": {1}, "quasi.restarted": {1}, "quasi.radius": {2}}}
	after := warm(before)
	want := numbers{"quasi.current": {0}, "quasi.known": {0}, "quasi.estimated": {0}, "quasi.exhausted": {0}, "quasi.restarted": {0}, "quasi.radius": {2}}
	if d := cmp.Diff(want, after.Numbers); d != "" || before.Numbers["quasi.known"][0] != 1 {
		t.Error(d)
	}
}
