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
	rows   []int     // the bound of each entry
	values []float64 // the coefficient of each entry
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
	t.rows, t.values = make([]int, starts[rates]), make([]float64, starts[rates])
	next := slices.Clone(starts)
	for j, b := range t.Bounds {
		for r, c := range b.Coefficients {
			if c != 0 {
				t.rows[next[r]], t.values[next[r]] = j, c
				next[r]++
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
