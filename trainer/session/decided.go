package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/decide"
	"ppal/internal/promise"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/measure"
)

// decisions are the constraints of a task on rates of decisions.
type decisions struct {
	measure.Bounds
	shared *samples
}

// decided returns the constraints on rates of decisions; nil if the task has none.
func (s *Statement) decided() *decisions {
	if s.system == nil {
		return nil
	}
	d := &decisions{measure.Bounds{System: s.system, On: s.boundsOn, Confidence: s.confidence}, s.samples}
	if s.Decided != nil {
		d.OfNodes = s.bounds()
	}
	return d
}

// decided returns the constraints on rates of decisions; nil if the task has none.
func (a *assembly) decided() *decisions {
	d := a.builder.statement.decided()
	if d != nil {
		d.Tolerance = a.options.feasibilityTolerance()
	}
	return d
}

// onDecisions reports whether bounds apply to decisions.
func (a *assembly) onDecisions() bool {
	return a.builder.statement.system != nil && a.builder.statement.boundsOn == OnDecisions
}

// sampleOf returns the system on the rows of a split. The split keeps it.
func (d *decisions) sampleOf(s *split) (*constraints.Sample, error) {
	if s.sample != nil {
		return s.sample, nil
	}
	var err error
	s.sample, err = d.shared.sample(rowsOf(s.Rows))
	return s.sample, err
}

// newConfidence returns the plan of the promises; nil if the task asks for no confidence.
func (a *assembly) newConfidence() (*measure.Confidence, error) {
	level, d := a.builder.statement.confidence, a.decided()
	if level == 0 {
		return nil, nil
	}
	validation := a.part(Validation)
	if validation == nil {
		return nil, &OptionError{Option: "confidence", Problem: "needs validation rows, " + takeValidationRows}
	}
	s := a.options.Settings
	if s.Output == trainer.OutputBestValidation || s.Patience > 0 {
		return nil, &OptionError{Option: "confidence", Problem: "needs validation rows that did not choose the weights; leave out --select best-validation and --patience"}
	}
	sample, err := d.sampleOf(validation)
	if err != nil {
		return nil, err
	}
	c, err := measure.NewConfidence(d.System, sample, validation.Len(), level)
	if errors.Is(err, promise.ErrLoss) {
		return nil, &OptionError{Option: "confidence", Problem: "is for rates of decisions", Err: err}
	}
	return c, err
}

// checkConfidence returns an error for a confidence that is not a probability, and for a confidence
// with bounds on surrogates.
func checkConfidence(level float64, on BoundsOn) error {
	switch {
	case level == 0:
		return nil
	case !(level > 0 && level < 1):
		return &OptionError{Option: "confidence", Problem: fmt.Sprintf("is %v, want a probability between 0 and 1, such as 0.95", level)}
	case on != OnDecisions:
		return &OptionError{Option: "confidence", Problem: "is about decisions, and the bounds are on surrogates: use --bounds-on decisions"}
	}
	return nil
}

// optimizeDecisions runs the feedback rounds and then the exact step.
func (a *assembly) optimizeDecisions(ctx context.Context, s trainer.Settings) (*trainer.Result, error) {
	d, train := a.decided(), a.splits[0]
	sample, err := d.sampleOf(train)
	if err != nil {
		return nil, err
	}
	positive := 0
	if len(train.Classes) == 2 {
		positive = train.OfLabel(train.Classes[1].Label)
	}
	f, early, err := measure.NewSolution(d.System, sample, classNames(train.Classes), train.Len(), positive)
	if err != nil {
		return nil, err
	}
	tell := func(warnings trainer.Warnings) {
		if s.Warn == nil {
			return
		}
		for _, w := range warnings {
			s.Warn(w)
		}
	}
	tell(early)
	smooth, ok := a.problem.(*problem.Affine)
	if !ok {
		return nil, fmt.Errorf("session: %w: the task %s does not support bounds on decisions", ErrOptions, a.builder.statement.Name)
	}
	var scores []float64 // of the training rows
	feedback := decide.Feedback{
		Smooth: smooth, Rates: f.Rates, Target: f.Target, Start: a.builder.statement.start, Resolution: measure.Resolution(a.dtype == tensor.Float32),
		Scores: func() (_ []float64, err error) {
			scores, err = a.appendScores(scores[:0], train)
			return scores, err
		},
	}
	if feedback.Judge, err = a.judge(); err != nil {
		return nil, err
	}
	if a.confidence != nil {
		feedback.Tighten = a.confidence.Tighten
	}
	f.Rounds, err = decide.Train(ctx, a.Problem(), a.options.Method, s, feedback)
	if err != nil {
		if f.Rounds == nil {
			return nil, err
		}
		return f.Rounds.Result, err
	}
	began := time.Now()
	if err := a.exactStep(f); err != nil {
		return f.Rounds.Result, err
	}
	f.Rounds.Times.Rounds += time.Since(began).Seconds()
	a.solved = f
	late := append(f.Warnings(a.confidence == nil, a.circumstances(f.Rounds.Status)), a.confidence.Warnings()...)
	tell(late)
	f.Rounds.Warnings = slices.Concat(early, f.Rounds.Warnings, late)
	return f.Rounds.Result, nil
}

// exactStep finds the offsets of the scores in float64 at the iterate.
func (a *assembly) exactStep(f *measure.Solution) error {
	scores, err := a.scores64(a.splits[0])
	if err != nil {
		return err
	}
	return f.ExactStep(scores, measure.Resolution(a.dtype == tensor.Float32), a.confidence, func() ([]float64, error) { return a.scores64(a.part(Validation)) })
}

// applyExactStep adds the offsets to the scores: it changes the weights of the iterate.
func (a *assembly) applyExactStep() error {
	if a.solved == nil || !a.solved.Exact.Moved {
		return nil
	}
	x := a.iterate()
	if err := models.AddToScores(a.builder.Model, x, a.solved.Exact.Offsets); err != nil {
		return err
	}
	a.problem.Space().Write(problem.Iterate, x)
	return nil
}
