package certify

import (
	"math"
	"testing"

	"ppal/trainer/problem"
)

// lineModel returns a model in one variable at y with grad f = v and the constraints c_j + a_j d +
// (s/2) d^2 <= level.
func lineModel(r problem.Regularizer, y, v, s, level float64, constraints ...[2]float64) *ballModel {
	b := newBallModel(1, r)
	b.Slice(b.y)[0], b.Slice(b.v)[0], b.curvature, b.level = y, v, s, level
	for j, c := range constraints {
		b.add()
		b.values[j], b.Slice(b.columns[j])[0] = c[0], c[1]
	}
	b.products()
	return b
}

// The pull is v + l a = 3 or, without f, 1, and the weight of d^2/2 is 4 (1 + l) = 8 or 4. Without
// f, r is 0 in its domain.
func TestEvaluateByHand(t *testing.T) {
	l1, box := problem.Regularizer{Kind: problem.L1, Weight: 0.4}, problem.Regularizer{Kind: problem.Box, Lower: 0, Upper: 2.5}
	for name, c := range map[string]struct {
		r                              problem.Regularizer
		weight, z, value, terms, slope float64
	}{
		// z = 3 - 3/8 - 0.4/8, d = -0.425: r = 1.03, -1.275 + 4 d^2 = 0.7225 and l (c - t) = 0.25
		"l1":        {l1, 1, 2.575, 1.03 - 1.275 + 0.7225 + 0.25, 1.03 + 1.275 + 0.7225 + 0.25, 0.25 - 0.425 + 2*0.425*0.425},
		"l1, no f":  {l1, 0, 2.75, -0.25 + 0.125 + 0.25, 0.25 + 0.125 + 0.25, 0.125},
		"box, no f": {box, 0, 2.5, -0.5 + 0.5 + 0.25, 0.5 + 0.5 + 0.25, 0.25 - 0.5 + 0.5},
		"box":       {box, 1, 2.5, -1.5 + 1 + 0.25, 1.5 + 1 + 0.25, 0.25 - 0.5 + 0.5},
	} {
		b := lineModel(c.r, 3, 2, 4, 0.25, [2]float64{0.5, 1})
		value, terms := b.evaluate(c.weight, 4, []float64{1})
		if z := b.Slice(problem.Iterate)[0]; !closeTo(z, c.z) || !closeTo(value, c.value) || !closeTo(terms, c.terms) || !closeTo(b.slope[0], c.slope) {
			t.Errorf("%s: z = %v, value %v, terms %v, slope %v, want %+v", name, z, value, terms, b.slope, c)
		}
	}
}

// The largest constraint, 2 + d + d^2/2, is at least 3/2 in the model. The level leaves a tenth of
// the excess: 1.55. If two constraints are equal, the combination has the sum 1.
func TestRestoreByHand(t *testing.T) {
	for name, c := range map[string]struct {
		constraints [][2]float64
		want, least float64
	}{
		"one": {[][2]float64{{2, 1}}, 1.55, 1.5}, "equal": {[][2]float64{{2, 1}, {2, 1}}, 1.55, 1.5},
		"the second":     {[][2]float64{{0.1, 1}, {2, 1}}, 1.55, 1.5},
		"can be met":     {[][2]float64{{2, 3}}, 0, 2 - 4.5},
		"nearly met":     {[][2]float64{{2, 2}}, 0.2, 0},
		"opposite":       {[][2]float64{{2, 1}, {2, -1}}, 2, 2},
		"not above zero": {[][2]float64{{0, 1}, {-1, 1}}, 0, 0},
	} {
		b := lineModel(problem.Regularizer{}, 3, 7, 1, 9, c.constraints...)
		w := b.restore()
		if name == "not above zero" {
			if w != nil || b.level != 0 {
				t.Errorf("%s: %v, level %v", name, w, b.level)
			}
			continue
		}
		sum := 0.0
		for _, v := range w {
			sum += v
		}
		if !closeTo(sum, 1) || math.Abs(b.level-c.want) > 1e-12 || math.Abs(b.least(1, w)-c.least) > 1e-12 || math.Abs(b.level-c.want) > 1e-12 {
			t.Errorf("%s: %v, level %v, least %v, want %v and %v", name, w, b.level, b.least(1, w), c.want, c.least)
		}
	}
}

// A Newton step on the dual solves H (target - l) = slope with the differences H of the slope.
func TestDualHessianByDifferences(t *testing.T) {
	b := newBallModel(3, problem.Regularizer{})
	copy(b.Slice(b.y), []float64{1, -2, 0.5})
	copy(b.Slice(b.v), []float64{-3, 1, 2})
	b.curvature = 1.5
	for j, a := range [][]float64{{1, 0.5, -1}, {0.25, 2, 1}} {
		b.add()
		copy(b.Slice(b.columns[j]), a)
		b.values[j] = 0.75 + 0.5*float64(j)
	}
	b.products()
	d, l := &negativeDual{b, 1, make([]float64, 2)}, []float64{1, 2}
	d.Value(l)
	model, negative := d.Model(l)
	target, slope := append([]float64{}, model...), append([]float64{}, negative...)
	const h = 1e-5
	for k := range l {
		if target[k] <= 0 {
			t.Fatalf("target %v, want positive numbers", target)
		}
	}
	for i := range l {
		change := slope[i]
		for k := range l {
			at := []float64{1, 2}
			at[k] += h
			d.Value(at)
			up := -b.slope[i]
			at[k] -= 2 * h
			d.Value(at)
			change += (up + b.slope[i]) / (2 * h) * (target[k] - l[k])
		}
		if math.Abs(change) > 1e-6*(1+math.Abs(slope[i])) {
			t.Errorf("the model's slope %d at its minimiser is %v, want 0", i, change)
		}
	}
}
