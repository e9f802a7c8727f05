package decide_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/internal/decide"
	"ppal/internal/require"
	"ppal/trainer/problem"
)

// drawn returns n rows with tied scores in count groups.
func drawn(rng *rand.Rand, n, count int) *binary {
	b := &binary{count: count}
	for i := range n {
		b.labels, b.groups = append(b.labels, rng.IntN(2)), append(b.groups, i%count)
		b.scores = append(b.scores, math.Round(4*(rng.NormFloat64()+float64(b.labels[i])+0.5*float64(i%count)))/4)
	}
	return b
}

// of32 converts group numbers.
func of32(groups []int) (list []int32) {
	for _, g := range groups {
		list = append(list, int32(g))
	}
	return list
}

// enumerated returns the best result of a threshold for each group, by trying all of them.
func (b *binary) enumerated(t *testing.T, target *decide.Target, shared bool) (violation, objective float64) {
	rates, groups := b.rates(t), of32(b.groups)
	violation, objective = math.Inf(1), math.Inf(1)
	offsets := make([]float64, b.count)
	var try func(g int)
	try = func(g int) {
		if g == b.count {
			v, o := result(rates, target, decide.Shifted(b.scores, offsets, groups, 1), nil)
			if v < violation-1e-9 || v <= violation+1e-9 && o < objective {
				violation, objective = v, o
			}
			return
		}
		if shared && g > 0 {
			offsets[g] = offsets[0]
			try(g + 1)
			return
		}
		values := []float64{-100}
		for i, s := range b.scores {
			if shared || b.groups[i] == g {
				values = append(values, s+0.125)
			}
		}
		slices.Sort(values)
		for _, v := range slices.Compact(values) {
			offsets[g] = 0 - v + 0.0625
			try(g + 1)
		}
	}
	try(0)
	return violation, objective
}

// The thresholds of one and of two groups are the best of all thresholds, whether or not some meet
// the bounds. Those of three groups are the best, too, in nearly all cases, and no thresholds are
// below the bound of the objective. An affine map of the scores changes no decision.
func TestByGroupIsTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	behind := 0
	for trial := range 240 {
		count := 1 + trial%3
		b := drawn(rng, 6+rng.IntN(30/count), max(2, count))
		target := b.gap(0.3*rng.Float64(), 0.1*float64(rng.IntN(2)))
		if trial%2 == 0 { // often no thresholds meet it
			low := make([]float64, b.count+1)
			low[0] = -1
			c := make([]float64, b.count+1)
			c[0], c[1], c[b.count] = 0.5, 0.5, 1
			target.Bounds = append(target.Bounds, decide.Bound{AffineRow: problem.AffineRow{Coefficients: low, Bound: -0.7}},
				decide.Bound{AffineRow: problem.AffineRow{Coefficients: c, Bound: 0.6}})
		}
		groups := of32(b.groups)
		if count == 1 {
			groups = nil
		}
		rates := b.rates(t)
		found := require.Value(decide.ByGroup(rates, target, b.scores, groups, b.count, 1e-12))(t)
		v, o := result(rates, target, decide.Shifted(b.scores, found.Offsets, groups, 1), nil)
		if math.Abs(v-found.Violation) > 1e-9 || math.Abs(o-found.After) > 1e-9 || found.Proven != (count < 3) {
			t.Fatalf("trial %d: the offsets give %v and %v, the result is %+v", trial, v, o, found)
		}
		wantV, wantO := b.enumerated(t, target, count == 1)
		if found.Bound > wantO+1e-9 && wantV <= 0 {
			t.Errorf("trial %d: the bound %v is above the least objective %v", trial, found.Bound, wantO)
		}
		if same := math.Abs(v-wantV) < 1e-9 && math.Abs(o-wantO) < 1e-9; !same && count < 3 {
			t.Fatalf("trial %d: violation %v and objective %v, the best are %v and %v", trial, v, o, wantV, wantO)
		} else if !same {
			behind++
			t.Logf("trial %d: %v %v best %v %v", trial, v, o, wantV, wantO)
		}
		moved := make([]float64, len(b.scores))
		for i, s := range b.scores {
			moved[i] = 0.001*s + 12
		}
		again := require.Value(decide.ByGroup(rates, target, moved, groups, b.count, 1e-12))(t)
		one, two := make([]int32, len(moved)), make([]int32, len(moved))
		decide.Decide(one, decide.Shifted(b.scores, found.Offsets, groups, 1), nil)
		decide.Decide(two, decide.Shifted(moved, again.Offsets, groups, 1), nil)
		if !slices.Equal(one, two) {
			t.Fatalf("trial %d: an affine map changes decisions", trial)
		}
	}
	if behind > 4 {
		t.Errorf("3 groups: behind the best thresholds in %d of 80 trials", behind)
	}
}
