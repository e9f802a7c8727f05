package main

import (
	"slices"

	"ppal/internal/experiment"
	"ppal/internal/rundir"
	"ppal/trainer"
)

// summarise is summary.json of a run that came to its end.
func (s *session) summarise(r *trainer.Result, f experiment.Final) rundir.Summary {
	sum := s.commonSummary(r)
	sum.Objective, sum.Constraints, sum.Certificate = f.Objective, f.Constraints, f.Certificate
	sum.MaxViolation = trainer.MaxViolation(f.Constraints)
	sum.Train, sum.Test, sum.Device = f.Train, f.Test, f.Device
	return sum
}

// commonSummary is what does not need the final measures.
func (s *session) commonSummary(r *trainer.Result) rundir.Summary {
	sum := rundir.Summary{
		Status: string(r.Status), Iterations: r.Iterations, Seconds: r.Seconds, Bounds: s.trial.Bounds(),
		PeakBytes: rundir.PeakBytes(), Warnings: s.warnings, Version: version(),
		OutputIteration: r.Output, ResidualDecay: rundir.NewResidualDecay(r.Decay),
		Notes: slices.Concat(s.provenance().Notes, r.Notes),
	}
	if b := r.BestFeasible; b != nil {
		sum.BestFeasible = &rundir.BestFeasible{Iteration: b.Iteration, Objective: b.Objective}
	}
	return sum
}

// writeFailure is summary.json of a run that failed: its last record. There is none of a run that failed before its first record.
func (s *session) writeFailure(r *trainer.Result, failure error) error {
	if r == nil || s.last == nil {
		return nil
	}
	sum := s.commonSummary(r)
	sum.Status, sum.Error, sum.OutputIteration = string(trainer.Failed), failure.Error(), s.last.Iteration
	sum.Objective, sum.Constraints, sum.MaxViolation = s.last.Objective, s.last.Constraints, s.last.MaxViolation
	sum.Certificate = s.last.Certificate
	return sum.Write(s.dir.Summary())
}
