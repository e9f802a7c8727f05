package decide

import (
	"fmt"
	"maps"
	"slices"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// checkpointer adds the state of the rounds to the checkpoints of a round.
type checkpointer struct {
	trainer.Checkpointer
	l *loop
}

// Checkpoint implements trainer.Checkpointer.
func (c *checkpointer) Checkpoint(s *trainer.State, at problem.Point) {
	c.Checkpointer.Checkpoint(c.l.addProgress(c.l.addRounds(s)), at)
}

// addProgress adds to s what summaries and limits need beside the rounds: the parts of loop that
// addRounds leaves out, because a new run with other bounds must not inherit them.
func (l *loop) addProgress(s *trainer.State) *trainer.State {
	s.Texts = maps.Clone(s.Texts)
	if s.Texts == nil {
		s.Texts = map[string][]string{}
	}
	s.Numbers[prefix+"progress"] = []float64{l.seconds, float64(l.repeated), float64(l.gradients), l.conflict.spent, float64(l.conflict.inARow)}
	s.Texts[prefix+"told"] = l.warnings.told.Encode()
	if l.best == nil {
		return s
	}
	if r := l.best.summary(); r != nil {
		attainable, feasible := 0.0, []float64(nil)
		if r.Attainable {
			attainable = 1
		}
		if b := r.BestFeasible; b != nil {
			feasible = []float64{float64(b.Iteration), b.Objective}
			if b.X != nil {
				s.Vectors[bestPrefix+"feasible"] = slices.Clone(b.X)
			}
		}
		s.Numbers[bestPrefix+"summary"] = append([]float64{attainable, r.Decay.Stationarity, r.Decay.Infeasibility, r.Decay.Complementarity}, feasible...)
		s.Texts[bestPrefix+"warnings"], s.Texts[bestPrefix+"notes"] = r.Warnings.Encode(), slices.Clone(r.Notes)
	}
	return s
}

// summary returns the result of the round, or the part of the result that a checkpoint kept; nil if
// neither is known.
func (s *solution) summary() *trainer.Result {
	if s.result != nil {
		return s.result
	}
	return s.kept
}

// restoreProgress restores what addProgress added, if the state has it.
func (l *loop) restoreProgress(rounds map[string][]float64, texts map[string][]string) error {
	v := rounds["progress"]
	if v == nil {
		return nil
	}
	if len(v) != 5 {
		return fmt.Errorf("decide: %w: the progress of the rounds has %d numbers, want 5", problem.ErrSettings, len(v))
	}
	l.seconds, l.repeated, l.gradients, l.conflict.spent, l.conflict.inARow = v[0], int(v[1]), int(v[2]), v[3], int(v[4])
	l.warnings.told = trainer.DecodeWarnings(texts["told"])
	if v := rounds["best.summary"]; l.best != nil && len(v) >= 4 {
		r := &trainer.Result{Attainable: v[0] != 0, Decay: trainer.Decay{Stationarity: v[1], Infeasibility: v[2], Complementarity: v[3]},
			Warnings: trainer.DecodeWarnings(texts["best.warnings"]), Notes: slices.Clone(texts["best.notes"])}
		if len(v) == 6 {
			r.BestFeasible = &trainer.Best{Iteration: int(v[4]), Objective: v[5], X: rounds["best.feasible"]}
		}
		l.best.kept = r
	}
	return nil
}
