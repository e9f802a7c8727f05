package decide_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/internal/decide"
	"ppal/internal/require"
	"ppal/trainer/problem"
)

// binary describes rows of two classes, each in one group. The rates are the positive rate of every
// group, followed by the error.
type binary struct {
	labels, groups []int
	scores         []float64
	count          int // number of groups
}

func (b *binary) rates(t testing.TB) *decide.Rates {
	t.Helper()
	sizes := make([]int, b.count)
	for _, g := range b.groups {
		sizes[g]++
	}
	n := len(b.labels)
	r := require.Value(decide.NewRates(n, 2, make([]float64, b.count+1), func(i int) []decide.Entry {
		return []decide.Entry{
			{Rate: b.groups[i], Class: 1, Weight: 1 / float64(sizes[b.groups[i]])},
			{Rate: b.count, Class: 1 - b.labels[i], Weight: 1 / float64(n)},
		}
	}))(t)
	return r
}

// gap returns a target that bounds every difference of two groups' positive rates and minimises the
// error.
func (b *binary) gap(bound, slack float64) *decide.Target {
	target := &decide.Target{Objective: problem.AffineRow{Coefficients: make([]float64, b.count+1)}}
	target.Objective.Coefficients[b.count] = 1
	for i := range b.count {
		for j := range b.count {
			if i != j {
				c := make([]float64, b.count+1)
				c[i], c[j] = 1, -1
				target.Bounds = append(target.Bounds, decide.Bound{AffineRow: problem.AffineRow{Coefficients: c, Bound: bound}, Slack: slack, Row: slack})
			}
		}
	}
	return target
}

// result counts the decisions with the given offsets.
func result(r *decide.Rates, target *decide.Target, scores, offsets []float64) (violation, objective float64) {
	decisions, d, g := make([]int32, r.Rows()), make([]float64, r.Len()), make([]float64, len(target.Bounds))
	decide.Decide(decisions, scores, offsets)
	r.Count(d, decisions)
	target.Excess(g, d)
	return target.Violation(g), target.Value(d)
}

// TestThresholdByHand moves the threshold of six rows by hand.
//
//	score   2.5   2     1     0.5  -1   -2
//	label   +     +     -     +     -    -
//	group   a     a     a     b     b    b
//
// At threshold 0, group a accepts 3 of 3 and group b 1 of 3: the gap is 2/3, the error 1/6. A gap
// of 1/3 needs five accepted rows (error 2/6) or one (error 2/6): a threshold of -1.5 or of 2.25.
// The threshold that is closer to 0 wins.
func TestThresholdByHand(t *testing.T) {
	b := &binary{
		labels: []int{1, 1, 0, 1, 0, 0}, groups: []int{0, 0, 0, 1, 1, 1}, count: 2,
		scores: []float64{2.5, 2, 1, 0.5, -1, -2},
	}
	e, err := decide.Offsets(b.rates(t), b.gap(1./3, 0), b.scores, 0)
	require.NoError(t, err)
	if math.Abs(e.Before-1./6) > 1e-12 || math.Abs(e.After-2./6) > 1e-12 || e.Violation != 0 || !e.Moved || math.Abs(e.Cost()-1./6) > 1e-12 {
		t.Errorf("%+v", e)
	}
	if e.Offsets[0] != 1.5 {
		t.Errorf("the threshold is %v, want -1.5, between -1 and -2", -e.Offsets[0])
	}
	// With one row of slack on the bound 0.01, no threshold is better than the two extremes, which
	// accept everybody or nobody.
	e, err = decide.Offsets(b.rates(t), b.gap(0.01, 0), b.scores, 0)
	if err != nil || e.Violation != 0 || math.Abs(e.After-0.5) > 1e-12 {
		t.Errorf("%+v, %v: want the error 1/2 of a constant decision", e, err)
	}
	// Threshold 0 stays if no other threshold is better.
	e, err = decide.Offsets(b.rates(t), b.gap(1, 0), b.scores, 0)
	if err != nil || e.Moved || e.Offsets[0] != 0 || e.Cost() != 0 {
		t.Errorf("%+v, %v: want the threshold 0", e, err)
	}
}

