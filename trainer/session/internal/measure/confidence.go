package measure

import (
	"ppal/constraints"
	"ppal/internal/decide"
	"ppal/internal/promise"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/results"
)

// Confidence makes bounds hold on new rows. Training uses the training rows, with bounds that are
// tightened for the number of validation rows. The validation rows then choose the threshold and
// promise the bounds. The promises are valid because the trained weights do not depend on the
// validation rows.
type Confidence struct {
	*promise.Plan
	system   *constraints.System
	sample   *constraints.Sample // the validation rows
	rows     int                 // their number
	promises []promise.Promise   // promises of the saved model; nil before the exact step
}

// NewConfidence returns the plan of promises at the level for bounds of the system on new rows.
// sample is the system on the validation rows, whose number is rows.
func NewConfidence(system *constraints.System, sample *constraints.Sample, rows int, level float64) (*Confidence, error) {
	plan, err := promise.New(system, sample.Rows(), level)
	return &Confidence{Plan: plan, system: system, sample: sample, rows: rows}, err
}

// Tighten returns the amounts by which the bounds are tightened at the rates of decisions.
func (c *Confidence) Tighten(terms []float64) []float64 {
	amounts := c.Tightened(terms)
	for j, b := range c.system.Bounds {
		amounts[j] = b.Bound - amounts[j]
	}
	return amounts
}

// exactStep chooses the offsets of the scores and makes the promises. scores are the scores of the
// training rows, and held returns the scores of the validation rows.
//
// If every bound is on a share that is monotone in the threshold, exactStep compares all
// thresholds: the promise holds for each threshold (Tong, Feng and Li, 2018). Otherwise exactStep
// keeps the offsets of the training rows if these offsets keep all promises. Only if a promise
// fails does exactStep search other offsets: a promise is worth more if the validation rows test
// fewer offsets.
func (c *Confidence) exactStep(f *Solution, scores []float64, held func() ([]float64, error), resolution float64) error {
	d := make([]float64, f.Rates.Len())
	decided := make([]int32, f.Rates.Rows())
	decide.Decide(decided, scores, nil)
	f.Rates.Count(d, decided)
	var err error
	if f.Exact, err = decide.Offsets(f.Rates, f.Target.Tightened(c.Tighten(d)), scores, resolution); err != nil {
		return err
	}
	validation, err := held()
	if err != nil {
		return err
	}
	first, err := c.check(validation, f.Exact.Offsets)
	if err != nil {
		return err
	}
	c.promises = first
	if !c.ByThreshold() && c.kept() {
		return nil
	}
	hits, err := c.hits(validation, f.Exact.Offsets)
	if err != nil {
		return err
	}
	exact, err := c.search(f, scores, validation, hits, resolution)
	if err != nil || exact.Violation > 0 {
		return err
	}
	if c.promises, err = c.check(validation, exact.Offsets); err != nil {
		return err
	}
	if !c.kept() && !c.ByThreshold() {
		c.promises = first
		return nil
	}
	f.Exact = exact
	return nil
}

// search returns the offsets with the least objective on the training rows. The decisions must
// meet the bounds on the training rows and the tightened bounds on the validation rows.
func (c *Confidence) search(f *Solution, scores, held []float64, hits []int, resolution float64) (*decide.Exact, error) {
	n, m, terms := f.Rates.Rows(), c.rows, c.system.Terms()
	training, list := f.Sample.Entries(), []decide.Entry(nil)
	validation := c.sample.Entries()
	both, err := decide.NewRates(n+m, f.Rates.Classes(), make([]float64, 2*terms), func(i int) []decide.Entry {
		list = list[:0]
		if i < n {
			for _, e := range training(i) {
				list = append(list, decide.Entry(e))
			}
			return list
		}
		for _, e := range validation(i - n) {
			list = append(list, decide.Entry{Rate: terms + e.Rate, Class: e.Class, Weight: e.Weight})
		}
		return list
	})
	if err != nil {
		return nil, err
	}
	none := make([]float64, terms)
	target := &decide.Target{Objective: problem.AffineRow{Coefficients: append(append([]float64{}, f.Target.Objective.Coefficients...), none...),
		Constant: f.Target.Objective.Constant}}
	rates := c.rates(hits)
	for j, bound := range c.Tightened(rates) {
		b := f.Target.Bounds[j]
		if c.system.DependsOnLoss(c.system.Bounds[j].Constraint) { // thresholds keep the l1 norm
			continue
		}
		train, valid := b, decide.Bound{AffineRow: b.AffineRow, Row: b.Row}
		train.Coefficients = append(append([]float64{}, b.Coefficients...), none...)
		valid.Coefficients, valid.Bound = append(append([]float64{}, none...), b.Coefficients...), bound
		target.Bounds = append(target.Bounds, train, valid)
	}
	return decide.Offsets(both, target, append(append([]float64{}, scores...), held...), resolution)
}

// rates returns the rates of hits on the validation rows, as terms of the system.
func (c *Confidence) rates(hits []int) []float64 {
	rates := make([]float64, c.system.Terms())
	for k, n := range c.sample.Rows() {
		if n > 0 {
			rates[k] = float64(hits[k]) / float64(n)
		}
	}
	return rates
}

// hits counts the decisions of the validation rows' scores with offsets.
func (c *Confidence) hits(scores, offsets []float64) ([]int, error) {
	decided := make([]int32, c.rows)
	decide.Decide(decided, scores, offsets)
	list := make([]int, len(decided))
	for i, k := range decided {
		list[i] = int(k)
	}
	counted, err := c.sample.CountWith(list, make([]float64, c.system.Terms()))
	return counted.Hits, err
}

// check returns the promises of the validation rows' scores with offsets.
func (c *Confidence) check(scores, offsets []float64) ([]promise.Promise, error) {
	hits, err := c.hits(scores, offsets)
	if err != nil {
		return nil, err
	}
	return c.Check(hits), nil
}

// kept reports whether all promises hold.
func (c *Confidence) kept() bool {
	for _, p := range c.promises {
		if !p.Holds {
			return false
		}
	}
	return true
}

// Warnings returns warnings about the bounds without a promise: the bounds' names, the bound that
// the validation rows support, and the number of rows that a promise needs.
func (c *Confidence) Warnings() (list trainer.Warnings) {
	if c == nil {
		return nil
	}
	for j, p := range c.promises {
		if text := c.Sentence(j, p); text != "" {
			list = append(list, trainer.Warning{Code: WarnPromise, Text: text})
		}
	}
	return list
}

// Describe adds the promises to the outcome.
func (c *Confidence) Describe(o *results.Outcome) {
	if c == nil {
		return
	}
	o.Confidence = c.Confidence
	for j, p := range c.promises {
		o.Constraints[j].Promise = &results.Promise{Holds: p.Holds, Supported: p.Supported, Least: p.Least, Rows: p.Rows, Needed: p.Needed}
	}
}
