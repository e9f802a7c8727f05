package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// Names of the parts of a saved state that belong to the rounds begin with prefix. Names of the
// parts that belong to the best round begin with bestPrefix.
const (
	prefix     = "decisions."
	bestPrefix = prefix + "best."
)

// warm returns a copy of a method's state for a problem with new shifts. The weights, the
// multipliers, the momentum and the measured curvature stay. The schedule of the auxiliary
// multiplier starts again, so that the multipliers follow the new bounds quickly. The first change
// of the gradient is not measured as curvature, because the new shifts cause it. The gradient of a
// quasi-Newton step belongs to the old shifts, so that the step computes the gradient again, and a
// step that was below rounding continues.
func warm(s *trainer.State) *trainer.State {
	numbers := maps.Clone(s.Numbers)
	for _, name := range []string{"dual.k", "dual.negative", "curvature.distance", "quasi.current", "quasi.known", "quasi.estimated", "quasi.restarted", "quasi.exhausted", "outer.overdue"} {
		if numbers[name] != nil {
			numbers[name] = []float64{0}
		}
	}
	return &trainer.State{Method: s.Method, Numbers: numbers, Vectors: s.Vectors}
}

// keepCurvature copies the quasi-Newton step of an earlier state to s: the pairs, A and the trust
// region. Both states have the same weights.
func keepCurvature(s, earlier *trainer.State) {
	const quasi = "quasi."
	copyPart(s.Numbers, earlier.Numbers, quasi)
	copyPart(s.Vectors, earlier.Vectors, quasi)
}

// copyPart replaces the entries of dst whose names begin with the prefix by those of src.
func copyPart(dst, src map[string][]float64, prefix string) {
	maps.DeleteFunc(dst, func(name string, _ []float64) bool { return strings.HasPrefix(name, prefix) })
	for name, x := range src {
		if strings.HasPrefix(name, prefix) {
			dst[name] = x
		}
	}
}

// forceUpdate makes the first iteration from state s update the multipliers if a bound is violated.
// Without it, a limit could end each round of quasi-Newton steps before an update is due.
// First-order steps update the multipliers in each iteration and do not have this flag.
func forceUpdate(s *trainer.State) {
	if s.Numbers["outer.overdue"] != nil {
		s.Numbers["outer.overdue"] = []float64{1}
	}
}

// addRounds returns a copy of the method's state with the state of the rounds before the end of the
// current round.
func (l *loop) addRounds(from *trainer.State) *trainer.State {
	s := &trainer.State{Method: from.Method, Numbers: maps.Clone(from.Numbers), Vectors: maps.Clone(from.Vectors), Texts: from.Texts}
	s.Numbers[prefix+"loop"] = []float64{float64(l.rounds), l.theta, l.before}
	s.Numbers[prefix+"shifts"] = slices.Clone(l.shifts)
	if l.skipsStart {
		s.Numbers[prefix+"skips-start"] = []float64{1}
	}
	l.addRestarts(s)
	if l.best == nil {
		return s
	}
	b := &l.best.round
	s.Numbers[bestPrefix+"round"] = []float64{float64(b.Iteration), b.Theta, b.Objective, b.Exact.Before, b.Exact.After, b.Exact.Violation}
	s.Numbers[bestPrefix+"shifts"], s.Numbers[bestPrefix+"smooth"], s.Numbers[bestPrefix+"decisions"] = b.Shifts, b.Smooth, b.Decisions
	s.Numbers[bestPrefix+"offsets"] = b.Exact.Offsets
	s.Numbers[bestPrefix+"nu"] = l.best.nu
	s.Numbers[bestPrefix+"selected"] = []float64{float64(b.Output)}
	if m := l.best.merit; m != nil {
		s.Numbers[bestPrefix+"selected"] = []float64{float64(b.Output), m.Violation, m.Objective}
	}
	if l.best.start {
		s.Numbers[bestPrefix+"start"] = []float64{1}
	}
	if b.Exact.Unjudged {
		s.Numbers[bestPrefix+"unjudged"] = []float64{1}
	}
	s.Vectors[bestPrefix+"output"] = l.best.x
	for name, v := range l.best.state.Numbers {
		s.Numbers[bestPrefix+"state."+name] = v
	}
	for name, v := range l.best.state.Vectors {
		s.Vectors[bestPrefix+"state."+name] = v
	}
	return s
}

