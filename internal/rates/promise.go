package rates

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"ppal/constraints"
)

// ErrLoss says that decisions on validation rows cannot bound a loss.
var ErrLoss = errors.New("promise: a loss is not a rate of decisions")

// Promises decides whether bounds on rates of decisions hold on new rows at a confidence, from
// counts on validation rows that the weights do not depend on.
//
// The constraints that depend on rows share the probability of a wrong promise, 1 - confidence, so
// that all promises of a run hold together. Each inequality of a constraint has the constraint's
// whole share: a constraint is promised if all of its inequalities pass, and a wrong promise needs
// a certain inequality, one that does not hold, to pass (intersection-union test). An inequality
// passes if the upper limit of its value is at most its bound. For one share of rows this is the
// exact binomial test, and for a threshold on a score the umbrella algorithm of Tong, Feng and Li,
// 2018. Limits of combinations, such as a gap of two rates, are those of Estimate.
// docs/reference/confidence.md has the proof, also for promises that the validation rows choose.
type Promises struct {
	Confidence float64

	system *constraints.System
	rows   []int     // validation rows of each rate
	tail   float64   // probability that a constraint is wrongly promised
	tails  []float64 // probability, of each constraint, that an inequality passes wrongly
	cells  [][]bool  // of each constraint: the rates that it counts
	known  map[Count]Estimate
	by     bool // see ByThreshold
}

// NewPromises returns the promises for validation rows. rows[r] is the number of validation rows
// that rate r of the system counts. The error wraps ErrLoss if a constraint bounds a loss.
func NewPromises(system *constraints.System, rows []int, confidence float64) (*Promises, error) {
	p := &Promises{Confidence: confidence, system: system, rows: rows, known: map[Count]Estimate{}, by: true}
	for range system.Subject {
		p.cells = append(p.cells, make([]bool, len(rows)))
	}
	statistical, directions := map[int]bool{}, map[[2]int]bool{}
	for _, b := range system.Bounds {
		for k, c := range b.Coefficients {
			if c == 0 || k >= len(system.Rates) {
				continue
			}
			if system.Rates[k].IsLoss() {
				return nil, fmt.Errorf("%w: %s: bound an error instead", ErrLoss, system.Subject[b.Constraint])
			}
			p.cells[b.Constraint][k] = true
		}
		if !p.statistical(b) {
			continue
		}
		d := system.Direction(b)
		statistical[b.Constraint], directions[[2]int{b.Constraint, d}] = true, true
		p.by = p.by && d != 0
	}
	p.tail = (1 - confidence) / float64(max(1, len(statistical)))
	for j := range system.Subject {
		own := p.tail
		if p.by && directions[[2]int{j, 1}] && directions[[2]int{j, -1}] {
			own /= 2 // too low a threshold breaks some inequalities, too high a threshold others
		}
		p.tails = append(p.tails, own)
	}
	return p, nil
}

// statistical reports whether an inequality depends on rows. A bound on the l1 norm of the weights
// does not.
func (p *Promises) statistical(b constraints.Inequality) bool {
	return !p.system.L1 || b.Coefficients[len(p.system.Rates)] == 0
}

// ByThreshold reports whether every promise holds for any threshold that the validation rows
// choose, because all inequalities bound shares that are monotone in the threshold.
func (p *Promises) ByThreshold() bool { return p.by }

// Tightened returns the bounds of System.Bounds, tightened for validation rows with rates of about
// terms. Decisions on the validation rows that meet the bounds keep the promises if part is 1.
// Other parts tighten a bound by that part of the amount, but a part above 1 leaves the tightened
// bound at least a share of (3 - part)/2 of its distance to the best value. A bound that the rows
// cannot support is returned unchanged.
func (p *Promises) Tightened(terms []float64, part float64) []float64 {
	hits := make([]int, len(p.rows))
	for k, n := range p.rows {
		hits[k] = int(math.Round(math.Max(0, math.Min(1, terms[k])) * float64(n)))
	}
	bounds := make([]float64, len(p.system.Bounds))
	for i, b := range p.system.Bounds {
		bounds[i] = b.Bound
		if !p.statistical(b) || !p.possible(b, hits) {
			continue
		}
		tight := p.tightened(b, hits)
		amount := part * (b.Bound - tight)
		if part > 1 {
			best, _ := p.best(b, hits)
			amount = min(amount, b.Bound-tight+(part-1)/2*(tight-best))
		}
		bounds[i] -= amount
	}
	return bounds
}

// Safety returns the least distance of an inequality's value at terms from its bound, in units of
// the amount by which Tightened tightens the bound; +Inf if no inequality depends on rows, and NaN
// if the rows cannot support one.
func (p *Promises) Safety(terms []float64) float64 {
	least, tight := math.Inf(1), p.Tightened(terms, 1)
	for i, b := range p.system.Bounds {
		if !p.statistical(b) {
			continue
		}
		value := b.Constant
		for k, c := range b.Coefficients {
			value += c * terms[k]
		}
		least = min(least, (b.Bound-value)/(b.Bound-tight[i])) // NaN or an infinity if the amount is 0
		if tight[i] == b.Bound {
			return math.NaN()
		}
	}
	return least
}

