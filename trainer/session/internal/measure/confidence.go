package measure

import (
	"slices"

	"ppal/constraints"
	"ppal/internal/decide"
	"ppal/internal/rates"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/results"
)

// Confidence makes bounds hold on new rows. Training uses the training rows, with bounds that are
// tightened for the number of validation rows. The validation rows then choose the threshold and
// promise the bounds. The promises are valid because the trained weights do not depend on the
// validation rows.
type Confidence struct {
	*rates.Promises
	system   *constraints.System
	sample   *constraints.Sample // the validation rows
	rows     int                 // their number
	promises []rates.Promise     // promises of the saved model; nil before the exact step
}

// NewConfidence returns the plan of promises at the level for bounds of the system on new rows.
// sample is the system on the validation rows, whose number is rows.
func NewConfidence(system *constraints.System, sample *constraints.Sample, rows int, level float64) (*Confidence, error) {
	plan, err := rates.NewPromises(system, sample.Rows(), level)
	return &Confidence{Promises: plan, system: system, sample: sample, rows: rows}, err
}

// Tighten returns the amounts by which the training tightens the bounds at the rates of decisions:
// those of the first candidate of walk, so that its tests pass with a high probability.
func (c *Confidence) Tighten(terms []float64) []float64 {
	if c.ByThreshold() {
		return c.tighten(terms, 1)
	}
	return c.tighten(terms, parts[0])
}

// tighten returns part of these amounts: see rates.Promises.Tightened.
func (c *Confidence) tighten(terms []float64, part float64) []float64 {
	amounts := c.Tightened(terms, part)
	for j, b := range c.system.Bounds {
		amounts[j] = b.Bound - amounts[j]
	}
	return amounts
}

// parts are the parts of the tightening with which walk finds its candidates.
var parts = []float64{2, 1.75, 1.5, 1.25, 1, 0.75, 0.5, 0.25, 0}

const (
	safe    = 2   // the rates.Promises.Safety on training rows at which walk begins
	nearest = 64  // the number of thresholds of which approach chooses
	dip     = 0.8 // the part of the safety of the given decisions that decisions on the way need
	dear    = 0.1 // the largest cost of the safe decisions: without a limit, they could reject all rows
)

// walk chooses thresholds by fixed-sequence testing: it tests candidates on validation rows, one
// after the other, and returns the last one before the first one without all promises, or the
// first one if its own promises fail. It sets the promises. The candidates and their order follow
// from the training rows alone, so a promise is wrong only if the first candidate in the order that
// breaks the bound passes.
//
// The candidates are the best thresholds on the training rows under bounds that are tightened by
// less and less. If the first one is not safe, the candidates before are those of approach. find
// returns the candidate of a target, and the scores of the training rows with its offsets. scores
// are those for the first target. hits counts the validation rows, with another offset for all.
func walk[T any](c *Confidence, f *Solution, scores []float64, find func(*decide.Target) (T, []float64, error), hits func(T, float64) ([]int, error)) (chosen T, shift float64, err error) {
	first := true
	test := func(next T, by float64) (kept bool, err error) {
		counted, err := hits(next, by)
		if err != nil {
			return false, err
		}
		if kept = c.All(counted); kept || first {
			chosen, shift, c.promises = next, by, c.Check(counted)
		}
		first = false
		return kept, nil
	}
	for k, part := range parts {
		var next T
		if next, scores, err = find(f.Target.Tightened(c.tighten(f.ratesOf(scores, nil), part))); err != nil {
			return chosen, 0, err
		}
		shifts := []float64{0}
		if k == 0 {
			shifts = append(c.approach(f, scores), 0)
		}
		for _, by := range shifts {
			if kept, err := test(next, by); err != nil || !kept {
				return chosen, shift, err
			}
		}
	}
	return chosen, shift, nil
}

// approach returns offsets of all scores that lead to the given scores from safe decisions on the
// training rows, the nearest ones on the better side. It returns nil if the given scores are safe,
// if the decisions between them and the safe ones are less safe than the given ones, if the safe
// ones cost too much of the objective, and for several scores.
func (c *Confidence) approach(f *Solution, scores []float64) (best []float64) {
	d := f.ratesOf(scores, nil)
	now, least := c.Safety(d), f.Target.Value(d)+dear
	if f.Rates.Outputs() > 1 || !(now < safe) {
		return nil
	}
	sorted := slices.Clone(scores)
	slices.Sort(sorted)
	at := []float64{-1 - sorted[len(sorted)-1]} // accept no row
	for k := nearest - 1; k > 0; k-- {
		i := k * len(sorted) / nearest
		at = append(at, -(sorted[max(0, i-1)]+sorted[i])/2)
	}
	at = append(at, 1-sorted[0])
	up := slices.IndexFunc(at, func(by float64) bool { return by >= 0 })
	down := slices.Clone(at[:up])
	slices.Reverse(down)
	for _, side := range [][]float64{down, at[up:]} {
		for k, by := range side {
			d := f.ratesOf(scores, []float64{by})
			own, value := c.Safety(d), f.Target.Value(d)
			if !(own >= dip*now) || value >= least {
				break
			}
			if own >= safe {
				best, least = slices.Clone(side[:k+1]), value
				break
			}
		}
	}
	slices.Reverse(best)
	return best
}

// exactStep chooses the offsets of the scores and makes the promises. scores are the scores of the
// training rows, and held returns the scores of the validation rows.
//
// If every bound is on a share that is monotone in the threshold, exactStep compares all
// thresholds: the promise holds for each threshold (Tong, Feng and Li, 2018). Otherwise see walk.
func (c *Confidence) exactStep(f *Solution, scores []float64, held func() ([]float64, error), resolution float64) error {
	validation, err := held()
	if err != nil {
		return err
	}
	find := func(target *decide.Target) (*decide.Exact, []float64, error) {
		exact, err := decide.Offsets(f.Rates, target, scores, resolution)
		if err != nil {
			return nil, nil, err
		}
		return exact, decide.Shifted(scores, exact.Offsets, nil, f.Rates.Outputs()), nil
	}
	hits := func(e *decide.Exact, by float64) ([]int, error) { return c.hits(validation, moved(e.Offsets, by)) }
	if !c.ByThreshold() {
		exact, by, err := walk(c, f, scores, find, hits)
		if err != nil {
			return err
		}
		if f.Exact = exact; by != 0 {
			exact.Offsets, exact.Moved = moved(exact.Offsets, by), true
			exact.After = f.Target.Value(f.ratesOf(scores, exact.Offsets))
		}
		return nil
	}
	if f.Exact, _, err = find(f.Target.Tightened(c.Tighten(f.ratesOf(scores, nil)))); err != nil {
		return err
	}
	counted, err := hits(f.Exact, 0)
	if err != nil {
		return err
	}
	exact, err := c.search(f, scores, validation, counted, resolution)
	if err != nil {
		return err
	}
	if exact.Violation <= 0 {
		if f.Exact = exact; exact.Moved {
			counted, err = hits(exact, 0)
		}
	}
	c.promises = c.Check(counted)
	return err
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
	for j, bound := range c.Tightened(rates, 1) {
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

// moved returns the offsets plus by.
func moved(offsets []float64, by float64) []float64 {
	own := slices.Clone(offsets)
	for k := range own {
		own[k] += by
	}
	return own
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
