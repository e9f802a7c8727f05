package decide

import (
	"fmt"
	"slices"

	"ppal/internal/vec"
	"ppal/trainer/problem"
)

// Bound is a bound on rates, sum_r Coefficients[r] d_r + Constant <= Bound + Slack.
type Bound struct {
	problem.AffineRow
	// Slack is the largest excess with which the bound counts as met. For a bound on a gap between
	// rates, Slack is the weight of one row of the smallest cell, because a decision changes the
	// gap by the weight of a row. For a bound on one rate, Slack is 0.
	Slack float64
	// Coarse reports, at rates d, that the slack is too much to judge the bound by: decisions that
	// exceed the bound do not meet it, although no data can tell. nil: never.
	Coarse func(d []float64) bool
	// Row is the weight of one row in the bound's value: the resolution of the value.
	Row float64
}

// Target is an objective with bounds, both linear in rates. The coefficients must not change after
// the first search, which lists them by rate.
type Target struct {
	// Objective is the objective on decisions, sum_r Coefficients[r] d_r + Constant. Target ignores
	// its Bound.
	Objective problem.AffineRow
	Bounds    []Bound

	starts []int     // rate r has the entries starts[r] to starts[r+1]
	rows   []int32   // the bound of each entry
	values []float64 // the coefficient of each entry
	terms  []terms   // the entries by bound
}

// terms are the coefficients of a bound that are not 0. Most bounds have at most two.
type terms struct {
	first, second term
	more          []term
}

// term is a coefficient of a bound. In the least rates and the largest rates, one after the other,
// place is that of the rate that makes the bound's value least.
type term struct {
	place int32
	value float64
}

// value returns the sum of the terms for the rates.
func (t *terms) value(rates []float64) float64 {
	sum := t.first.value*rates[t.first.place] + t.second.value*rates[t.second.place]
	for _, m := range t.more {
		sum += m.value * rates[m.place]
	}
	return sum
}

// rounding absorbs the rounding of sums of rates. It is far below the weight of one row.
const rounding = 1e-9

// index prepares the target for searches over rates: it lists the bounds of each rate, once. The
// error wraps problem.ErrSettings.
func (t *Target) index(rates int) error {
	if len(t.starts) == rates+1 {
		return nil
	}
	list := append([]Bound{{AffineRow: t.Objective}}, t.Bounds...)
	for j, b := range list {
		if len(b.Coefficients) != rates || vec.FirstNonFinite(b.Coefficients) >= 0 || !vec.Finite(b.Constant) || !vec.Finite(b.Bound) {
			return fmt.Errorf("decide: %w: bound %d (0 is the objective) has %d coefficients, want finite numbers, one for each of the %d rates",
				problem.ErrSettings, j, len(b.Coefficients), rates)
		}
	}
	starts := make([]int, rates+1)
	for _, b := range t.Bounds {
		for r, c := range b.Coefficients {
			if c != 0 {
				starts[r+1]++
			}
		}
	}
	for r := range rates {
		starts[r+1] += starts[r]
	}
	t.rows, t.values = make([]int32, starts[rates]), make([]float64, starts[rates])
	t.terms = make([]terms, len(t.Bounds))
	next := slices.Clone(starts)
	for j, b := range t.Bounds {
		list, count := &t.terms[j], 0
		for r, c := range b.Coefficients {
			if c == 0 {
				continue
			}
			t.rows[next[r]], t.values[next[r]] = int32(j), c
			next[r]++
			own := term{int32(r), c}
			if c < 0 {
				own.place += int32(rates)
			}
			switch count++; count {
			case 1:
				list.first = own
			case 2:
				list.second = own
			default:
				list.more = append(list.more, own)
			}
		}
	}
	t.starts = starts
	return nil
}

// Tightened returns a copy of the target whose bound j is smaller by amounts[j].
func (t *Target) Tightened(amounts []float64) *Target {
	own := *t
	own.Bounds = slices.Clone(t.Bounds)
	for j, v := range amounts {
		own.Bounds[j].Bound -= v
	}
	return &own
}

// strict returns a copy of the target whose bounds have no slack.
func (t *Target) strict() *Target {
	own := *t
	own.Bounds = slices.Clone(t.Bounds)
	for j := range own.Bounds {
		own.Bounds[j].Slack, own.Bounds[j].Coarse = 0, nil
	}
	return &own
}

// Excess writes g_j = sum_r C_jr d_r + constant_j - bound_j of the rates d.
func (t *Target) Excess(g, d []float64) {
	for j, b := range t.Bounds {
		g[j] = b.Constant - b.Bound + dot(b.Coefficients, d)
	}
}

// Value returns the objective at the rates d.
func (t *Target) Value(d []float64) float64 {
	return t.Objective.Constant + dot(t.Objective.Coefficients, d)
}

// Violation returns the sum of the excesses g beyond the slacks; 0 if the decisions meet all
// bounds.
func (t *Target) Violation(g []float64) float64 {
	sum := 0.0
	for j, v := range g {
		if over := v - t.Bounds[j].Slack; over > rounding {
			sum += over
		}
	}
	return sum
}

// dot returns sum_i a_i b_i.
func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
