package session

import (
	"errors"
	"fmt"

	"ppal/constraints"
	"ppal/internal/decide"
	"ppal/internal/promise"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// confidence makes bounds hold on new rows. Training uses the training rows, with bounds that are
// tightened for the number of validation rows. The validation rows then choose the threshold and
// promise the bounds. The promises are valid because the trained weights do not depend on the
// validation rows.
type confidence struct {
	*promise.Plan
	system     *constraints.System
	validation *split
	sample     *constraints.Sample // the validation rows
	promises   []promise.Promise   // promises of the saved model; nil before the exact step
}

// newConfidence returns the plan of the promises; nil if the task asks for no confidence.
func (a *assembly) newConfidence() (*confidence, error) {
	level, d := a.builder.statement.confidence, a.builder.statement.decided()
	if level == 0 {
		return nil, nil
	}
	c := &confidence{system: d.system, validation: a.part(Validation)}
	if c.validation == nil {
		return nil, &OptionError{Option: "confidence", Problem: "needs validation rows, " + takeValidationRows}
	}
	s := a.options.Settings
	if s.Output == trainer.OutputBestValidation || s.Patience > 0 {
		return nil, &OptionError{Option: "confidence", Problem: "needs validation rows that did not choose the weights; leave out --select best-validation and --patience"}
	}
	var err error
	if c.sample, err = d.sampleOf(c.validation); err != nil {
		return nil, err
	}
	c.Plan, err = promise.New(d.system, c.sample.Rows(), level)
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

// tighten returns the amounts by which the bounds are tightened at the rates of decisions.
func (c *confidence) tighten(terms []float64) []float64 {
	amounts := c.Tightened(terms)
	for j, b := range c.system.Bounds {
		amounts[j] = b.Bound - amounts[j]
	}
	return amounts
}

// exactStep chooses the offsets of the scores and makes the promises. scores are the scores of the
// training rows.
//
// If every bound is on a share that is monotone in the threshold, exactStep compares all
// thresholds: the promise holds for each threshold (Tong, Feng and Li, 2018). Otherwise exactStep
// keeps the offsets of the training rows if these offsets keep all promises. Only if a promise
// fails does exactStep search other offsets: a promise is worth more if the validation rows test
// fewer offsets.
func (c *confidence) exactStep(a *assembly, f *solution, scores []float64) error {
	d := make([]float64, f.rates.Len())
	decided := make([]int32, f.rates.Rows())
	decide.Decide(decided, scores, nil)
	f.rates.Count(d, decided)
	var err error
	if f.exact, err = decide.Offsets(f.rates, f.target.Tightened(c.tighten(d)), scores, a.resolution()); err != nil {
		return err
	}
	held, err := a.scores64(c.validation)
	if err != nil {
		return err
	}
	first, err := c.check(held, f.exact.Offsets)
	if err != nil {
		return err
	}
	c.promises = first
	if !c.ByThreshold() && c.kept() {
		return nil
	}
	hits, err := c.hits(held, f.exact.Offsets)
	if err != nil {
		return err
	}
	exact, err := c.search(f, scores, held, hits, a.resolution())
	if err != nil || exact.Violation > 0 {
		return err
	}
	if c.promises, err = c.check(held, exact.Offsets); err != nil {
		return err
	}
	if !c.kept() && !c.ByThreshold() {
		c.promises = first
		return nil
	}
	f.exact = exact
	return nil
}

// search returns the offsets with the least objective on the training rows. The decisions must
// meet the bounds on the training rows and the tightened bounds on the validation rows.
func (c *confidence) search(f *solution, scores, held []float64, hits []int, resolution float64) (*decide.Exact, error) {
	n, m, terms := f.rates.Rows(), c.validation.len(), c.system.Terms()
	training, list := f.sample.Entries(), []decide.Entry(nil)
	validation := c.sample.Entries()
	both, err := decide.NewRates(n+m, f.rates.Classes(), make([]float64, 2*terms), func(i int) []decide.Entry {
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
	target := &decide.Target{Objective: problem.AffineRow{Coefficients: append(append([]float64{}, f.target.Objective.Coefficients...), none...),
		Constant: f.target.Objective.Constant}}
	rates := c.rates(hits)
	for j, bound := range c.Tightened(rates) {
		b := f.target.Bounds[j]
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
func (c *confidence) rates(hits []int) []float64 {
	rates := make([]float64, c.system.Terms())
	for k, n := range c.sample.Rows() {
		if n > 0 {
			rates[k] = float64(hits[k]) / float64(n)
		}
	}
	return rates
}

// hits counts the decisions of the validation rows' scores with offsets.
func (c *confidence) hits(scores, offsets []float64) ([]int, error) {
	decided := make([]int32, c.validation.len())
	decide.Decide(decided, scores, offsets)
	list := make([]int, len(decided))
	for i, k := range decided {
		list[i] = int(k)
	}
	counted, err := c.sample.CountWith(list, make([]float64, c.system.Terms()))
	return counted.Hits, err
}

// check returns the promises of the validation rows' scores with offsets.
func (c *confidence) check(scores, offsets []float64) ([]promise.Promise, error) {
	hits, err := c.hits(scores, offsets)
	if err != nil {
		return nil, err
	}
	return c.Check(hits), nil
}

// kept reports whether all promises hold.
func (c *confidence) kept() bool {
	for _, p := range c.promises {
		if !p.Holds {
			return false
		}
	}
	return true
}

// warnings returns sentences about the bounds without a promise: the bounds' names, the bound that
// the validation rows support, and the number of rows that a promise needs.
func (c *confidence) warnings() (list []string) {
	if c == nil {
		return nil
	}
	for j, p := range c.promises {
		if text := c.Sentence(j, p); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// describe adds the promises to the outcome.
func (c *confidence) describe(o *Outcome) {
	if c == nil {
		return
	}
	o.Confidence = c.Confidence
	for j, p := range c.promises {
		o.Constraints[j].Promise = &Promise{Holds: p.Holds, Supported: p.Supported, Least: p.Least, Rows: p.Rows, Needed: p.Needed}
	}
}
