package session

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/rates"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/method"
)

// applicants returns n rows of two groups with three features, drawn with the given seed.
func applicants(n int, seed uint64) *Matrix {
	rng := rand.New(rand.NewPCG(seed, 0x636f6e66))
	x := &matrix.Dense{Rows: n, Cols: 3, Data: make([]float64, 3*n)}
	m := &Matrix{Features: x, Attributes: []constraints.Attribute{{Name: "sex", Values: []string{"Female", "Male"}}}}
	for i := range n {
		sex := rng.IntN(2)
		a, b := rng.NormFloat64(), rng.NormFloat64()+0.8*float64(sex)
		copy(x.Data[3*i:], []float64{a, b, float64(sex)})
		y := -1
		if a+b+rng.NormFloat64() > 1.5 {
			y = 1
		}
		m.Labels, m.Attributes[0].Of = append(m.Labels, y), append(m.Attributes[0].Of, sex)
	}
	return m
}

// confident returns the options of a run whose constraints, given as texts, hold with a confidence
// of 95 %.
func confident(t *testing.T, rows Matrices, texts ...string) Options {
	t.Helper()
	var list []constraints.Constraint
	for _, text := range texts {
		c := require.Value(constraints.Parse(text))(t)
		list = append(list, c)
	}
	return Options{Data: rows, Task: Decisions{Minimize: constraints.FNR(), SubjectTo: list, Confidence: 0.95},
		Settings: trainer.Settings{Iterations: 400, RecordEvery: 400}, Device: Device{Kind: CPU, Threads: 2}}
}

// three returns training, validation and test rows of the given sizes.
func three(train, validation, test int) Matrices {
	return Matrices{Train: applicants(train, 1), Validation: applicants(validation, 2), Test: applicants(test, 3)}
}

// TestConfidenceOfRates checks the promises for two rates. The validation rows have at most as many
// wrong decisions as the umbrella allows. The threshold is not stricter than necessary. The
// intervals are those of the test rows.
func TestConfidenceOfRates(t *testing.T) {
	rows := three(3000, 2000, 2500)
	r := trained(t, confident(t, rows, "fpr <= 0.1"))
	o := r.Outcome
	negative := 0
	for _, y := range rows.Validation.Labels {
		if y < 0 {
			negative++
		}
	}
	k, _ := rates.Umbrella(negative, 0.1, 0.05)
	bad := *o.Constraints[0].Validation * float64(negative)
	if allowed := float64(negative - k); bad > allowed+1e-6 || bad < allowed-2 {
		t.Errorf("%v of %d validation rows are false positives, want %v, the umbrella's number", bad, negative, allowed)
	}
	if p := o.Constraints[0].Promise; p == nil || !p.Holds || p.Supported > 0.1 || p.Rows != negative || p.Needed != 29 || o.Confidence != 0.95 {
		t.Errorf("promise %+v of %v", p, o.Confidence)
	}
	if len(o.Unmet()) > 0 {
		t.Errorf("unmet: %+v", o.Unmet())
	}
	c := o.Constraints[0]
	if c.Interval == nil || c.Interval[0] > *c.Test || c.Interval[1] < *c.Test {
		t.Errorf("interval %v of the test rows, whose value is %v", c.Interval, *c.Test)
	}
	rows.Test = nil
	if o := trained(t, confident(t, rows, "fpr <= 0.1")).Outcome; o.Constraints[0].Interval != nil {
		t.Errorf("interval %v of rows that chose the threshold", o.Constraints[0].Interval)
	}
}

// TestConfidenceOfGap checks that a gap is promised with its margin, and that the bound on the
// training decisions is tightened by the margin.
func TestConfidenceOfGap(t *testing.T) {
	require.NoRace(t, "TestConfidenceOfRates runs the same goroutines")
	const bound = 0.12
	with := confident(t, three(3000, 3000, 3000), "gap(positive_rate, sex) <= 0.12", "fpr <= 0.2")
	with.Method = &method.PPALA{Primal: momentum}
	r := trained(t, with)
	c := r.Outcome.Constraints[0]
	if !c.Promise.Holds || !c.Met || !r.Outcome.Constraints[1].Promise.Holds {
		t.Fatalf("%+v, promise %+v", c, c.Promise)
	}
	if *c.Train > bound-0.02 || *c.Validation > bound-0.02 {
		t.Errorf("gaps %v and %v, want them tightened by about 0.035", *c.Train, *c.Validation)
	}
	if margin := c.Promise.Supported - *c.Validation; margin < 0.02 || margin > 0.06 {
		t.Errorf("the supported bound is %v for a gap of %v", c.Promise.Supported, *c.Validation)
	}
	without := confident(t, three(3000, 3000, 3000), "gap(positive_rate, sex) <= 0.12", "fpr <= 0.2")
	task := without.Task.(Decisions)
	task.Confidence = 0
	without.Task, without.Method = task, &method.PPALA{Primal: momentum}
	if plain := trained(t, without).Outcome; plain.Constraints[0].Promise != nil || plain.Confidence != 0 || *plain.Constraints[0].Train < bound-0.02 {
		t.Errorf("without a confidence: %+v", plain.Constraints[0])
	} else if tight, loose := slices.Min(r.Outcome.BoundShifts), slices.Min(plain.BoundShifts); tight > loose-0.015 {
		t.Errorf("the feedback shifts a bound by %v, without a confidence by %v; want it tightened by about 0.035", tight, loose)
	}
}

