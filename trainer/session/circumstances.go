package session

import (
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/measure"
)

// ended returns the ended run for its verdict.
func (s *Session) ended(o *Outcome) measure.Run {
	run := measure.Run{Circumstances: s.circumstances(o), Training: s.training, Constraints: boundedNames(s.pipeline.Describe()),
		FeasibilityTolerance: s.options.feasibilityTolerance()}
	if a, ok := s.pipeline.(*assembly); ok && a.solved != nil {
		rounds := a.solved.Rounds.Rounds
		run.Shifts = rounds[len(rounds)-1].Shifts
	}
	return run
}

// circumstances returns the circumstances of a certified run.
func (s *Session) circumstances(o *Outcome) measure.Circumstances {
	c := measure.Circumstances{Status: s.training.Status}
	if a, ok := s.pipeline.(*assembly); ok {
		c = a.circumstances(s.training.Status)
	} else { // a pipeline of the caller's own
		c.Float32, c.Batches = s.options.Device.dtype() == tensor.Float32, s.options.BatchSize > 0
		c.Patience, c.Tolerance = s.options.Settings.Patience, s.options.Settings.Tolerance
	}
	c.AtRounding = s.training.Trend.AtRounding
	c.Selected = s.training.Output < s.training.Iterations &&
		slices.Contains([]trainer.Output{trainer.OutputBestTrain, trainer.OutputBestValidation}, s.options.Settings.Output)
	c.Overfitted = o != nil && measure.Overfits(&o.Objective)
	return c
}

// circumstances returns the circumstances of a run with the given end, as far as the settings and
// the rounds tell them.
func (a *assembly) circumstances(status trainer.Status) measure.Circumstances {
	o, st := &a.options, a.builder.statement
	c := measure.Circumstances{Status: status, Float32: a.dtype == tensor.Float32, Batches: o.BatchSize > 0, Promises: a.confidence != nil,
		Weighted: a.builder.Regularizer.Weight > 0, Patience: o.Settings.Patience, Tolerance: o.Settings.Tolerance,
		Unscaled: a.data.Dataset == datasets.LIBSVM,
		Convex:   st.start != nil && problem.FeaturesOf(a.problem).Shallow}
	if f := a.solved; f != nil {
		c.Unmet, c.Constant = f.Exact.Violation > 0, f.Constant >= 0 || f.Few()
		c.Costly = a.confidence == nil && f.Costly()
	}
	return c
}

// feasibilityTolerance returns the largest violation that counts as feasible.
func (o Options) feasibilityTolerance() float64 {
	if t := o.Settings.FeasibilityTolerance; t > 0 {
		return t
	}
	return trainer.DefaultFeasibilityTolerance
}

// boundedNames returns the constraints of a description with their bounds.
func boundedNames(d Description) []string {
	if d.Task == NameRates || d.Task == NameClassRates {
		return d.Constraints // in the user's words, with the bound
	}
	names := make([]string, len(d.Constraints))
	for j, name := range d.Constraints {
		names[j] = fmt.Sprintf("%s <= %v", name, d.Bounds[j])
	}
	return names
}
