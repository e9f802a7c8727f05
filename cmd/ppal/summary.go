package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// summarise returns the summary of a finished run.
func (s *trainRun) summarise(r *trainer.Result, f session.Final) rundir.Summary {
	sum := s.commonSummary(r)
	sum.Objective, sum.Constraints, sum.Certificate = f.Objective, f.Constraints, f.Certificate
	sum.MaxViolation = problem.MaxViolation(f.Constraints)
	for _, split := range f.Splits {
		switch split.Name {
		case "train":
			sum.Train = split.Named
		case "validation":
			sum.Validation = split.Named
		case "test":
			sum.Test = split.Named
		}
	}
	return sum
}

// commonSummary returns the part of a summary that does not need the final measures.
func (s *trainRun) commonSummary(r *trainer.Result) rundir.Summary {
	sum := rundir.Summary{
		Status: string(r.Status), Iterations: r.Iterations, Seconds: r.Seconds, Bounds: s.trial.Bounds(),
		Device: deviceOf(s.trial.Info()), Products: s.trial.Info().Products,
		PeakBytes: rundir.PeakBytes(), Warnings: s.warnings, Version: version(),
		OutputIteration: r.Output, ResidualDecay: rundir.NewResidualDecay(r.Decay),
		Notes: slices.Concat(s.provenance().Notes, r.Notes),
	}
	if b := r.BestFeasible; b != nil {
		sum.BestFeasible = &rundir.BestFeasible{Iteration: b.Iteration, Objective: b.Objective}
	}
	return sum
}

// deviceOf names the device, with its peak memory on a GPU.
func deviceOf(info session.Info) string {
	if info.DeviceBytes == 0 {
		return info.Device
	}
	const mega = 1e6
	return fmt.Sprintf("%s, at most %.0f MB on it", info.Device, math.Ceil(float64(info.DeviceBytes)/mega))
}

// fail writes a summary of the last record of a run that failed. If the run failed before the first
// record, fail removes its files, so that the directory can be used again. It returns the failure.
func (s *trainRun) fail(r *trainer.Result, failure error) error {
	var err error
	if r == nil || s.last == nil {
		err = s.dir.Discard()
	} else {
		err = s.writeFailure(r, failure)
	}
	return with(failure, err)
}

// with joins a failure and a later failure in one line; either may be nil.
func with(failure, err error) error {
	if failure == nil || err == nil {
		return cmp.Or(failure, err)
	}
	return fmt.Errorf("%w (and %w)", failure, err)
}

// withName replaces the index of a constraint that is not finite by its name.
func (s *trainRun) withName(err error) error {
	var bad *problem.NonFiniteError
	var j int
	if !errors.As(err, &bad) {
		return err
	}
	names := s.trial.ConstraintNames()
	if n, _ := fmt.Sscanf(bad.Term, "constraint %d", &j); n != 1 || j >= len(names) {
		return err
	}
	named := *bad
	named.Term = fmt.Sprintf("constraint %q", names[j])
	return &named
}

// writeFailure writes the summary of a run that failed after a record.
func (s *trainRun) writeFailure(r *trainer.Result, failure error) error {
	sum := s.commonSummary(r)
	sum.Status, sum.Error, sum.OutputIteration = string(trainer.Failed), failure.Error(), s.last.Iteration
	sum.Objective, sum.Constraints, sum.MaxViolation = s.last.Objective, s.last.Constraints, s.last.MaxViolation
	sum.Certificate = s.last.Certificate
	return sum.Write(s.dir.Summary())
}