// TestThresholdIsTheBest compares the sorted search with a search over all thresholds, on random
// rows with ties, for two to five groups.
func TestThresholdIsTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 9))
	infeasible := 0
	for trial := range 300 {
		n, grid := 5+rng.IntN(60), 4.
		if trial%30 == 29 { // several stretches of the search
			n, grid = 1000+rng.IntN(500), 1000
		}
		b := &binary{count: 2 + rng.IntN(4)}
		for i := range n {
			b.labels = append(b.labels, rng.IntN(2))
			b.groups = append(b.groups, i%b.count)
			b.scores = append(b.scores, math.Round(grid*(rng.NormFloat64()+float64(b.labels[i])/4))/grid) // with ties
		}
		r, target := b.rates(t), b.gap(0.3*rng.Float64(), 0.2*rng.Float64())
		if trial%4 == 0 { // one group must be accepted, another rejected: often infeasible
			low, high := make([]float64, b.count+1), make([]float64, b.count+1)
			low[0], high[1] = -1, 1
			target.Bounds = append(target.Bounds, decide.Bound{AffineRow: problem.AffineRow{Coefficients: low, Bound: -0.6}},
				decide.Bound{AffineRow: problem.AffineRow{Coefficients: high, Bound: 0.4}})
		}
		e := require.Value(decide.Offsets(r, target, b.scores, 0))(t)
		violation, objective := result(r, target, b.scores, e.Offsets)
		if math.Abs(violation-e.Violation) > 1e-9 || math.Abs(objective-e.After) > 1e-9 {
			t.Fatalf("trial %d: the offsets give violation %v and objective %v, the result says %v and %v", trial, violation, objective, e.Violation, e.After)
		}
		bestViolation, best := math.Inf(1), math.Inf(1)
		sorted := slices.Clone(b.scores)
		slices.Sort(sorted)
		cuts := []float64{sorted[0] - 1, sorted[n-1]}
		for i := range n - 1 {
			cuts = append(cuts, (sorted[i]+sorted[i+1])/2)
		}
		for _, cut := range cuts {
			v, f := result(r, target, b.scores, []float64{-cut})
			if v < bestViolation-1e-9 || v < bestViolation+1e-9 && f < best {
				bestViolation, best = v, f
			}
		}
		if math.Abs(bestViolation-e.Violation) > 1e-9 || math.Abs(best-e.After) > 1e-9 {
			t.Errorf("trial %d: violation %v, objective %v; the best threshold has %v and %v", trial, e.Violation, e.After, bestViolation, best)
		}
		if bestViolation > 0 {
			infeasible++
		}
	}
	if infeasible == 0 || infeasible > 200 {
		t.Errorf("%d of 300 cases are infeasible: the test covers too little", infeasible)
	}
}

// TestSingleRateStaysWithinTheBound checks that a bound on a single rate has no slack. With 20
// negative rows and a bound of 0.05, exactly one negative row is accepted.
func TestSingleRateStaysWithinTheBound(t *testing.T) {
	const negatives = 20
	n := 2 * negatives
	scores := make([]float64, n)
	for i := range scores {
		scores[i] = float64(n - i)
	}
	r := require.Value(decide.NewRates(n, 2, []float64{0, 1}, func(i int) []decide.Entry {
		if i%2 == 0 {
			return []decide.Entry{{Rate: 0, Class: 1, Weight: 1. / negatives}}
		}
		return []decide.Entry{{Rate: 1, Class: 1, Weight: -1. / negatives}}
	}))(t)
	for k, bound := range []float64{0, 0.05, 0.1, 0.15} {
		target := &decide.Target{Objective: problem.AffineRow{Coefficients: []float64{0, 1}},
			Bounds: []decide.Bound{{AffineRow: problem.AffineRow{Coefficients: []float64{1, 0}, Bound: bound}, Row: 1. / negatives}}}
		e := require.Value(decide.Offsets(r, target, scores, 0))(t)
		decisions, d := make([]int32, n), make([]float64, 2)
		decide.Decide(decisions, scores, e.Offsets)
		r.Count(d, decisions)
		if got := math.Round(d[0] * negatives); int(got) != k || e.Violation != 0 {
			t.Errorf("bound %v: %v of %d negatives are accepted, want %d", bound, got, negatives, k)
		}
	}
}

