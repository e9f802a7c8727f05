package results

import (
	"fmt"
	"strconv"
	"strings"

	"ppal/constraints"
	"ppal/internal/option"
)

// Outcome is the result of a run in the user's terms. All rates are rates of counted decisions. The
// JSON names are the keys of summary.json.
type Outcome struct {
	BoundsOn    constraints.BoundsOn `json:"bounds_on"`
	Constraints []ConstraintOutcome  `json:"decisions"`
	Objective   ObjectiveOutcome     `json:"objective_on_decisions"`
	// AcceptanceRate is the share of rows that are decided as the positive class; nil unless there
	// are two classes.
	AcceptanceRate *SplitValues `json:"acceptance_rate"`
	// Decides is the class as which nearly all training rows are decided: see RateTable.Decides.
	Decides string `json:"decides,omitempty"`
	// Threshold is the amount that the exact threshold step subtracted from the scores of a binary
	// model; the weights contain it, so that a positive decision is a score above 0.
	Threshold float64 `json:"threshold"`
	// Offsets are the amounts that the step subtracted from the score of each class; nil for a binary
	// model.
	Offsets []float64 `json:"offsets,omitempty"`
	// WeightStep are the amounts that the exact step added to the weights of a linear model with few
	// columns, as trained, before the threshold; nil: nothing. The last is that of the bias, 0.
	WeightStep []float64 `json:"weight_step,omitempty"`
	// RankStep is the exact step of a ranking; nil: none, or the scores decide the classes of rows.
	RankStep *RankStep `json:"rank_step,omitempty"`
	// Thresholds are those on given scores; nil: the run trained the scores, and chose one threshold
	// or offset after training.
	Thresholds *Thresholds `json:"thresholds,omitempty"`
	// ThresholdCost is the increase of the objective on training decisions by the threshold step.
	ThresholdCost float64 `json:"threshold_cost"`
	// BoundShifts are the amounts that the feedback added to the bounds of the smooth constraints, to
	// which the certificate refers.
	BoundShifts         []float64 `json:"bound_shifts"`
	GradientEvaluations int       `json:"gradient_evaluations"`
	// Confidence is the probability with which all promises hold; 0: the run promises nothing about
	// new rows.
	Confidence float64 `json:"confidence,omitempty"`
	// Probability gives probabilities without a change of a decision; nil with more than two classes,
	// or if the scores do not rank the positive rows higher.
	Probability *Probability `json:"probability,omitempty"`
	// Probabilities gives the probability of each class without a change of a decision; nil with a
	// single score, or if the scores do not rank the rows of a class higher.
	Probabilities *Probabilities `json:"probabilities,omitempty"`
}

// Thresholds are the thresholds of a run with given scores.
type Thresholds struct {
	// Column is the column whose values have thresholds of their own; "": all rows have the same.
	Column string           `json:"column,omitempty"`
	Groups []GroupThreshold `json:"groups"`
	// All says that all thresholds were compared: on the training rows, no others are better.
	All bool `json:"all_compared"`
	// Least is a lower bound for the objective on the training rows of all thresholds that meet the
	// bounds there; nil: not known.
	Least *float64 `json:"least_objective,omitempty"`
}

// GroupThreshold holds the thresholds of a group, with its number of training rows.
type GroupThreshold struct {
	Group string `json:"group,omitempty"` // a value of the column; "": all rows
	Rows  int    `json:"rows"`
	// Thresholds are the amounts that are subtracted from the scores, one for each score.
	Thresholds []float64 `json:"thresholds"`
}

// RankStep is the exact step of a ranking: it changed a weight, whose feature tells two groups of
// documents apart, or it mixed the weights of two rounds.
type RankStep struct {
	Weight int     `json:"weight"` // index of the weight in the stacked weights
	Change float64 `json:"change"` // of the weight, as trained
	Mixed  bool    `json:"mixed"`
}

// Probabilities are the probabilities of classes, proportional to exp(Slope s_k + Intercepts_k) for
// the scores s of the saved model.
type Probabilities struct {
	Softmax
	Rows Split `json:"rows"` // the rows of the fit: validation, or train without validation rows
}

// Probability is the probability of the positive class, 1/(1 + exp(-(Slope s + Intercept))) for the
// score s of the saved model (Platt scaling). The threshold is carried along: s > 0 is the same as
// a probability above AtThreshold.
type Probability struct {
	Slope       float64 `json:"slope"`
	Intercept   float64 `json:"intercept"`
	AtThreshold float64 `json:"at_threshold"`
	Rows        Split   `json:"rows"` // the rows of the fit: validation, or train without validation rows
}

