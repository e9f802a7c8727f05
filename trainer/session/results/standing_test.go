package results

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"ppal/constraints"
)

// value returns a pointer to x.
func value[T any](x T) *T { return &x }

// TestStanding checks the rating and the words of every state, with and without held-out rows
// beyond the bound.
func TestStanding(t *testing.T) {
	pairs := func(_ *Outcome, c *ConstraintOutcome) { c.Constraint = "gap(cross_pair_error, race) <= 0.1" }
	low := &constraints.Exceeded{Groups: []string{"race=Other", "race=White"}, Rows: []int{7, 900}, Values: []float64{0.2857, 0.1}, By: 0.08, MinRows: 50}
	for _, test := range []struct {
		state      constraints.State
		train      float64
		validation *float64
		test       *float64
		change     func(o *Outcome, c *ConstraintOutcome)
		rating     Rating
		word       string
		sentence   string
	}{
		{constraints.Met, 0.1, value(0.1), value(0.0999), nil, Good, "met", ""},
		{constraints.Met, 0.09, nil, nil, nil, Good, "met", ""},
		{constraints.MetToOneRow, 0.10004, nil, value(0.1), nil, Good, "met to one row", ""},
		{constraints.Met, 0.1, value(0.1), value(0.10001), nil, TrainOnly, "met on the training rows only",
			"gap(fpr, race) <= 0.1 is met on the training rows, and missed on the test rows (0.10001)."},
		{constraints.MetToOneRow, 0.10004, value(0.2), value(0.3), nil, TrainOnly, "met to one row, on the training rows only",
			"gap(fpr, race) <= 0.1 is met to one row on the training rows, and missed on the validation rows (0.2000) and the test rows (0.3000)."},
		{constraints.MetToTolerance, 0.1005, nil, nil, nil, Good, "met to 0.001", ""},
		{constraints.MetToTolerance, 0.1005, nil, value(0.2), nil, TrainOnly, "met to 0.001, on the training rows only",
			"gap(fpr, race) <= 0.1 is met to 0.001 on the training rows, and missed on the test rows (0.2000)."},
		{constraints.NotMet, 0.19, nil, value(0.05), nil, Unmet, "not met",
			"gap(fpr, race) <= 0.1 is missed by race=Other (0.2857 of 7 rows) and race=White (0.1000 of 900 rows)."},
		{constraints.NotJudged, 0.18, nil, value(0.05), nil, Unmet, "cannot be judged",
			"gap(fpr, race) <= 0.1 cannot be judged: group race=Other has 7 rows; use min 50."},
		{constraints.NotJudged, 0.18, nil, nil, func(_ *Outcome, c *ConstraintOutcome) { c.Exceeded = nil }, Unmet, "cannot be judged",
			"gap(fpr, race) <= 0.1 cannot be judged: there are no rows to count."},
		{constraints.NotMet, 0.19, nil, nil, pairs, Unmet, "not met",
			"gap(cross_pair_error, race) <= 0.1 is missed by race=Other (0.2857 of 7 pairs) and race=White (0.1000 of 900 pairs)."},
		{constraints.NotJudged, 0.18, nil, nil, pairs, Unmet, "cannot be judged",
			"gap(cross_pair_error, race) <= 0.1 cannot be judged: group race=Other has 7 pairs; use min 50."},
		{constraints.Met, 0.1, nil, value(0.1), func(_ *Outcome, c *ConstraintOutcome) { c.Promise = &Promise{} }, Unmet, "not promised for new rows", ""},
		{constraints.Met, 0.1, nil, value(0.1), func(_ *Outcome, c *ConstraintOutcome) { c.Promise = &Promise{Holds: true} }, Good, "met", ""},
		{constraints.NotMet, 0.2, nil, value(0.1), func(o *Outcome, c *ConstraintOutcome) {
			o.BoundsOn, c.SurrogateMet = constraints.OnSurrogate, value(true)
		}, TrainOnly, "surrogate met", ""},
		{constraints.Met, 0.1, nil, value(0.1), func(o *Outcome, c *ConstraintOutcome) {
			o.BoundsOn, c.SurrogateMet = constraints.OnSurrogate, value(false)
		}, Unmet, "surrogate not met", ""},
		{constraints.Met, 0.1, nil, nil, func(o *Outcome, c *ConstraintOutcome) {
			o.BoundsOn, c.SurrogateMet, o.Objective = constraints.OnSurrogate, value(true), ObjectiveOutcome{Name: "error[a]", SplitValues: SplitValues{Train: value(1.0)}}
		}, TrainOnly, "surrogate met, class given up", ""},
		{"", 0.1, nil, nil, func(_ *Outcome, c *ConstraintOutcome) { c.Met = true }, Good, "met", ""}, // of an earlier version
		{"", 0.11, nil, nil, func(_ *Outcome, c *ConstraintOutcome) { c.Met = true }, Good, "met to one row", ""},
		{"", 0.3, nil, nil, func(_ *Outcome, c *ConstraintOutcome) { c.Met, c.Exceeded = false, nil }, Unmet, "not met", ""},
	} {
		o := &Outcome{BoundsOn: constraints.OnDecisions, Constraints: []ConstraintOutcome{{Constraint: "gap(fpr, race) <= 0.1", Bound: 0.1, State: test.state, Met: test.state.Holds(),
			SplitValues: SplitValues{&test.train, test.validation, test.test}}, {Constraint: "l1(weights) <= 4", Bound: 4, State: constraints.MetToTolerance,
			SplitValues: SplitValues{value(4.001), value(4.001), value(4.001)}}}}
		c := &o.Constraints[0]
		if !test.state.Holds() {
			c.Exceeded = low
		}
		if test.change != nil {
			test.change(o, c)
		}
		s := o.Standing(c)
		if s.Rating() != test.rating || s.String() != test.word || o.Explain(c) != test.sentence {
			t.Errorf("%+v:\n%d, %q, %q, want\n%d, %q, %q", test, s.Rating(), s, o.Explain(c), test.rating, test.word, test.sentence)
		}
		if o.BoundsOn != constraints.OnSurrogate && (o.Rating() != test.rating || o.Met() != (test.rating != Unmet)) {
			t.Errorf("%+v: the rating of the outcome is %d", test, o.Rating())
		}
	}
}

