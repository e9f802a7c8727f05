package measure

import (
	"fmt"
	"slices"

	"ppal/constraints"
	"ppal/internal/decide"
	"ppal/internal/rates"
	"ppal/internal/relay"
	"ppal/trainer/session/results"
)

// Bounds are the bounds of a task on rates of decisions.
type Bounds struct {
	System *constraints.System
	On     constraints.BoundsOn
	// Confidence is the probability with which the bounds hold on new rows; 0: they hold on the
	// training rows.
	Confidence float64
	// Tolerance is the largest excess of a smooth value that counts as met.
	Tolerance float64
	// OfNodes are the bounds of the constraints that nodes state; nil: the system states them.
	OfNodes []float64
}

// Judged is a split whose decisions are judged.
type Judged struct {
	Split   results.Split
	Classes int                 // their number
	Labels  []int               // the class of each row
	Scores  []float64           // row by row
	Sample  *constraints.Sample // the system on the rows
}

// Outcome counts the decisions of every split. The training rows are the first split. parameters
// are the terms of the weights, and values f and g + bound of the training rows.
func (b Bounds) Outcome(splits []Judged, parameters, values []float64) (*results.Outcome, error) {
	o := &results.Outcome{BoundsOn: b.On, Constraints: []results.ConstraintOutcome{}}
	o.Objective.Name = b.System.Minimize.String()
	for _, c := range b.System.Subject {
		o.Constraints = append(o.Constraints, results.ConstraintOutcome{Constraint: c.String(), Bound: c.Bound(), AtLeast: c.IsAtLeast()})
	}
	pairs := b.System.OfPairs()
	if splits[0].Classes == 2 && !pairs {
		o.AcceptanceRate = &results.SplitValues{}
	}
	on := splits[max(0, slices.IndexFunc(splits, func(s Judged) bool { return s.Split == results.Validation }))]
	probability := relay.Start(func() (p *results.Probability, _ error) {
		if !pairs && b.System.Margins == nil { // the scores of a ranking give no probabilities
			p = on.probability()
		}
		return p, nil
	})
	for _, s := range splits {
		counted, smooth, err := s.count(parameters)
		if err != nil {
			return nil, err
		}
		if v := counted.Objective; v.Defined {
			o.Objective.Set(s.Split, v.Value)
		}
		if i := b.intervalOfObjective(counted); i != nil && s.Split != results.Training && !b.System.IsLoss() {
			o.Objective.Interval = i // from the test rows, the last split
			if s.Split == results.Validation {
				o.Objective.ValidationInterval = i
			}
		}
		if o.AcceptanceRate != nil {
			o.AcceptanceRate.Set(s.Split, counted.Accepted[1])
		}
		for j := range o.Constraints {
			b.setConstraint(&o.Constraints[j], j, s.Split, counted, smooth, values)
		}
	}
	o.Probability, _ = probability()
	if !pairs {
		o.Probabilities = on.probabilities()
	}
	return o, nil
}

// setConstraint sets the values of constraint j on a split. smooth are the smooth terms of the
// split's scores, and values f and g + bound of the training rows.
func (b Bounds) setConstraint(c *results.ConstraintOutcome, j int, split results.Split, counted *constraints.Counted, smooth, values []float64) {
	if v := counted.Values[j]; v.Defined {
		c.Set(split, v.Value)
	}
	switch {
	case split == results.Validation && b.Confidence > 0: // these rows chose the threshold
	case split == results.Training:
		c.Judge(counted.Judge(j))
		if b.On == constraints.OnSurrogate {
			v, met := b.surrogate(j, smooth, values)
			c.Surrogate, c.SurrogateMet = &v, &met
		}
	default:
		c.Interval = b.interval(j, counted) // from the test rows, the last split
		if split == results.Validation {
			c.ValidationInterval = c.Interval
		}
	}
}

// surrogate returns the smooth value of constraint j, and whether it exceeds the bound by at most
// the tolerance.
func (b Bounds) surrogate(j int, smooth, values []float64) (value float64, met bool) {
	if b.OfNodes != nil {
		return values[1+j], values[1+j]-b.OfNodes[j] <= b.Tolerance
	}
	return b.System.SmoothValue(j, smooth), b.System.Excess(j, smooth) <= b.Tolerance
}

// interval returns the 95% interval of constraint j on new rows. interval returns nil if the
// decisions do not determine the constraint, or if the split has no rows. For pairs, the sampling
// units are the queries.
func (b Bounds) interval(j int, counted *constraints.Counted) *[2]float64 {
	if !counted.Values[j].Defined {
		return nil
	}
	if b.System.OfPairs() {
		return rates.IntervalAround(counted.Values[j].Value, counted.QueryError(j), rates.Level)
	}
	return rates.IntervalOf(b.System.Subject[j], counted.CountedSets(j), rates.Level)
}

// intervalOfObjective returns the 95% interval of the objective on new rows: see interval.
func (b Bounds) intervalOfObjective(counted *constraints.Counted) *[2]float64 {
	if b.System.OfPairs() {
		return rates.IntervalAround(counted.Objective.Value, counted.QueryErrorOfObjective(), rates.Level)
	}
	return rates.IntervalOfRate(counted.Objective, rates.Level)
}

// Multipliers sets, for each constraint, the sum of the multipliers of the smooth constraints that
// state it.
func (b Bounds) Multipliers(o *results.Outcome, nu []float64) {
	for j := range o.Constraints {
		if b.OfNodes != nil {
			o.Constraints[j].Multiplier = nu[j]
			continue
		}
		for _, k := range b.System.Places(j) {
			o.Constraints[j].Multiplier += nu[k]
		}
	}
}

// count counts the decisions. count also returns the smooth terms. parameters are the terms of the
// weights.
func (s Judged) count(parameters []float64) (*constraints.Counted, []float64, error) {
	_, smooth, err := s.Sample.Smooth(s.Scores)
	if err != nil {
		return nil, nil, err
	}
	smooth = append(smooth, parameters...)
	counted, err := s.Sample.CountScores(s.Scores, smooth)
	if err != nil {
		err = fmt.Errorf("session: %s rows: %w", s.Split, err)
	}
	return &counted, smooth, err
}

// probability fits the probability of the positive class. probability returns nil if the model has
// more than one score, and if the scores give no probabilities.
func (s Judged) probability() *results.Probability {
	if s.Classes != 2 || len(s.Scores) != len(s.Labels) {
		return nil
	}
	positive := make([]bool, len(s.Labels))
	for i, k := range s.Labels {
		positive[i] = k == 1
	}
	p, err := decide.FitPlatt(s.Scores, positive, s.Sample.Weights())
	if err != nil {
		return nil
	}
	return &results.Probability{Slope: p.Slope, Intercept: p.Intercept, AtThreshold: p.AtThreshold(), Rows: s.Split}
}

// probabilities fits the probabilities of classes, if the model has a score for each class.
// probabilities returns nil if the scores give no probabilities.
func (s Judged) probabilities() *results.Probabilities {
	if len(s.Scores) == len(s.Labels) || len(s.Scores) != len(s.Labels)*s.Classes {
		return nil
	}
	p, err := decide.FitSoftmax(s.Scores, s.Labels, s.Classes, s.Sample.Weights())
	if err != nil {
		return nil
	}
	return &results.Probabilities{Softmax: results.Softmax{Slope: p.Slope, Intercepts: p.Intercepts}, Rows: s.Split}
}
