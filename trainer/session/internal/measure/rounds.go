package measure

import (
	"fmt"

	"ppal/constraints"
	"ppal/internal/decide"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/results"
)

// The codes of the warnings about decisions.
const (
	WarnOneSided    trainer.WarningCode = "one-sided"    // the model decides every training row alike
	WarnFewPositive trainer.WarningCode = "few-positive" // the model decides few training rows as positive
	WarnUnmet       trainer.WarningCode = "unmet"        // no threshold meets all bounds on decisions
	WarnUnjudged    trainer.WarningCode = "unjudged"     // a group may be too small to judge a constraint
	WarnCost        trainer.WarningCode = "cost"         // the threshold costs much of the objective
	WarnPromise     trainer.WarningCode = "promise"      // a bound is not promised for new rows
)

// The resolutions of scores. The resolution is the largest relative distance at which the exact
// step treats two scores as equal. The resolution is several rounding units of the weights,
// because the threshold must survive the rounding of the weights.
const (
	resolutionOfFloat32 = 1e-5
	resolutionOfFloat64 = 1e-12
)

// Resolution returns the resolution of scores whose weights are of float32, or else of float64.
func Resolution(single bool) float64 {
	if single {
		return resolutionOfFloat32
	}
	return resolutionOfFloat64
}

// Round rounds weights in place to the precision of a run whose scores have the resolution.
func Round(x []float64, resolution float64) {
	if resolution == resolutionOfFloat32 {
		for i, v := range x {
			x[i] = float64(float32(v))
		}
	}
}

// Solution is the result of the rounds of feedback for bounds on decisions.
type Solution struct {
	System   *constraints.System
	Sample   *constraints.Sample // the training rows
	Rates    *decide.Rates       // nil for pairs
	Orders   *decide.Orders      // of pairs; nil for rows
	Column   int                 // the weight of the feature that Orders.Direction has
	Target   *decide.Target
	Rounds   *decide.Result   // nil before the rounds, and for thresholds on given scores
	OnScores *ScoreThresholds // of thresholds on given scores; nil: the scores are trained
	Exact    *decide.Exact    // the exact step on scores in float64; nil before ExactStep
	Accepted int              // training rows with a positive decision after the exact step, of a model with one score
	Positive int              // training rows of the positive class
	// Weights are the weights of the exact step before its offsets: of pairs a point between the ends
	// of two rounds, else see Turn. nil: the weights of the best round.
	Weights []float64
	Step    []float64 // the change of the weights by Turn; nil: none
	before  float64   // the objective on decisions before Turn
	flat    bool      // the scores order no pair
}

// NewSolution prepares the rounds for n training rows. With two classes, positive is the number of
// rows of the second class. The warnings are about constraints that may end without a judgement.
func NewSolution(system *constraints.System, sample *constraints.Sample, classes, n, positive int) (*Solution, trainer.Warnings, error) {
	f := &Solution{System: system, Sample: sample, Positive: positive}
	if system.OfPairs() {
		return f, f.setOrders(n), nil
	}
	var err error
	if f.Rates, err = newRates(system, sample, n, classes); err != nil {
		return nil, nil, err
	}
	counted, err := sample.CountWith(make([]int, n), make([]float64, system.Terms()))
	if err != nil {
		return nil, nil, err
	}
	f.Target = newTarget(system, &counted)
	return f, coded(WarnUnjudged, unjudged(system, &counted)), nil
}

// coded returns warnings with a code.
func coded(code trainer.WarningCode, texts []string) (list trainer.Warnings) {
	for _, text := range texts {
		list = append(list, trainer.NewWarning(code, text, ""))
	}
	return list
}

