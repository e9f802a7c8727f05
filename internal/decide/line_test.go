package decide

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// TestBetter checks the comparison of results at differences of exactly the rounding.
func TestBetter(t *testing.T) {
	one := 1.
	for _, tc := range []struct {
		violation, objective, otherViolation, otherObjective float64
		want                                                 bool
	}{
		{1e-9, 5, 0, 6, true},              // equal violations
		{2e-9, 5, 0, 6, false},             // another violation is larger
		{0, 6, 2e-9, 5, true},              // and smaller
		{0, one - rounding, 0, one, false}, // equal objectives
		{0, 1 - 2*rounding, 0, 1, true},
		{0, 1, 0, 1 - 2*rounding, false},
	} {
		if got := better(tc.violation, tc.objective, tc.otherViolation, tc.otherObjective); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

// TestViolation sums the excesses beyond the slacks by hand. An excess of exactly the rounding is
// none.
func TestViolation(t *testing.T) {
	target := &Target{Bounds: []Bound{{}, {Slack: 0.25}, {Slack: 0.5}, {}}}
	if v := target.Violation([]float64{0.5, 1, 0.5, 1e-9}); v != 1.25 {
		t.Errorf("the violation is %v, want 1/2 + 3/4", v)
	}
}

// TestAgainst checks the best other class and the margin by hand, with ties.
func TestAgainst(t *testing.T) {
	for _, tc := range []struct {
		scores, offsets []float64
		k               int
		want            move
	}{
		{[]float64{1, 1, 4}, []float64{0, 0, 0}, 2, move{margin: 3, from: 0, to: 2}}, // the first of equals
		{[]float64{1, 1, 4}, []float64{0, 0.5, 0.25}, 2, move{margin: 2.75, from: 1, to: 2}},
		{[]float64{1, 2, 4}, []float64{0.5, 0, -3}, 0, move{margin: -0.5, from: 1, to: 0}},
		{[]float64{1, 2, 4}, []float64{0, 0, -1}, 1, move{margin: -1, from: 2, to: 1}},
	} {
		if got := against(tc.scores, tc.offsets, tc.k); got != tc.want {
			t.Errorf("%+v: %+v", tc, got)
		}
	}
}

// TestLineByHand accepts rows with weighted entries and compares the value, the excesses and the
// violation with hand-computed numbers. An excess of exactly the rounding is none.
func TestLineByHand(t *testing.T) {
	entries := [][]Entry{
		{{Rate: 0, Class: 1, Weight: 0.5}, {Rate: 1, Class: 0, Weight: 0.25}, {Rate: 1, Class: 2, Weight: 64}},
		{{Rate: 0, Class: 0, Weight: 1e-9}},
	}
	r := require.Value(NewRates(2, 3, []float64{0, 1}, func(i int) []Entry { return entries[i] }))(t)
	target := &Target{Objective: problem.AffineRow{Coefficients: []float64{3, 2}, Constant: 10},
		Bounds: []Bound{
			{AffineRow: problem.AffineRow{Coefficients: []float64{4, 0}, Bound: 1}, Slack: 0.5},
			{AffineRow: problem.AffineRow{Coefficients: []float64{0, 2}, Bound: 1}},
			{AffineRow: problem.AffineRow{Coefficients: []float64{1, 0}}}, // 1e-9 at the start
			{AffineRow: problem.AffineRow{Coefficients: []float64{-1, 0}, Constant: 2e-9}},
			{AffineRow: problem.AffineRow{Coefficients: []float64{1, 0}, Constant: 1e-9}}, // 2e-9 at the start
		}}
	require.NoError(t, target.index(2))
	l := newLine(r, target)
	l.moves[0], l.moves[1] = move{row: 0, from: 0, to: 1}, move{row: 1, from: 0, to: 1}
	check := func(what string, value, sum float64, violated int, g ...float64) {
		t.Helper()
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-15 }
		if math.Abs(l.value-value) > 1e-12 || math.Abs(l.sum-sum) > 1e-12 || l.violated != violated || !slices.EqualFunc(l.g, g, near) {
			t.Errorf("%s: value %v, sum %v of %d, excesses %v; want %v, %v of %d, %v", what, l.value, l.sum, l.violated, l.g, value, sum, violated, g)
		}
	}
	l.start()
	l.settle()
	// The rates are 1e-9 and 1.25.
	check("reset", 10+3e-9+2.5, 1.5+2e-9, 2, -1.5+4e-9, 1.5, 1e-9, 1e-9, 2e-9)
	l.accept(&l.moves[1]) // the rates are 0 and 1.25
	check("row 2", 12.5, 1.5+2e-9, 2, -1.5, 1.5, 0, 2e-9, 1e-9)
	l.accept(&l.moves[0]) // the rates are 0.5 and 1
	check("row 1", 13.5, 2.5+1e-9, 4, 0.5, 1, 0.5, -0.5+2e-9, 0.5+1e-9)
}

// TestSearchPrefersTheNearest searches thresholds of the rows of TestThresholdByHand, with shifted
// scores. Two thresholds are equally good. The threshold closer to 0 wins, and of equally close
// ones the larger.
func TestSearchPrefersTheNearest(t *testing.T) {
	positive := []int{1, 1, 0, 1, 0, 0}
	r := require.Value(NewRates(6, 2, make([]float64, 3), func(i int) []Entry {
		return []Entry{{Rate: i / 3, Class: 1, Weight: 1. / 3}, {Rate: 2, Class: 1 - positive[i], Weight: 1. / 6}}
	}))(t)
	target := &Target{Objective: problem.AffineRow{Coefficients: []float64{0, 0, 1}}, Bounds: []Bound{
		{AffineRow: problem.AffineRow{Coefficients: []float64{1, -1, 0}, Bound: 1. / 3}}, {AffineRow: problem.AffineRow{Coefficients: []float64{-1, 1, 0}, Bound: 1. / 3}}}}
	for shift, want := range map[float64]float64{0: -1.5, -0.375: 1.875, -0.4375: 1.8125} {
		scores := []float64{2.5, 2, 1, 0.5, -1, -2}
		for i := range scores {
			scores[i] += shift
		}
		e, err := Offsets(r, target, scores, 0)
		if err != nil || e.Offsets[0] != -want || !e.Moved || e.Violation != 0 {
			t.Errorf("shift %v: %+v, %v; want the threshold %v", shift, e, err, want)
		}
	}
	if e, err := Offsets(r, target, []float64{1, 1, -1, 1, -1, -1}, 0); err != nil || e.Moved || math.Signbit(e.Offsets[0]) {
		t.Errorf("%+v, %v: want the threshold 0", e, err)
	}
}

// TestOffsetsOfGoodClasses leaves the offsets of three classes at 0 if no decision is wrong.
func TestOffsetsOfGoodClasses(t *testing.T) {
	r := require.Value(NewRates(3, 3, []float64{1}, func(i int) []Entry { return []Entry{{Class: i, Weight: -1. / 3}} }))(t)
	e, err := Offsets(r, &Target{Objective: problem.AffineRow{Coefficients: []float64{1}}}, []float64{2, 0, 1, 0, 1, 0, 0, 0, 3}, 0)
	if err != nil || e.Moved || !slices.Equal(e.Offsets, []float64{0, 0, 0}) || math.Abs(e.After) > 1e-15 {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestOffsetsNameTheScore checks the row in the error for a score that is not finite.
func TestOffsetsNameTheScore(t *testing.T) {
	r := require.Value(NewRates(2, 3, []float64{0}, func(int) []Entry { return nil }))(t)
	target := &Target{Objective: problem.AffineRow{Coefficients: []float64{1}}}
	for i, row := range []string{"row 1", "row 1", "row 1", "row 2", "row 2", "row 2"} {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			scores := make([]float64, 6)
			scores[i] = v
			if _, err := Offsets(r, target, scores, 0); !errors.Is(err, problem.ErrNonFinite) || !strings.Contains(err.Error(), row) {
				t.Errorf("score %d is %v: %v", i, v, err)
			}
		}
	}
}

// TestDecide checks decisions by hand: ties take the first class, a score of 0 is negative.
func TestDecide(t *testing.T) {
	Decide(nil, nil, nil)
	scores := []float64{1, 1, 0, 0, 2, 3, 5, 4, 5}
	got := []int32{7, 7, 7}
	if Decide(got, scores, nil); !slices.Equal(got, []int32{0, 2, 0}) {
		t.Errorf("without offsets: %v", got)
	}
	if Decide(got, scores, []float64{-1, 0, -1}); !slices.Equal(got, []int32{1, 1, 0}) {
		t.Errorf("with offsets: %v", got)
	}
	if Decide(got, []float64{0, 1, -1}, nil); !slices.Equal(got, []int32{0, 1, 0}) {
		t.Errorf("one score: %v", got)
	}
	if Decide(got, []float64{0, 1, -1}, []float64{-1}); !slices.Equal(got, []int32{0, 0, 0}) {
		t.Errorf("one score with an offset: %v", got)
	}
}

// TestRates stores each distinct list of entries once and counts decisions by hand.
func TestRates(t *testing.T) {
	lists := [][]Entry{
		{{Rate: 0, Class: 1, Weight: 0.5}, {Rate: 1, Class: 0, Weight: 2}},
		{{Rate: 0, Class: 1, Weight: 0.25}, {Rate: 1, Class: 0, Weight: 2}}, // another weight
		{{Rate: 0, Class: 1, Weight: 0.5}, {Rate: 1, Class: 0, Weight: 2}},
	}
	r, err := NewRates(3, 2, []float64{10, 20, 30}, func(i int) []Entry { return lists[i] })
	if err != nil || len(r.kinds) != 2 || r.Rows() != 3 || r.Len() != 3 || r.Classes() != 2 || r.Outputs() != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	d := []float64{-1, -1, -1}
	if r.Count(d, []int32{1, 1, 0}); !slices.Equal(d, []float64{10.75, 22, 30}) {
		t.Errorf("rates %v", d)
	}
	r.Undecided(2)
	r.Undecided(0)
	own := r.at([]float64{5, 6, 7})
	if own.Count(d, []int32{1, 1, 0}); !slices.Equal(d, []float64{5.75, 22, 7}) {
		t.Errorf("rates with undecided ones: %v", d)
	}
	if r.Count(d, []int32{0, 0, 0}); !slices.Equal(d, []float64{10, 26, 30}) {
		t.Errorf("at changes the rates: %v", d)
	}
}

// TestRatesRefuse checks the limits of numbers of rows and classes, and of entries.
func TestRatesRefuse(t *testing.T) {
	one := func(e Entry) func(int) []Entry { return func(int) []Entry { return []Entry{e} } }
	for name, new := range map[string]func() (*Rates, error){
		"no row":              func() (*Rates, error) { return NewRates(0, 2, nil, nil) },
		"one class":           func() (*Rates, error) { return NewRates(1, 1, nil, func(int) []Entry { return nil }) },
		"rate -1":             func() (*Rates, error) { return NewRates(1, 2, []float64{0}, one(Entry{Rate: -1})) },
		"class -1":            func() (*Rates, error) { return NewRates(1, 2, []float64{0}, one(Entry{Class: -1})) },
		"weight NaN":          func() (*Rates, error) { return NewRates(1, 2, []float64{0}, one(Entry{Weight: math.NaN()})) },
		"weight of -infinity": func() (*Rates, error) { return NewRates(1, 2, []float64{0}, one(Entry{Weight: math.Inf(-1)})) },
	} {
		if r, err := new(); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}
