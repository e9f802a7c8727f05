package session

import (
	"fmt"
	"slices"

	"ppal/constraints"
	"ppal/internal/decide"
	"ppal/internal/rates"
	"ppal/internal/rundir"
	"ppal/trainer"
)

// scores64 returns the scores of a split in float64 at the iterate.
func (a *assembly) scores64(s *split) ([]float64, error) {
	x := a.iterate()
	b, err := a.builder.exactBlocks(s, x)
	if err != nil {
		return nil, err
	}
	return b.Scores(x)
}

// count counts the decisions of scores on a split. count also returns the smooth terms. parameters
// are the terms of the weights.
func (d *decisions) count(s *split, scores, parameters []float64) (*constraints.Counted, []float64, error) {
	sample, err := d.sampleOf(s)
	if err != nil {
		return nil, nil, fmt.Errorf("session: %s rows: %w", s.Name, err)
	}
	decided, err := sample.Decide(scores)
	if err != nil {
		return nil, nil, fmt.Errorf("session: %s rows: %w", s.Name, err)
	}
	_, smooth, err := sample.Smooth(scores)
	if err != nil {
		return nil, nil, err
	}
	smooth = append(smooth, parameters...)
	counted, err := sample.CountWith(decided, smooth)
	return &counted, smooth, err
}

// outcome counts the decisions of every split. scores holds the scores of each split, in the order
// of the splits, and values f and g + bound of the training rows.
func (a *assembly) outcome(r *trainer.Result, scores [][]float64, values []float64) (*Outcome, error) {
	d := a.builder.statement.decided()
	o := &Outcome{BoundsOn: d.on, Constraints: []ConstraintOutcome{}, GradientEvaluations: r.Point.GradientEvaluations}
	o.Objective.Name = d.system.Minimize.String()
	for _, c := range d.system.Subject {
		o.Constraints = append(o.Constraints, ConstraintOutcome{Constraint: c.String(), Bound: c.Bound(), AtLeast: c.IsAtLeast()})
	}
	if len(a.splits[0].Classes) == 2 {
		o.AcceptanceRate = &SplitValues{}
	}
	parameters, err := a.builder.Terms.At(a.iterate())
	if err != nil {
		return nil, err
	}
	for k, s := range a.splits {
		counted, smooth, err := d.count(s, scores[k], parameters)
		if err != nil {
			return nil, err
		}
		if v := counted.Objective; v.Defined {
			o.Objective.Set(s.Name, v.Value)
		}
		if i := rates.IntervalOfRate(counted.Objective, rates.Level); i != nil && s.Name != Training && !d.system.IsLoss() {
			o.Objective.Interval = i // from the test rows, the last split
			if s.Name == Validation {
				o.Objective.ValidationInterval = i
			}
		}
		if o.AcceptanceRate != nil {
			o.AcceptanceRate.Set(s.Name, counted.Accepted[1])
		}
		for j := range o.Constraints {
			c := &o.Constraints[j]
			if v := counted.Values[j]; v.Defined {
				c.Set(s.Name, v.Value)
			}
			if s.Name == Validation && a.builder.statement.confidence > 0 {
				continue // these rows chose the threshold
			}
			if s.Name != Training {
				c.Interval = d.interval(j, counted) // from the test rows, the last split
				if s.Name == Validation {
					c.ValidationInterval = c.Interval
				}
				continue
			}
			c.Judge(counted.Judge(j))
			if d.on == OnSurrogate {
				v, met := d.surrogate(j, smooth, values, a.feasibilityTolerance())
				c.Surrogate, c.SurrogateMet = &v, &met
			}
		}
	}
	if a.solved != nil {
		a.solved.Describe(o)
		a.confidence.Describe(o)
	}
	o.Probability, o.Probabilities = a.probability(scores), a.probabilities(scores)
	return o, nil
}

// probability fits the probability of the positive class to the validation rows, or to the
// training rows if the run has no validation rows. probability returns nil if the model has more
// than one score, if the task has surrogates of margins, and if the scores give no probabilities.
func (a *assembly) probability(scores [][]float64) *Probability {
	on := a.fitted()
	s := a.splits[on]
	if len(s.Classes) != 2 || len(scores[on]) != s.Len() || a.builder.statement.system.Margins != nil {
		return nil
	}
	positive := make([]bool, s.Len())
	for i, y := range s.Labels {
		positive[i] = y == s.Classes[1].Label
	}
	p, err := decide.FitPlatt(scores[on], positive)
	if err != nil {
		return nil
	}
	return &Probability{Slope: p.Slope, Intercept: p.Intercept, AtThreshold: p.AtThreshold(), Rows: s.Name}
}

// fitted returns the index of the split whose rows fit probabilities.
func (a *assembly) fitted() int {
	return max(0, slices.IndexFunc(a.splits, func(s *split) bool { return s.Name == Validation }))
}

// probabilities fits the probabilities of classes to the rows of probability, if the model has a
// score for each class. probabilities returns nil if the scores give no probabilities.
func (a *assembly) probabilities(scores [][]float64) *Probabilities {
	on := a.fitted()
	s := a.splits[on]
	if len(scores[on]) == s.Len() || len(scores[on]) != s.Len()*len(s.Classes) {
		return nil
	}
	labels, err := rowsOf(s.Rows).indices()
	if err != nil {
		return nil
	}
	p, err := decide.FitSoftmax(scores[on], labels, len(s.Classes))
	if err != nil {
		return nil
	}
	return &Probabilities{Softmax: rundir.Softmax{Slope: p.Slope, Intercepts: p.Intercepts}, Rows: s.Name}
}

// multipliers sets, for each constraint, the sum of the multipliers of the smooth constraints that
// state it.
func (d *decisions) multipliers(o *Outcome, nu []float64) {
	for j := range o.Constraints {
		if d.nodes != nil {
			o.Constraints[j].Multiplier = nu[j]
			continue
		}
		for _, k := range d.system.Places(j) {
			o.Constraints[j].Multiplier += nu[k]
		}
	}
}

// feasibilityTolerance returns the tolerance of the settings, or the trainer's default.
func (a *assembly) feasibilityTolerance() float64 { return a.options.feasibilityTolerance() }

// interval returns the 95% interval of constraint j on new rows. interval returns nil if the
// decisions do not determine the constraint, or if the split has no rows.
func (d *decisions) interval(j int, counted *constraints.Counted) *[2]float64 {
	if !counted.Values[j].Defined {
		return nil
	}
	return rates.IntervalOf(d.system.Subject[j], counted.CountedSets(j), rates.Level)
}
