package decide

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// twoGroups are pairs of documents across two groups, with a document of either group first.
type twoGroups struct{ pairs [2][][2]int }

// count returns the errors of the two kinds of pairs.
func (g *twoGroups) count(scores, _ []float64) ([]float64, error) {
	d := make([]float64, 2)
	for k, list := range g.pairs {
		for _, p := range list {
			switch s := scores[p[0]] - scores[p[1]]; {
			case s < 0:
				d[k] += 1 / float64(len(list))
			case s == 0:
				d[k] += 0.5 / float64(len(list))
			}
		}
	}
	return d, nil
}

// gapTarget bounds the gap of two rates, and minimises their mean.
func gapTarget(bound, slack float64) *Target {
	t := &Target{Objective: problem.AffineRow{Coefficients: []float64{0.5, 0.5}}}
	for _, sign := range []float64{1, -1} {
		t.Bounds = append(t.Bounds, Bound{AffineRow: problem.AffineRow{Coefficients: []float64{sign, -sign}, Bound: bound}, Slack: slack})
	}
	return t
}

// TestOrdersStep compares the step with a search over all shifts of one group: the step meets the
// bound where a shift does, with the shift nearest to 0.
func TestOrdersStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	moved, unmet := 0, 0
	for trial := range 60 {
		n := 10 + rng.IntN(30)
		scores, direction, g := make([]float64, 2*n), make([]float64, 2*n), &twoGroups{}
		bias := 3 * rng.NormFloat64()
		for i := range scores {
			scores[i] = rng.NormFloat64()
			if i >= n {
				scores[i] += bias
				direction[i] = -0.7
			}
		}
		for range 40 {
			g.pairs[0] = append(g.pairs[0], [2]int{rng.IntN(n), n + rng.IntN(n)})
			g.pairs[1] = append(g.pairs[1], [2]int{n + rng.IntN(n), rng.IntN(n)})
		}
		target := gapTarget([]float64{0.02, 0.3}[trial%2], 1./40)
		o := &Orders{Rates: 2, Count: g.count, Direction: direction}
		e := require.Value(o.Step(target, scores, nil, 1e-12))(t)
		at := func(shift float64) (gap float64) {
			own := make([]float64, len(scores))
			for i := range own {
				own[i] = scores[i] + shift*direction[i]
			}
			d, _ := g.count(own, nil)
			return math.Abs(d[0] - d[1])
		}
		bound := target.Bounds[0].Bound + 1./40
		nearest := math.Inf(1)
		for shift := -30.0; shift <= 30; shift += 1. / 256 {
			if at(shift) <= bound+rounding {
				nearest = math.Min(nearest, math.Abs(shift))
			}
		}
		got := math.Abs(e.Offsets[0])
		switch {
		case math.IsInf(nearest, 1):
			unmet++
		case e.Violation > 0 || at(e.Offsets[0]) > bound+rounding || got > nearest+1./64:
			t.Errorf("trial %d: shift %v with the gap %v, want the shift %v (bound %v)", trial, e.Offsets[0], at(e.Offsets[0]), nearest, bound)
		}
		if e.Moved != (e.Offsets[0] != 0) || e.Moved && at(0) <= bound {
			t.Errorf("trial %d: moved %t by %v from the gap %v", trial, e.Moved, e.Offsets[0], at(0))
		}
		if e.Moved {
			moved++
		}
		if fixed, err := (&Orders{Rates: 2, Count: g.count}).Step(target, scores, nil, 1e-12); err != nil || fixed.Moved || fixed.Before != e.Before {
			t.Errorf("trial %d: without a direction: %+v, %v", trial, fixed, err)
		}
	}
	if moved < 20 || unmet > 20 {
		t.Errorf("%d of 60 trials moved, %d have no shift", moved, unmet)
	}
}

// TestOrdersStepErrors checks the refused scores, and a direction that moves nothing.
func TestOrdersStepErrors(t *testing.T) {
	g := &twoGroups{pairs: [2][][2]int{{{0, 1}}, {{1, 0}}}}
	o := &Orders{Rates: 2, Count: g.count, Direction: []float64{0, 0}}
	if _, err := o.Step(gapTarget(0.1, 0), []float64{0, math.NaN()}, nil, 0); err == nil || !strings.Contains(err.Error(), "row 2") {
		t.Error(err)
	}
	if e, err := o.Step(gapTarget(0.1, 0), []float64{1, 0}, nil, 0); err != nil || e.Moved || e.Violation == 0 {
		t.Errorf("%+v, %v", e, err)
	}
	o.Rates = 3
	if _, err := o.Step(gapTarget(0.1, 0), []float64{1, 0}, nil, 0); err == nil {
		t.Error("a target of two rates for three")
	}
}

// TestDescending compares the radix sort with a stable sort by comparisons, for margins with ties,
// both zeros, tiny and huge values, and for a sorter that has sorted another number of moves.
func TestDescending(t *testing.T) {
	rng, s := rand.New(rand.NewPCG(3, 4)), &sorter{}
	special := []float64{0, math.Copysign(0, -1), 5e-324, -5e-324, math.MaxFloat64, -math.MaxFloat64, 1, -1}
	for _, n := range []int{0, 1, 2, 500, 3, 500, 5000} {
		moves := make([]move, n)
		for i := range moves {
			moves[i] = move{margin: rng.NormFloat64() * math.Pow(10, float64(rng.IntN(40)-20)), row: int32(i), from: int32(rng.IntN(3)), to: 1}
			if rng.IntN(4) == 0 {
				moves[i].margin = special[rng.IntN(len(special))]
			}
		}
		want := slices.Clone(moves)
		slices.SortStableFunc(want, func(a, b move) int {
			switch {
			case a.margin > b.margin:
				return -1
			case a.margin < b.margin:
				return 1
			}
			return 0
		})
		s.descending(moves)
		if !slices.Equal(moves, want) {
			t.Errorf("%d moves are in another order than a stable sort gives", n)
		}
	}
}
