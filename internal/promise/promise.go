// Package promise decides whether bounds on rates of decisions hold on new rows at a confidence,
// from counts on validation rows that the weights do not depend on.
//
// The probability that a promise is wrong, 1 - confidence, is shared by all inequalities of the
// constraints (Bonferroni), so that all promises of a run hold together. An inequality about one
// share of rows is tested exactly by the binomial distribution. For a threshold on a score, this
// test is the umbrella algorithm of Tong, Feng and Li, 2018. An inequality that combines shares,
// such as a gap of two rates, is tightened by a margin (normal approximation): see
// statistics.Margin.
package promise

import (
	"errors"
	"fmt"
	"math"

	"ppal/constraints"
	"ppal/internal/statistics"
)

// ErrLoss says that decisions on validation rows cannot bound a loss.
var ErrLoss = errors.New("promise: a loss is not a rate of decisions")

// Plan says how bounds are tightened on validation rows.
type Plan struct {
	Confidence float64

	system *constraints.System
	rows   []int   // validation rows of each rate
	tail   float64 // probability that an inequality is wrongly promised
}

// New returns the plan for validation rows. rows[r] is the number of validation rows that rate r of
// the system counts. The error wraps ErrLoss if a constraint bounds a loss.
func New(system *constraints.System, rows []int, confidence float64) (*Plan, error) {
	p := &Plan{Confidence: confidence, system: system, rows: rows}
	statistical := 0
	for _, b := range system.Bounds {
		for k, c := range b.Coefficients {
			if c != 0 && k < len(system.Rates) && system.Rates[k].IsLoss() {
				return nil, fmt.Errorf("%w: %s: bound an error instead", ErrLoss, system.Subject[b.Constraint])
			}
		}
		if p.statistical(b) {
			statistical++
		}
	}
	p.tail = (1 - confidence) / float64(max(1, statistical))
	return p, nil
}

// statistical reports whether an inequality depends on rows. A bound on the l1 norm of the weights
// does not.
func (p *Plan) statistical(b constraints.Inequality) bool {
	return !p.system.L1 || b.Coefficients[len(p.system.Rates)] == 0
}

// ByThreshold reports whether every promise holds for any threshold that the validation rows
// choose, because all inequalities bound shares that are monotone in the threshold.
func (p *Plan) ByThreshold() bool {
	for _, b := range p.system.Bounds {
		if p.statistical(b) && !p.system.Thresholded(b) {
			return false
		}
	}
	return true
}

// Tightened returns the bounds of System.Bounds, tightened for validation rows with rates of about
// terms. A bound that the rows cannot support is returned unchanged.
func (p *Plan) Tightened(terms []float64) []float64 {
	hits := make([]int, len(p.rows))
	for k, n := range p.rows {
		hits[k] = int(math.Round(math.Max(0, math.Min(1, terms[k])) * float64(n)))
	}
	bounds := make([]float64, len(p.system.Bounds))
	for i, b := range p.system.Bounds {
		bounds[i] = b.Bound
		if p.statistical(b) && p.possible(b, hits) {
			bounds[i] = p.tightened(b, hits)
		}
	}
	return bounds
}

// tightened returns the bound of an inequality for counted rates on validation rows.
func (p *Plan) tightened(b constraints.Inequality, hits []int) float64 {
	if p.system.Thresholded(b) {
		share, _ := p.system.Share(b, hits, p.rows)
		if k, ok := statistics.Umbrella(share.Rows, share.Most, p.tail); ok {
			allowed := float64(share.Rows-k) / float64(share.Rows)
			return b.Bound - math.Abs(coefficient(b))*(share.Most-allowed)
		}
		return math.Inf(-1)
	}
	return b.Bound - p.margin(b, hits)
}

// coefficient returns the first coefficient that is not 0.
func coefficient(b constraints.Inequality) float64 {
	for _, c := range b.Coefficients {
		if c != 0 {
			return c
		}
	}
	return 0
}

// margin returns the margin of an inequality on counts. The shares of a precision count the same
// rows, so margin adds their margins.
func (p *Plan) margin(b constraints.Inequality, hits []int) float64 {
	counts := make([]statistics.Count, len(p.rows))
	for k, n := range p.rows {
		counts[k] = statistics.Count{Hits: hits[k], Rows: n}
	}
	if _, one := p.system.Share(b, hits, p.rows); !one {
		return statistics.Margin(b.Coefficients[:len(p.rows)], counts, p.tail)
	}
	sum := 0.0
	for k, c := range b.Coefficients[:len(p.rows)] {
		if c != 0 {
			sum += statistics.Margin([]float64{c}, counts[k:k+1], p.tail)
		}
	}
	return sum
}

// holds reports whether an inequality is promised by counts on validation rows.
func (p *Plan) holds(b constraints.Inequality, hits []int) bool {
	if !p.statistical(b) {
		return true
	}
	if share, one := p.system.Share(b, hits, p.rows); one {
		k, ok := statistics.Umbrella(share.Rows, share.Most, p.tail)
		return ok && share.Hits <= share.Rows-k
	}
	counts := make([]statistics.Count, len(p.rows))
	value := b.Constant
	for k, n := range p.rows {
		counts[k] = statistics.Count{Hits: hits[k], Rows: n}
		if c := b.Coefficients[k]; c != 0 {
			value += c * counts[k].Rate() // NaN without rows
		}
	}
	return value+statistics.Margin(b.Coefficients[:len(p.rows)], counts, p.tail) <= b.Bound
}

// possible reports whether validation rows could promise an inequality with the best decisions: no
// bad rows in a share, or the best rates of a combination.
func (p *Plan) possible(b constraints.Inequality, hits []int) bool {
	if share, one := p.system.Share(b, hits, p.rows); one {
		_, ok := statistics.Umbrella(share.Rows, share.Most, p.tail)
		return ok
	}
	value, margin := p.best(b, hits)
	return value+margin <= b.Bound
}

// best returns the value and the margin of a combination with the best decisions. For a comparison
// of groups all cells have the rate of their pooled rows. For a rate of several cells each cell has
// the rate 0 or 1 that makes the value smallest; the margin is that of the counted rates.
func (p *Plan) best(b constraints.Inequality, hits []int) (value, margin float64) {
	all, total := 0, 0
	for k, n := range p.rows {
		if b.Coefficients[k] != 0 {
			all, total = all+hits[k], total+n
		}
	}
	rate := float64(all) / float64(total)
	compares := p.system.Subject[b.Constraint].Measure().Compares()
	counts := make([]statistics.Count, len(p.rows))
	value = b.Constant
	for k, n := range p.rows {
		c := b.Coefficients[k]
		switch {
		case compares:
			counts[k] = statistics.Count{Hits: int(math.Round(rate * float64(n))), Rows: n}
			if c != 0 {
				value += c * rate
			}
		default:
			counts[k] = statistics.Count{Hits: hits[k], Rows: n}
			value += min(0, c)
		}
	}
	return value, statistics.Margin(b.Coefficients[:len(p.rows)], counts, p.tail)
}
