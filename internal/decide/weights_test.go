package decide_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"ppal/internal/decide"
	"ppal/internal/require"
	"ppal/trainer/problem"
)

// TestWeights compares the exact step, and thresholds by group, on rows with whole weights with
// those on rows that stand as often as their weights say: offsets, objective and violation are the
// same, also with all weights multiplied by a number.
func TestWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for trial := range 40 {
		n, classes, groups := 30+rng.IntN(60), 2+trial%2, 1+trial%3
		outputs := classes
		if classes == 2 {
			outputs = 1
		}
		var weights, scores, repeated []float64
		var groupOf, repeatedGroups []int32
		var source []int // the row of each repeated row
		total := make([]float64, groups)
		for i := range n {
			w, g := float64(1+rng.IntN(4)), int32(rng.IntN(groups))
			weights, groupOf = append(weights, w), append(groupOf, g)
			total[g] += w
			own := make([]float64, outputs)
			for k := range own {
				own[k] = rng.NormFloat64()
			}
			scores = append(scores, own...)
			for range int(w) {
				repeated, repeatedGroups, source = append(repeated, own...), append(repeatedGroups, g), append(source, i)
			}
		}
		labels := make([]int, n)
		for i := range labels {
			labels[i] = rng.IntN(classes)
		}
		sum := 0.0
		for _, w := range total {
			sum += w
		}
		// rate 0 is the error, rate 1 + g the share of class 1 in group g
		entries := func(i int) (list []decide.Entry) {
			for c := range classes {
				if c != labels[i] {
					list = append(list, decide.Entry{Rate: 0, Class: c, Weight: 1 / sum})
				}
			}
			return append(list, decide.Entry{Rate: 1 + int(groupOf[i]), Class: 1, Weight: 1 / total[groupOf[i]]})
		}
		target := func() *decide.Target {
			out := &decide.Target{Objective: problem.AffineRow{Coefficients: make([]float64, 1+groups)}}
			out.Objective.Coefficients[0] = 1
			for g := range groups {
				row := make([]float64, 1+groups)
				row[1+g] = 1
				bound := 0.5
				if g > 0 {
					row[g], bound = -1, 0.05
				}
				out.Bounds = append(out.Bounds, decide.Bound{AffineRow: problem.AffineRow{Coefficients: row, Bound: bound}, Slack: 0.01})
			}
			return out
		}
		rates := func(rows int, entries func(i int) []decide.Entry, weights []float64) *decide.Rates {
			r := require.Value(decide.NewRates(rows, classes, make([]float64, 1+groups), entries))(t)
			r.Weigh(weights)
			return r
		}
		scaled := make([]float64, n)
		for i, w := range weights {
			scaled[i] = 0.37 * w
		}
		plain := rates(len(source), func(i int) []decide.Entry { return entries(source[i]) }, nil)
		for _, own := range []*decide.Rates{rates(n, entries, weights), rates(n, func(i int) []decide.Entry {
			list := entries(i)
			for k := range list {
				list[k].Weight /= 0.37
			}
			return list
		}, scaled)} {
			a := require.Value(decide.Offsets(own, target(), scores, 1e-9))(t)
			b := require.Value(decide.Offsets(plain, target(), repeated, 1e-9))(t)
			equal(t, "offsets", a, b)
			c := require.Value(decide.ByGroup(own, target(), scores, groupOf, groups, 1e-9))(t)
			d := require.Value(decide.ByGroup(plain, target(), repeated, repeatedGroups, groups, 1e-9))(t)
			if c.Proven != d.Proven || c.Proven && math.Abs(c.Bound-d.Bound) > 1e-9 || c.Violation <= 0 && c.Bound > c.After+1e-9 {
				t.Errorf("thresholds: proven %t, bound %v, want %t, %v", c.Proven, c.Bound, d.Proven, d.Bound)
			}
			if equal(t, "thresholds", &c.Exact, &d.Exact); t.Failed() {
				t.Fatalf("trial %d: %d classes, %d groups", trial, classes, groups)
			}
		}
	}
}

// equal compares two results.
func equal(t *testing.T, what string, a, b *decide.Exact) {
	t.Helper()
	for k := range a.Offsets {
		if math.Abs(a.Offsets[k]-b.Offsets[k]) > 1e-9 {
			t.Errorf("%s: %v, want %v", what, a.Offsets, b.Offsets)
			break
		}
	}
	if math.Abs(a.After-b.After)+math.Abs(a.Before-b.Before)+math.Abs(a.Violation-b.Violation) > 1e-9 {
		t.Errorf("%s: before %v, after %v, violation %v, want %v, %v, %v", what, a.Before, a.After, a.Violation, b.Before, b.After, b.Violation)
	}
}