// ConstraintOutcome is the result for one of the user's constraints.
type ConstraintOutcome struct {
	Constraint string  `json:"constraint"` // in the user's words
	Bound      float64 `json:"bound"`
	AtLeast    bool    `json:"at_least,omitempty"` // the value must be at least the bound
	SplitValues
	// Interval is the 95% interval of the value on new rows, computed from the test rows, or from the
	// validation rows if there are no test rows; nil without held-out rows.
	Interval *[2]float64 `json:"interval"`
	// ValidationInterval is the interval of the validation rows; nil without validation rows.
	ValidationInterval *[2]float64 `json:"validation_interval,omitempty"`
	// Multiplier is the sum of the certificate's multipliers of the constraint: the decrease of the
	// smooth objective for each unit by which the bound is relaxed.
	Multiplier float64 `json:"multiplier"`
	// Met says that the constraint counts as met on the training decisions, by State.
	Met bool `json:"met"`
	// State, Tolerance and Exceeded are the judgement of the training decisions: see
	// constraints.Judgement.
	State     constraints.State     `json:"state"`
	Tolerance float64               `json:"tolerance"`
	Exceeded  *constraints.Exceeded `json:"exceeded,omitempty"`
	// Promise says whether the bound holds on new rows; nil without a confidence.
	Promise *Promise `json:"promise,omitempty"`
	// Surrogate is the value of the smooth constraint on training rows, and SurrogateMet says whether
	// it is within the bound plus the feasibility tolerance; nil if bounds are on decisions.
	Surrogate    *float64 `json:"surrogate,omitempty"`
	SurrogateMet *bool    `json:"surrogate_met,omitempty"`
}

// Judge sets the judgement of the training decisions.
func (c *ConstraintOutcome) Judge(j constraints.Judgement) {
	c.Met, c.State, c.Tolerance, c.Exceeded = j.State.Holds(), j.State, j.Tolerance, j.Exceeded
}

// Relation returns the direction of the bound, "<=" or ">=".
func (c *ConstraintOutcome) Relation() string {
	if c.AtLeast {
		return ">="
	}
	return "<="
}

// Measure returns the user's words without the bound: "gap(tpr, sex)".
func (c *ConstraintOutcome) Measure() string {
	measure, _, _ := strings.Cut(c.Constraint, " "+c.Relation()+" ")
	return measure
}

// measured returns what the constraint bounds; the zero value for the constraint of an own task.
func (c *ConstraintOutcome) measured() constraints.Measure {
	parsed, err := constraints.Parse(c.Constraint)
	if err != nil {
		return constraints.Measure{}
	}
	return parsed.Measure()
}

// IsRatio reports whether the constraint bounds a ratio.
func (c *ConstraintOutcome) IsRatio() bool { return c.measured().IsRatio() }

// Promise says whether a bound holds on new rows at the run's confidence, by the validation rows.
type Promise struct {
	Holds bool `json:"holds"`
	// Supported is the tightest bound that the decisions on the validation rows promise, and Least
	// the tightest that these rows could promise for any model.
	Supported float64 `json:"supported_bound"`
	Least     float64 `json:"least_bound"`
	// Rows is the number of validation rows in the smallest set that the constraint counts, and
	// Needed the number that the bound needs there; 0: no number is enough.
	Rows   int `json:"rows"`
	Needed int `json:"rows_needed"`
}

// ObjectiveOutcome is the minimised rate.
type ObjectiveOutcome struct {
	Name string `json:"name"` // error, fnr, ...
	SplitValues
	// Interval and ValidationInterval are the 95% intervals of a rate on the test rows and on the
	// validation rows; nil without these rows.
	Interval           *[2]float64 `json:"interval,omitempty"`
	ValidationInterval *[2]float64 `json:"validation_interval,omitempty"`
}

// rate returns the objective in the language; the zero value for the objective of an own task.
func (o *ObjectiveOutcome) rate() constraints.Rate {
	r, err := constraints.ParseObjective(o.Name)
	if err != nil {
		return constraints.Rate{}
	}
	return r
}

// SplitValues are a value on each split; nil where there are no rows.
type SplitValues struct {
	Train      *float64 `json:"train"`
	Validation *float64 `json:"validation"`
	Test       *float64 `json:"test"`
}

// Of returns the value on a split; nil for nil.
func (v *SplitValues) Of(split Split) *float64 {
	if v == nil {
		return nil
	}
	switch split {
	case Training:
		return v.Train
	case Validation:
		return v.Validation
	case Test:
		return v.Test
	}
	return nil
}

// Set sets the value on a split.
func (v *SplitValues) Set(split Split, x float64) {
	switch split {
	case Training:
		v.Train = &x
	case Validation:
		v.Validation = &x
	case Test:
		v.Test = &x
	}
}

// Met reports whether the run's bounds hold on the training rows, and are promised in a run with a
// confidence: on counted decisions, or the surrogates if the bounds are on surrogates.
func (o *Outcome) Met() bool { return len(o.Unmet()) == 0 }

// Unmet returns the constraints that do not hold, that cannot be judged, or that are not promised
// by a run with a confidence.
func (o *Outcome) Unmet() (list []ConstraintOutcome) {
	for j := range o.Constraints {
		if c := &o.Constraints[j]; !o.Standing(c).Holds() {
			list = append(list, *c)
		}
	}
	return list
}