// tightened returns the bound of an inequality for counted rates on validation rows.
func (p *Promises) tightened(b constraints.Inequality, hits []int) float64 {
	share, one := p.system.Share(b, hits, p.rows)
	switch {
	case one && p.system.Direction(b) != 0:
		k, _ := Umbrella(share.Rows, share.Most, p.tails[b.Constraint])
		allowed := float64(share.Rows-k) / float64(share.Rows)
		return b.Bound - p.weight(b, share)*(share.Most-allowed)
	case one:
		return b.Bound - p.weight(b, share)*p.estimate(Count{Hits: share.Hits, Rows: share.Rows}).Above
	}
	return b.Bound - p.combined(b, hits).Above
}

// weight returns the change of an inequality's value with its share: the coefficient of a rate, or
// the share of the rows that a precision counts.
func (p *Promises) weight(b constraints.Inequality, share constraints.Share) float64 {
	k := slices.IndexFunc(b.Coefficients, func(c float64) bool { return c != 0 })
	if slices.ContainsFunc(b.Coefficients[k+1:], func(c float64) bool { return c != 0 }) {
		return float64(share.Rows) / float64(p.rows[k])
	}
	return math.Abs(b.Coefficients[k])
}

// estimate returns the estimate of a rate.
func (p *Promises) estimate(c Count) Estimate {
	e, ok := p.known[c]
	if !ok {
		e = c.Estimate(p.tail)
		p.known[c] = e
	}
	return e
}

// combined returns the value of a combination of rates, with its limits. Two rates with opposite
// coefficients, of which one counts some rows of the other, are an excess.
func (p *Promises) combined(b constraints.Inequality, hits []int) Estimate {
	e, c := Estimate{Value: b.Constant}, slices.Clone(b.Coefficients[:len(p.rows)])
	count := func(k int) Count { return Count{Hits: hits[k], Rows: p.rows[k]} }
	for k := range c {
		for l := range c {
			if c[k] != 0 && c[k] == -c[l] && p.system.Within(k, l) {
				e = e.Plus(excessOf(count(k), count(l), p.estimate).Times(c[k]))
				c[k], c[l] = 0, 0
			}
		}
	}
	for k, v := range c {
		if v != 0 {
			e = e.Plus(p.estimate(count(k)).Times(v))
		}
	}
	return e
}

// passes reports whether an inequality passes on counts of validation rows.
func (p *Promises) passes(b constraints.Inequality, hits []int) bool {
	if !p.statistical(b) {
		return true
	}
	if share, one := p.system.Share(b, hits, p.rows); one {
		k, ok := Umbrella(share.Rows, share.Most, p.tails[b.Constraint])
		return ok && share.Hits <= share.Rows-k
	}
	return !p.empty(b) && p.combined(b, hits).Interval().High <= b.Bound
}

// empty reports whether a rate of the inequality has no validation rows.
func (p *Promises) empty(b constraints.Inequality) bool {
	for k, n := range p.rows {
		if n == 0 && b.Coefficients[k] != 0 {
			return true
		}
	}
	return false
}

// possible reports whether validation rows could promise an inequality with the best decisions: no
// bad rows in a share, or the best rates of a combination.
func (p *Promises) possible(b constraints.Inequality, hits []int) bool {
	if share, one := p.system.Share(b, hits, p.rows); one {
		_, ok := Umbrella(share.Rows, share.Most, p.tails[b.Constraint])
		return ok
	}
	value, above := p.best(b, hits)
	return !p.empty(b) && value+above <= b.Bound
}

// best returns the value of an inequality with the best decisions, and for a combination the
// distance to its upper limit. The best share is 0. For a comparison of groups all cells of the
// constraint have the rate of their pooled rows. For a rate of several cells each cell has the rate
// 0 or 1 that makes the value smallest; the distance is that of the counted rates.
func (p *Promises) best(b constraints.Inequality, hits []int) (value, above float64) {
	if share, one := p.system.Share(b, hits, p.rows); one {
		return b.Bound - p.weight(b, share)*share.Most, 0
	}
	if !p.system.Subject[b.Constraint].Measure().Compares() {
		value = b.Constant
		for k := range p.rows {
			value += min(0, b.Coefficients[k])
		}
		return value, p.combined(b, hits).Above
	}
	all, total := 0, 0
	for k, used := range p.cells[b.Constraint] {
		if used {
			all, total = all+hits[k], total+p.rows[k]
		}
	}
	value, pooled := b.Constant, make([]int, len(hits))
	for k, n := range p.rows {
		value += b.Coefficients[k] * float64(all) / float64(max(1, total))
		pooled[k] = int(math.Round(float64(all) / float64(max(1, total)) * float64(n)))
	}
	return value, p.combined(b, pooled).Above
}