// newRates returns the rates of decisions on a sample of n rows.
func newRates(system *constraints.System, s *constraints.Sample, n, classes int) (*decide.Rates, error) {
	entries, list := s.Entries(), []decide.Entry(nil)
	r, err := decide.NewRates(n, classes, make([]float64, system.Terms()), func(i int) []decide.Entry {
		list = list[:0]
		for _, e := range entries(i) {
			list = append(list, decide.Entry(e))
		}
		return list
	})
	if err != nil {
		return nil, err
	}
	r.Weigh(s.Weights())
	for k := range system.Terms() {
		if k >= len(system.Rates) || system.Rates[k].IsLoss() {
			r.Undecided(k)
		}
	}
	return r, nil
}

// newTarget returns the objective and the bounds on decisions. The slack of an inequality is its
// tolerance for a gap, a ratio, a loss or a norm, and 0 for a rate. Coarse inequalities are those
// whose tolerance cannot make the constraint met.
func newTarget(system *constraints.System, counted *constraints.Counted) *decide.Target {
	t := &decide.Target{}
	t.Objective.Coefficients, t.Objective.Constant = system.ObjectiveRow()
	var ofLoss []bool // by constraint
	for j := range system.Subject {
		ofLoss = append(ofLoss, system.DependsOnLoss(j))
	}
	for k, b := range system.Bounds {
		own := decide.Bound{AffineRow: problem.AffineRow{Coefficients: b.Coefficients, Constant: b.Constant, Bound: b.Bound}}
		tolerance, coarse := counted.Tolerance(k, counted.Terms)
		switch {
		case ofLoss[b.Constraint]:
			own.Slack = tolerance
		case system.Subject[b.Constraint].Measure().Compares():
			own.Row, own.Slack = tolerance, tolerance
			switch {
			case counted.ToleranceVaries(k):
				own.Coarse = func(rates []float64) bool {
					_, coarse := counted.Tolerance(k, rates)
					return coarse
				}
			case coarse:
				own.Coarse = func([]float64) bool { return true }
			}
		default:
			own.Row = tolerance
		}
		t.Bounds = append(t.Bounds, own)
	}
	return t
}

// unjudged returns warnings about constraints that cannot be judged if the decisions exceed them,
// because a single row of the smallest group changes the value too much.
func unjudged(system *constraints.System, counted *constraints.Counted) (list []string) {
	for j, c := range system.Subject {
		e := counted.Coarse(j)
		if e == nil {
			continue
		}
		unit := c.Measure().Unit()
		list = append(list, fmt.Sprintf("%s: one %s of the smallest group changes the value by more than %.2g, so that the constraint may end as \"%s\"",
			c, unit, c.MostTolerance(), e.Unjudged(unit)))
	}
	return list
}

const (
	fewRows  = 10   // fewer accepted rows cause a warning
	fewShare = 0.01 // and also a smaller share of the training rows
)

// Few reports whether the model accepts so few training rows that their rates say little, although
// more rows are positive.
func (f *Solution) Few() bool {
	if f.Orders != nil || f.Rates.Outputs() > 1 || f.Accepted == 0 || f.Accepted >= f.Positive {
		return false
	}
	return f.Accepted < fewRows || float64(f.Accepted) < fewShare*float64(f.Rates.Rows())
}

// ExactStep finds the offsets of the scores of the training rows, in float64. resolution is the
// largest relative distance of equal scores. With a confidence, the validation rows choose the
// offsets; held returns their scores.
func (f *Solution) ExactStep(scores []float64, resolution float64, c *Confidence, held func() ([]float64, error)) (err error) {
	if c != nil {
		err = c.exactStep(f, scores, held, resolution)
	} else {
		var smooth []float64
		if smooth, err = f.smooth(scores); err == nil {
			f.Exact, err = f.Rates.Step(f.Target, scores, smooth, resolution)
		}
	}
	if err != nil {
		return err
	}
	if f.Step != nil {
		f.Exact.Before, f.Exact.Moved = f.before, true
	}
	return f.end(decide.Shifted(scores, f.Exact.Offsets, nil, f.Rates.Outputs()), c != nil)
}