// TestTiesStayTogether checks that scores that differ by less than the resolution get the same
// decision.
func TestTiesStayTogether(t *testing.T) {
	b := &binary{labels: []int{1, 0, 1, 0}, groups: []int{0, 1, 0, 1}, count: 2, scores: []float64{100, 3.0001, 3, -1}}
	for _, resolution := range []float64{0, 1e-5} {
		e := require.Value(decide.Offsets(b.rates(t), b.gap(1, 0), b.scores, resolution))(t)
		between := -e.Offsets[0] > 3 && -e.Offsets[0] < 3.0001
		if between {
			t.Errorf("resolution %v: the threshold %v separates 3 and 3.0001", resolution, -e.Offsets[0])
		}
	}
	b.labels[1], b.labels[2] = 1, 0 // the best decisions now separate the two scores
	e, err := decide.Offsets(b.rates(t), b.gap(1, 0), b.scores, 0)
	if err != nil || !(-e.Offsets[0] > 3 && -e.Offsets[0] < 3.0001) {
		t.Errorf("%+v, %v: want a threshold between 3 and 3.0001", e, err)
	}
	e, err = decide.Offsets(b.rates(t), b.gap(1, 0), b.scores, 1e-5)
	if err != nil || -e.Offsets[0] > 3 && -e.Offsets[0] < 3.0001 {
		t.Errorf("%+v, %v: the threshold separates scores within the resolution", e, err)
	}
}

// classErrors are rows of three classes with a bound on the recall of each class.
func classErrors(t testing.TB, labels []int, recall []float64) (*decide.Rates, *decide.Target) {
	t.Helper()
	classes := len(recall)
	sizes := make([]int, classes)
	for _, y := range labels {
		sizes[y]++
	}
	constants := make([]float64, classes+1)
	constants[classes] = 1
	r := require.Value(decide.NewRates(len(labels), classes, constants, func(i int) []decide.Entry {
		y := labels[i]
		return []decide.Entry{{Rate: y, Class: y, Weight: 1 / float64(sizes[y])}, {Rate: classes, Class: y, Weight: -1 / float64(len(labels))}}
	}))(t)
	target := &decide.Target{Objective: problem.AffineRow{Coefficients: make([]float64, classes+1)}}
	target.Objective.Coefficients[classes] = 1
	for k, b := range recall {
		if b > 0 {
			c := make([]float64, classes+1)
			c[k] = -1
			target.Bounds = append(target.Bounds, decide.Bound{AffineRow: problem.AffineRow{Coefficients: c, Bound: -b}, Row: 1 / float64(sizes[k])})
		}
	}
	return r, target
}

// TestOffsetsOfClasses compares the search over the offsets of three classes with a grid.
func TestOffsetsOfClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for trial := range 20 {
		const n = 90
		labels, scores := make([]int, n), make([]float64, 3*n)
		for i := range n {
			labels[i] = rng.IntN(3)
			for k := range 3 {
				scores[3*i+k] = rng.NormFloat64()
			}
			scores[3*i+labels[i]] += 1.2
		}
		r, target := classErrors(t, labels, []float64{0.8, 0, 0.5})
		e := require.Value(decide.Offsets(r, target, scores, 0))(t)
		violation, objective := result(r, target, scores, e.Offsets)
		if math.Abs(violation-e.Violation) > 1e-9 || math.Abs(objective-e.After) > 1e-9 {
			t.Fatalf("trial %d: counted %v and %v, the result says %v and %v", trial, violation, objective, e.Violation, e.After)
		}
		grid := math.Inf(1)
		for a := -3.; a <= 3; a += 0.1 {
			for b := -3.; b <= 3; b += 0.1 {
				if v, f := result(r, target, scores, []float64{a, b, 0}); v == 0 {
					grid = math.Min(grid, f)
				}
			}
		}
		if e.Violation > 0 || e.After > grid+3.5/n {
			t.Errorf("trial %d: violation %v, error %v; the best of a grid of offsets has %v", trial, e.Violation, e.After, grid)
		}
	}
}

// TestOffsetsRefuse checks the errors for bad input.
func TestOffsetsRefuse(t *testing.T) {
	b := &binary{labels: []int{1, 0}, groups: []int{0, 1}, count: 2, scores: []float64{1, math.NaN()}}
	if _, err := decide.Offsets(b.rates(t), b.gap(1, 0), b.scores, 0); !errors.Is(err, problem.ErrNonFinite) {
		t.Errorf("a score of NaN: %v", err)
	}
	if _, err := decide.Offsets(b.rates(t), b.gap(1, 0), []float64{1}, 0); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("one score for two rows: %v", err)
	}
	short := &decide.Target{Objective: problem.AffineRow{Coefficients: []float64{1}}}
	if _, err := decide.Offsets(b.rates(t), short, []float64{1, 2}, 0); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("an objective of one rate: %v", err)
	}
	for name, e := range map[string]decide.Entry{"rate": {Rate: 1, Weight: 1}, "class": {Class: 2, Weight: 1}, "weight": {Weight: math.Inf(1)}} {
		if _, err := decide.NewRates(1, 2, []float64{0}, func(int) []decide.Entry { return []decide.Entry{e} }); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("a bad %s: %v", name, err)
		}
	}
}

