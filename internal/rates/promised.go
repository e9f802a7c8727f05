package rates

import (
	"fmt"
	"math"

	"ppal/constraints"
)

// Promise says whether a constraint holds on new rows at the confidence.
type Promise struct {
	// Holds reports that the validation rows promise the bound.
	Holds bool
	// Supported is the tightest bound that the decisions on the validation rows promise.
	Supported float64
	// Least is the tightest bound that the validation rows could promise with the best decisions:
	// no bad rows in a share, equal rates in a gap or a ratio.
	Least float64
	// Rows is the number of validation rows in the smallest cell of the constraint. Needed is the
	// number of rows in that cell with which the best decisions would promise the bound, or 0 if no
	// number is enough.
	Rows, Needed int
}

// Check returns the promise of each constraint of System.Subject, for counts on validation rows.
func (p *Promises) Check(hits []int) []Promise {
	list := make([]Promise, len(p.system.Subject))
	for j, c := range p.system.Subject {
		own := p.system.Inequalities(j, c.Bound())
		r := &list[j]
		if len(own) == 1 && !p.statistical(own[0]) { // the l1 norm
			*r = Promise{Holds: true, Supported: c.Bound(), Least: c.Bound()}
			continue
		}
		r.Holds = p.every(j, c.Bound(), hits, p.passes)
		r.Supported = p.tightest(j, hits, p.passes)
		r.Least = p.tightest(j, hits, p.possible)
		r.Rows, r.Needed = p.needed(own, hits)
	}
	return list
}

// All reports whether all promises hold: see Check.
func (p *Promises) All(hits []int) bool {
	for _, b := range p.system.Bounds {
		if !p.passes(b, hits) {
			return false
		}
	}
	return true
}

// every reports whether all inequalities of constraint j, with the given bound, pass a test.
func (p *Promises) every(j int, bound float64, hits []int, test func(constraints.Inequality, []int) bool) bool {
	for _, b := range p.system.Inequalities(j, bound) {
		if !test(b, hits) {
			return false
		}
	}
	return true
}

// halvings is the number of steps of the search for a bound between 0 and 1.
const halvings = 40

// tightest returns the tightest bound between 0 and 1 whose inequalities pass a test, or the
// loosest bound if no bound passes.
func (p *Promises) tightest(j int, hits []int, test func(constraints.Inequality, []int) bool) float64 {
	tight, loose := 0.0, 1.0
	if p.system.Subject[j].IsAtLeast() {
		tight, loose = 1, 0
	}
	for range halvings {
		if middle := (tight + loose) / 2; p.every(j, middle, hits, test) {
			loose = middle
		} else {
			tight = middle
		}
	}
	return loose
}

// needed returns the number of rows in the smallest cell of inequalities, and the number of rows
// that this cell needs if the decisions are the best for the bound.
func (p *Promises) needed(list []constraints.Inequality, hits []int) (rows, needed int) {
	rows = math.MaxInt
	for _, b := range list {
		if share, one := p.system.Share(b, hits, p.rows); one {
			if share.Rows < rows {
				rows = share.Rows
			}
			n := umbrellaRows(share.Most, p.tails[b.Constraint])
			if n == 0 {
				return rows, 0
			}
			needed = max(needed, n)
			continue
		}
		least := math.MaxInt
		for k, n := range p.rows {
			if b.Coefficients[k] != 0 {
				least = min(least, n)
			}
		}
		rows = min(rows, least)
		value, above := p.best(b, hits)
		n := rowsFor(least, above, b.Bound-value)
		if n == 0 {
			return rows, 0
		}
		needed = max(needed, n)
	}
	return rows, needed
}

// Sentence returns one sentence about a promise that does not hold: why constraint j is not
// promised, which bound the decisions support, and how many rows the bound needs. It returns "" for
// a promise that holds.
func (p *Promises) Sentence(j int, r Promise) string {
	if r.Holds {
		return ""
	}
	c := p.system.Subject[j]
	percent := fmt.Sprintf("%g%% confidence", 100*p.Confidence)
	start := fmt.Sprintf("%s is not promised for new rows: ", c)
	supported := fmt.Sprintf("the decisions on the validation rows support the bound %.3g with %s; ", r.Supported, percent)
	switch {
	case r.Needed == 0:
		return start + "no number of validation rows is enough for this bound; loosen the bound"
	case r.Needed > r.Rows:
		return start + supported + fmt.Sprintf("the smallest set of validation rows that it counts has %d rows, and the bound needs at least %d rows there"+
			" (use a larger validation share in --split, or more data)", r.Rows, r.Needed)
	}
	return start + supported + "use more validation rows (--split) or a looser bound"
}