// ratesOf returns the rates of the decisions of the training rows' scores with offsets.
func (f *Solution) ratesOf(scores, offsets []float64) []float64 {
	decided, d := make([]int32, f.Rates.Rows()), make([]float64, f.Rates.Len())
	decide.Decide(decided, scores, offsets)
	f.Rates.Count(d, decided)
	return d
}

// end describes the decisions of scores with the offsets. tighter says that the bounds of the exact
// step were tighter.
func (f *Solution) end(scores []float64, tighter bool) error {
	if tighter || !f.Rates.AllDecided() { // offsets also change losses
		smooth, err := f.smooth(scores)
		if err != nil {
			return err
		}
		d, g := make([]float64, f.Rates.Len()), make([]float64, len(f.Target.Bounds))
		if err := f.Rates.CountScores(d, scores, smooth); err != nil {
			return err
		}
		f.Target.Excess(g, d)
		f.Exact.Violation = f.Target.Violation(g)
	}
	decided := make([]int32, f.Rates.Rows())
	decide.Decide(decided, scores, nil)
	f.Accepted = 0
	for _, k := range decided {
		f.Accepted += int(k)
	}
	return nil
}

// costlyStep is the smallest increase of the objective by the exact step that causes a warning.
const costlyStep = 0.005

// Warnings returns the warnings about a failed exact step. If the training rows chose the offsets,
// Warnings also reports the cost of the exact step.
func (f *Solution) Warnings(byTraining bool, c Circumstances) (list trainer.Warnings) {
	use := c.toMeetBounds()
	add := func(code trainer.WarningCode, format string, args ...any) {
		list = append(list, trainer.NewWarning(code, fmt.Sprintf(format, args...), use))
	}
	if f.flat {
		add(WarnOneSided, "the model orders nothing: all documents of a query have the same score, so that every pair error is 0.5")
	}
	if f.Few() {
		add(WarnFewPositive, "the model accepts only %d of %d training rows, and %d are positive: the rates of so few rows say little",
			f.Accepted, f.Rates.Rows(), f.Positive)
	}
	if f.Exact.Violation > 0 {
		what := "no threshold"
		switch {
		case f.Orders != nil:
			what = "no ranking that the search found"
		case f.Rates.Outputs() > 1:
			what = "no offsets of the classes that the search found"
		}
		add(WarnUnmet, "%s meets all bounds on the decisions of the training rows: they are missed by %.3g in all", what, f.Exact.Violation)
	}
	if cost := f.Exact.Cost(); byTraining && cost > costlyStep {
		what := "threshold"
		if f.Orders != nil {
			what = "step"
		}
		add(WarnCost, "the exact %s costs %.1f points of the objective (%s)", what, 100*cost, f.System.Minimize)
	}
	return list
}

// Costly reports whether the exact step costs much of the objective.
func (f *Solution) Costly() bool { return f.Exact.Cost() > costlyStep }

// Describe adds the exact step and the shifts of the best round to the outcome.
func (f *Solution) Describe(o *results.Outcome) {
	switch {
	case f.OnScores != nil:
		o.Thresholds = f.OnScores.describe()
		return
	case f.Orders != nil && f.Weights != nil:
		o.RankStep = &results.RankStep{Mixed: true}
	case f.Orders != nil && f.Exact.Moved:
		o.RankStep = &results.RankStep{Weight: f.Column, Change: f.Exact.Offsets[0]}
	case f.Orders != nil:
	case f.Rates.Outputs() == 1:
		o.Threshold = 0 - f.Exact.Offsets[0] // never -0
	default:
		for _, b := range f.Exact.Offsets {
			o.Offsets = append(o.Offsets, 0-b)
		}
	}
	o.WeightStep = f.Step
	o.ThresholdCost = f.Exact.Cost()
	o.BoundShifts = f.Rounds.Rounds[f.Rounds.Best].Shifts
}