// Standing returns the standing of a constraint of the outcome.
func (o *Outcome) Standing(c *ConstraintOutcome) Standing {
	s := Standing{State: c.state(), Unpromised: c.Promise != nil && !c.Promise.Holds}
	splits := []Split{Validation, Test}
	if o.BoundsOn == constraints.OnSurrogate && c.SurrogateMet != nil {
		s.surrogate, s.State = true, constraints.NotMet
		if splits = Splits(); *c.SurrogateMet {
			s.State, s.givenUp = constraints.Met, o.GivenUp() != ""
		}
	}
	if c.measured().IsL1() { // the norm does not depend on rows
		return s
	}
	for _, split := range splits {
		if v := c.Of(split); v != nil && c.Over(*v) > Rounding {
			s.Beyond = append(s.Beyond, split)
		}
	}
	return s
}

// worstError is the smallest minimised error of a class that counts as given up.
const worstError = 1 - givenUpRows

// GivenUp says why the model is useless although it may meet the bounds: it decides nearly all
// training rows as one class, or nearly all rows of the class with the minimised error wrongly.
// GivenUp returns "" for other models.
func (o *Outcome) GivenUp() string {
	if o.Decides != "" {
		return "the model decides " + o.Decides + " for nearly every training row"
	}
	v, r := o.Objective.Train, o.Objective.rate()
	if v != nil && *v >= worstError && r.Name() == constraints.Error().Name() && r != constraints.Error() {
		return "the model decides nearly all training rows of the minimised " + o.Objective.Name + " wrongly"
	}
	return ""
}

// state returns the judgement on the training decisions. Summaries of earlier versions have only
// Met.
func (c *ConstraintOutcome) state() constraints.State {
	switch {
	case c.State != "":
		return c.State
	case !c.Met:
		return constraints.NotMet
	case c.Train != nil && c.Over(*c.Train) > Rounding:
		return constraints.MetToOneRow
	}
	return constraints.Met
}

// Over returns the amount by which a value is beyond the bound.
func (c *ConstraintOutcome) Over(v float64) float64 {
	if c.AtLeast {
		return c.Bound - v
	}
	return v - c.Bound
}

// Rating returns the rating of the outcome: the worst of its constraints.
func (o *Outcome) Rating() Rating {
	worst := Good
	for j := range o.Constraints {
		worst = min(worst, o.Standing(&o.Constraints[j]).Rating())
	}
	return worst
}

// Counts returns what the rates count: "pair" for the pairs of documents of a ranking, else "row".
func (o *Outcome) Counts() string {
	if o.Objective.rate().OfPairs() {
		return "pair"
	}
	return "row"
}

// Explain says in a sentence what the table cannot say in a word: why a constraint cannot be judged
// and what to do, which groups miss the bound, or on which held-out rows the decisions are beyond
// the bound. Otherwise it returns "".
func (o *Outcome) Explain(c *ConstraintOutcome) string {
	s, unit := o.Standing(c), c.measured().Unit()
	switch {
	case s.State == constraints.NotJudged:
		return c.Constraint + " cannot be judged: " + c.WhyUnjudged() + "."
	case s.surrogate:
		return ""
	case s.State == constraints.NotMet && c.Exceeded != nil && len(c.Exceeded.Groups) > 0 && c.Exceeded.Groups[0] != constraints.AllRows:
		var list []string
		for k, g := range c.Exceeded.Groups {
			list = append(list, fmt.Sprintf("%s (%s of %s)", g, Number(c.Exceeded.Values[k], 4), option.Counted(c.Exceeded.Rows[k], unit)))
		}
		return c.Constraint + " is missed by " + strings.Join(list, " and ") + "."
	case s.Rating() == TrainOnly:
		met, list := string(s.State), []string(nil)
		if s.State.Nearly() {
			met = "met " + met
		}
		for _, split := range s.Beyond {
			list = append(list, fmt.Sprintf("%s rows (%s)", split.Word(), c.Number(c.Of(split))))
		}
		return c.Constraint + " is " + met + " on the training rows, and missed on the " + strings.Join(list, " and the ") + "."
	}
	return ""
}

// WhyUnjudged says why the constraint cannot be judged, and what to do.
func (c *ConstraintOutcome) WhyUnjudged() string {
	unit := c.measured().Unit()
	if c.Exceeded == nil {
		return "there are no " + unit + "s to count"
	}
	return c.Exceeded.WhyUnjudged(unit)
}

// Number formats a value of the constraint with four decimals, and with more where fewer would put
// the value on the other side of the bound; "" for nil.
func (c *ConstraintOutcome) Number(v *float64) string {
	if v == nil {
		return ""
	}
	beyond := c.Over(*v) > Rounding
	for digits := 4; ; digits++ {
		text := Number(*v, digits)
		if shown, err := strconv.ParseFloat(text, 64); err != nil || digits > 12 || beyond == (c.Over(shown) > Rounding) {
			return text
		}
	}
}