// resume restores the state that addRounds returned. States of Warm and of trainer.Train have no
// rounds; resume then begins with the first round that has the smooth objective. The error wraps
// problem.ErrSettings.
func (l *loop) resume() error {
	own, rounds, best := split(l.set.Resume)
	l.state, l.at = own, l.set.ResumeAt
	if rounds["loop"] == nil || rounds["skips-start"] != nil {
		l.skipsStart, l.f.Start = true, nil // the weights of an earlier run need no other start
	}
	if rounds["loop"] == nil {
		return nil
	}
	if err := l.resumeRounds(rounds, best); err != nil {
		return err
	}
	texts := map[string][]string{}
	for name, v := range l.set.Resume.Texts {
		if key, ok := strings.CutPrefix(name, prefix); ok {
			texts[key] = v
		}
	}
	return l.restoreProgress(rounds, texts)
}

// resumeRounds restores the state of the rounds. best is the method's state at the best round.
func (l *loop) resumeRounds(rounds map[string][]float64, best *trainer.State) error {
	if len(rounds["loop"]) != 3 || len(rounds["shifts"]) != len(l.shifts) {
		return fmt.Errorf("decide: %w: the state has %d shifts for %d bounds: it belongs to another problem", problem.ErrSettings, len(rounds["shifts"]), len(l.shifts))
	}
	v := rounds["loop"]
	l.rounds, l.theta, l.before = int(v[0]), v[1], v[2]
	copy(l.shifts, rounds["shifts"])
	if err := l.resumeRestarts(rounds); err != nil {
		return err
	}
	if best == nil {
		return nil
	}
	v = rounds["best.round"]
	r := Round{Shifts: rounds["best.shifts"], Smooth: rounds["best.smooth"], Decisions: rounds["best.decisions"]}
	if len(v) != 6 || len(r.Shifts) != len(l.shifts) || len(r.Smooth) != len(l.shifts) || len(r.Decisions) != len(l.shifts) ||
		len(rounds["best.output"]) != l.p.Space().Len() {
		return fmt.Errorf("decide: %w: the state of the best round belongs to another problem", problem.ErrSettings)
	}
	r.Iteration, r.Theta, r.Objective = int(v[0]), v[1], v[2]
	r.Exact = Exact{Offsets: rounds["best.offsets"], Before: v[3], After: v[4], Violation: v[5], Unjudged: rounds["best.unjudged"] != nil}
	r.Exact.Moved = slices.ContainsFunc(r.Exact.Offsets, func(b float64) bool { return b != 0 })
	l.best = &solution{round: r, x: rounds["best.output"], state: best, nu: rounds["best.nu"], start: rounds["best.start"] != nil}
	switch v := rounds["best.selected"]; len(v) {
	case 1:
		l.best.round.Output = int(v[0])
	case 3:
		l.best.round.Output, l.best.merit = int(v[0]), &trainer.Merit{Violation: v[1], Objective: v[2]}
	default:
		return fmt.Errorf("decide: %w: the selected weights of the best round have %d numbers, want 1 or 3", problem.ErrSettings, len(v))
	}
	l.result.Rounds, l.result.Ends, l.result.Best = []Round{l.best.round}, [][]float64{l.best.x}, 0
	return nil
}

// split separates a saved state. own is the method's state, rounds is the state of the rounds with
// the prefix removed from the names, and best is the method's state at the best round, or nil if s
// contains no best round.
func split(s *trainer.State) (own *trainer.State, rounds map[string][]float64, best *trainer.State) {
	own = &trainer.State{Method: s.Method, Numbers: map[string][]float64{}, Vectors: map[string][]float64{}, Texts: map[string][]string{}}
	kept := &trainer.State{Method: s.Method, Numbers: map[string][]float64{}, Vectors: map[string][]float64{}}
	rounds = map[string][]float64{}
	for name, v := range s.Numbers {
		if key, ok := strings.CutPrefix(name, bestPrefix+"state."); ok {
			kept.Numbers[key] = v
		} else if key, ok := strings.CutPrefix(name, prefix); ok {
			rounds[key] = v
		} else {
			own.Numbers[name] = v
		}
	}
	for name, v := range s.Vectors {
		if key, ok := strings.CutPrefix(name, bestPrefix+"state."); ok {
			kept.Vectors[key], best = v, kept
		} else if key, ok := strings.CutPrefix(name, prefix); ok {
			rounds[key] = v
		} else {
			own.Vectors[name] = v
		}
	}
	for name, v := range s.Texts {
		if !strings.HasPrefix(name, prefix) {
			own.Texts[name] = v
		}
	}
	return own, rounds, best
}