// BenchmarkThreshold measures the search on a million rows of 5 groups, and on 35,000 rows of 77
// groups with 5,852 bounds.
func BenchmarkThreshold(b *testing.B) {
	for _, tc := range []struct {
		rows, groups int
		bound        float64
	}{{1_000_000, 5, 0.01}, {35_000, 77, 0.1}, {35_000, 77, 0.02}} {
		b.Run(fmt.Sprintf("%d rows, %d groups, %v", tc.rows, tc.groups, tc.bound), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			rows := &binary{count: tc.groups}
			for i := range tc.rows {
				label := rng.IntN(2)
				rows.labels, rows.groups = append(rows.labels, label), append(rows.groups, i%tc.groups)
				rows.scores = append(rows.scores, float64(float32(rng.NormFloat64()+float64(label)-0.5)))
			}
			r, target := rows.rates(b), rows.gap(tc.bound, float64(tc.groups)/float64(tc.rows))
			for b.Loop() {
				require.Value(decide.Offsets(r, target, rows.scores, 1e-7))(b)
			}
		})
	}
}

// TestCoarseBounds compares the threshold with all thresholds, where the slack of some bounds is
// too much to judge them by: a result that exceeds such a bound counts half a point worse, and no
// slack makes a larger violation better.
func TestCoarseBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	avoided, accepted := 0, 0
	for range 400 {
		b := &binary{count: 3}
		for range 150 + rng.IntN(300) {
			group := rng.IntN(40) % 3
			if rng.IntN(20) > 0 {
				group = rng.IntN(2) // the third group is small
			}
			label := rng.IntN(2)
			b.labels, b.groups, b.scores = append(b.labels, label), append(b.groups, group), append(b.scores, float64(label)+0.4*float64(group)+1.5*rng.NormFloat64())
		}
		if slices.Index(b.groups, 2) < 0 {
			continue
		}
		rates, target := b.rates(t), b.gap(0.1, 0.02)
		for j := range target.Bounds {
			if c := target.Bounds[j].Coefficients; c[2] != 0 {
				target.Bounds[j].Slack, target.Bounds[j].Coarse = 0.2, func([]float64) bool { return true }
			}
		}
		worth := func(offset float64) (violation, worth float64, unjudged bool) {
			decisions, d, g := make([]int32, rates.Rows()), make([]float64, rates.Len()), make([]float64, len(target.Bounds))
			decide.Decide(decisions, b.scores, []float64{offset})
			rates.Count(d, decisions)
			target.Excess(g, d)
			for j, bound := range target.Bounds {
				unjudged = unjudged || bound.Coarse != nil && g[j] > 1e-9
			}
			worth = target.Value(d)
			if unjudged {
				worth += 0.005
			}
			return target.Violation(g), worth, unjudged
		}
		leastViolation, leastWorth := math.Inf(1), math.Inf(1)
		cheapest := math.Inf(1) // without the price
		for _, s := range append(slices.Clone(b.scores), -100) {
			v, w, unjudged := worth(-s - 1e-9)
			if v < leastViolation-1e-9 || v < leastViolation+1e-9 && w < leastWorth {
				leastViolation, leastWorth = v, w
			}
			if unjudged {
				w -= 0.005
			}
			if v <= 1e-9 {
				cheapest = math.Min(cheapest, w)
			}
		}
		got := require.Value(decide.Offsets(rates, target, b.scores, 1e-12))(t)
		v, w, unjudged := worth(got.Offsets[0])
		if math.Abs(v-leastViolation) > 1e-9 || math.Abs(w-leastWorth) > 1e-9 || unjudged != got.Unjudged || math.Abs(v-got.Violation) > 1e-9 {
			t.Fatalf("%+v: violation %v, worth %v, unjudged %t; the best threshold has %v, %v", got, v, w, unjudged, leastViolation, leastWorth)
		}
		switch {
		case got.Unjudged:
			accepted++
		case got.Violation == 0 && got.After > cheapest+1e-9:
			avoided++
		}
	}
	if avoided < 10 || accepted < 10 {
		t.Errorf("%d thresholds avoid a coarse bound at a price, and %d exceed one: the test checks too little", avoided, accepted)
	}
}