// TestNumberBesideBound formats values near a bound: the text is on the same side of the bound as
// the value.
func TestNumberBesideBound(t *testing.T) {
	for want, v := range map[string]float64{"0.01002": 0.01002, "0.0100": 0.01, "0.0103": 0.0103, "0.0099": 0.0099, "0.0100003": 0.01000031} {
		c := &ConstraintOutcome{Bound: 0.01}
		if got := c.Number(&v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		c := &ConstraintOutcome{Bound: math.Round(1e6*rng.Float64()) / 1e6, AtLeast: rng.IntN(2) == 0}
		v := c.Bound + (rng.Float64()-0.5)*math.Pow(10, -8*rng.Float64())
		text := c.Number(&v)
		shown, err := strconv.ParseFloat(text, 64)
		if err != nil || (c.Over(shown) > Rounding) != (c.Over(v) > Rounding) || math.Abs(shown-v) > 1e-4 {
			t.Fatalf("%v beside %v: %s, %v", v, c.Bound, text, err)
		}
	}
	if text := (&ConstraintOutcome{}).Number(nil); text != "" {
		t.Errorf("no value: %q", text)
	}
}

// Unmet judges bounds on decisions by the decisions, and bounds on surrogates by the surrogates.
func TestUnmet(t *testing.T) {
	yes, no := value(true), value(false)
	for _, c := range []struct {
		on        constraints.BoundsOn
		decisions bool
		surrogate *bool
		met       bool
		name      string
	}{
		{on: constraints.OnDecisions, decisions: true, met: true, name: "met"},
		{on: constraints.OnDecisions, decisions: false, met: false, name: "missed"},
		{on: constraints.OnDecisions, decisions: false, surrogate: yes, met: false, name: "the surrogate does not help"},
		{on: constraints.OnSurrogate, decisions: false, surrogate: yes, met: true, name: "surrogate met"},
		{on: constraints.OnSurrogate, decisions: true, surrogate: no, met: false, name: "surrogate missed"},
	} {
		o := &Outcome{BoundsOn: c.on, Constraints: []ConstraintOutcome{{Met: c.decisions, SurrogateMet: c.surrogate}}}
		if o.Met() != c.met || len(o.Unmet()) == 1 == c.met {
			t.Errorf("%s: met %v, want %v", c.name, o.Met(), c.met)
		}
	}
}