// TestConfidenceWithFewRows checks that the run does not promise bounds for which the validation
// rows do not suffice. One sentence states the bound that these rows support and the number of rows
// that the given bound needs.
func TestConfidenceWithFewRows(t *testing.T) {
	require.NoRace(t, "TestConfidenceOfRates runs the same goroutines")
	for text, want := range map[string][]string{
		"fpr <= 0.01":                      {"fpr <= 0.01 is not promised", "support the bound 0.0", "299 rows", "--split"},
		"gap(positive_rate, sex) <= 0.005": {"is not promised", "support the bound 0.", "needs at least"},
	} {
		rows := three(1500, 120, 500)
		s := require.Value(New(context.Background(), confident(t, rows, text)))(t)
		r := require.Value(s.Train(context.Background()))(t)
		c := r.Outcome.Constraints[0]
		if c.Promise.Holds || c.Promise.Needed <= c.Promise.Rows || len(r.Outcome.Unmet()) != 1 {
			t.Errorf("%s: promise %+v", text, c.Promise)
		}
		if !c.Met {
			t.Errorf("%s: not met on the training rows: %v", text, *c.Train)
		}
		said := 0
		for _, w := range s.Warnings() {
			if !strings.Contains(w, "promised") {
				continue
			}
			said++
			for _, part := range want {
				if !strings.Contains(w, part) {
					t.Errorf("%q has no %q", w, part)
				}
			}
		}
		if said != 1 {
			t.Errorf("%s: %d sentences among %q", text, said, s.Warnings())
		}
		s.Close()
	}
}

// TestWeightsIgnoreValidation checks that other validation rows of the same sizes change only the
// threshold. A promise is valid only for weights that do not depend on the validation rows.
func TestWeightsIgnoreValidation(t *testing.T) {
	require.NoRace(t, "TestConfidenceOfRates runs the same goroutines")
	weights := func(rows Matrices) []float64 {
		a := buildOptions(t, confident(t, rows, "fpr <= 0.1"))
		r := require.Value(a.Optimize(context.Background(), a.options.Settings))(t)
		require.Value(a.Certify(r))(t)
		return a.iterate()
	}
	rows := three(2000, 1500, 500)
	one := weights(rows)
	x := rows.Validation.Features.(*matrix.Dense)
	for i := range x.Data {
		x.Data[i] = 3 * math.Sin(float64(i))
	}
	other := weights(rows)
	last := len(one) - 1 // the bias
	if !slices.Equal(one[:last], other[:last]) {
		t.Errorf("the weights are %v with some validation rows and %v with others", one[:last], other[:last])
	}
	if one[last] == other[last] {
		t.Error("the threshold does not depend on the validation rows")
	}
}

// TestConfidenceRefused checks the errors for a confidence that the run does not support.
func TestConfidenceRefused(t *testing.T) {
	full := three(300, 200, 100)
	for name, c := range map[string]struct {
		change func(o *Options, d *Decisions)
		option string
		text   string
	}{
		"no probability":  {func(_ *Options, d *Decisions) { d.Confidence = 1.5 }, "confidence", "between 0 and 1"},
		"not a number":    {func(_ *Options, d *Decisions) { d.Confidence = math.NaN() }, "confidence", "between 0 and 1"},
		"surrogates":      {func(_ *Options, d *Decisions) { d.BoundsOn = constraints.OnSurrogate }, "confidence", "--bounds-on decisions"},
		"no rows":         {func(o *Options, _ *Decisions) { o.Data = Matrices{Train: full.Train, Test: full.Test} }, "confidence", "--split"},
		"a loss":          {func(_ *Options, d *Decisions) { d.SubjectTo[0] = constraints.Loss().AtMost(0.4) }, "confidence", "rates of decisions"},
		"best-validation": {func(o *Options, _ *Decisions) { o.Settings.Output = trainer.OutputBestValidation }, "confidence", "--select best-validation"},
		"patience":        {func(o *Options, _ *Decisions) { o.Settings.Patience = 3 }, "confidence", "--patience"},
	} {
		o := confident(t, full, "fpr <= 0.1")
		d := o.Task.(Decisions)
		c.change(&o, &d)
		o.Task = d
		_, err := New(context.Background(), o)
		var refused *OptionError
		if !errors.As(err, &refused) || refused.Option != c.option || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want an *OptionError of %s with %q", name, err, c.option, c.text)
		}
	}
}

// TestConfidenceOfPublished checks that a published problem with bounds on decisions accepts a
// confidence.
func TestConfidenceOfPublished(t *testing.T) {
	require.NoRace(t, "TestConfidenceOfRates runs the same goroutines")
	task := DemographicParity{Epsilon: []float64{0.2}, BoundsOn: constraints.OnDecisions, Confidence: 0.9}
	a := buildOptions(t, onTable(task, Table{Dataset: "synthetic-adult"}, nil))
	if a.confidence == nil || a.confidence.Confidence != 0.9 {
		t.Errorf("%+v, want a confidence of 0.9", a.confidence)
	}
}
