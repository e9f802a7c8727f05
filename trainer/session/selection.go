package session

import (
	"math"

	"ppal/trainer"
	"ppal/trainer/session/internal/measure"
)

// takeValidationRows is the part of an error message that tells how a run gets validation rows.
const takeValidationRows = "take some with --split, as in 70/15/15 for tables and 90/10/0 for pictures"

// checkSelection returns an error if the settings choose weights by validation rows and the run
// has no validation rows.
func (a *assembly) checkSelection() error {
	if a.part(Validation) != nil {
		return nil
	}
	switch {
	case a.options.Settings.Output == trainer.OutputBestValidation:
		return &OptionError{Option: "select", Problem: "is best-validation, but there are no validation rows; " + takeValidationRows}
	case a.options.Settings.Patience > 0:
		return &OptionError{Option: "patience", Problem: "waits for the measures on validation rows, but there are none; " + takeValidationRows}
	}
	return nil
}

// part returns the split with the name, or nil.
func (a *assembly) part(name Split) *split {
	for _, s := range a.splits {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// setMerits sets the merits by which the settings choose weights. Without bounds on decisions, the
// method's own f and g are the merit on the training rows.
func (a *assembly) setMerits(s *trainer.Settings) (err error) {
	s.TrainMerit, s.ValidationMerit = nil, nil
	if a.onDecisions() {
		if s.TrainMerit, err = a.merit(a.splits[0]); err != nil {
			return err
		}
	}
	if held := a.part(Validation); held != nil {
		s.ValidationMerit, err = a.merit(held)
	}
	return err
}

// merit returns the function for the merit of the iterate on a split. measure must have measured
// the iterate. The merit is the objective and the violation of the bounds. With bounds on
// decisions, the merit counts decisions; otherwise the merit uses the values that the task bounds.
// A violation counts if it exceeds the feasibility tolerance and the weight of a single row. The
// row belongs to the smallest cell of each bound on decisions, else to the smallest class (of each
// group, on tables).
func (a *assembly) merit(s *split) (func() trainer.Merit, error) {
	if a.onDecisions() {
		merit, err := a.meritOnDecisions(s)
		return func() trainer.Merit { return merit(s.last.decisions) }, err
	}
	smallest := math.MaxInt
	for _, rows := range s.Stratified() {
		smallest = min(smallest, len(rows))
	}
	merit := measure.Merit(a.builder.statement.bounds(), max(a.options.feasibilityTolerance(), 1/float64(smallest)))
	return func() trainer.Merit { return merit(s.last.Values) }, nil
}

// meritOnDecisions returns the function for the merit of counted values on a split.
func (a *assembly) meritOnDecisions(s *split) (func(values []float64) trainer.Merit, error) {
	d := a.decided()
	sample, err := d.sampleOf(s)
	if err != nil {
		return nil, err
	}
	return d.Merit(a.builder.statement.bounds(), sample.Rows()), nil
}

// judge returns the function for the merit of the last measured iterate on the validation rows,
// with offsets of the scores; nil if the run has no validation rows.
func (a *assembly) judge() (func(offsets []float64) (trainer.Merit, error), error) {
	held, d := a.part(Validation), a.decided()
	if held == nil {
		return nil, nil
	}
	sample, err := d.sampleOf(held)
	if err != nil {
		return nil, err
	}
	merit, err := a.meritOnDecisions(held)
	if err != nil {
		return nil, err
	}
	return func(offsets []float64) (trainer.Merit, error) {
		scores := make([]float64, len(held.scores))
		for i, s := range held.scores {
			scores[i] = s + offsets[i%len(offsets)]
		}
		parameters, err := a.builder.Terms.At(a.iterate())
		if err != nil {
			return trainer.Merit{}, err
		}
		m, err := a.builder.statement.measureRates(rowsOf(held.Rows), sample, nil, scores, parameters)
		if err != nil {
			return trainer.Merit{}, err
		}
		return merit(m.decisions), nil
	}, nil
}
