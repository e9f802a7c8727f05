package constraints_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
)

// TestGo compares constraints that are built in Go with constraints that are parsed from text.
func TestGo(t *testing.T) {
	shirt := func(...string) constraints.Rate { return constraints.TPR("shirt") }
	for _, test := range []struct {
		c    constraints.Constraint
		want string
	}{
		{constraints.FPR().AtMost(0.05), "fpr <= 0.05"},
		{constraints.Recall("shirt").AtLeast(0.9), "recall[shirt] >= 0.9"},
		{constraints.FNR("sex=Female", "race=*").AtMost(0.3), "fnr[sex=Female, race=*] <= 0.3"},
		{constraints.Error("*").AtMost(0.2), "error[*] <= 0.2"},
		{constraints.Loss("Ankle boot").AtMost(2), `loss["Ankle boot"] <= 2`},
		{constraints.TNR("<=50K").AtLeast(0.5), "tnr[<=50K] >= 0.5"},
		{constraints.Precision("a]b").AtLeast(0.5), `precision["a]b"] >= 0.5`},
		{constraints.Accuracy().AtLeast(0.5), "accuracy >= 0.5"},
		{constraints.Gap(constraints.PositiveRate, "sex").AtMost(0.01), "gap(positive_rate, sex) <= 0.01"},
		{constraints.Gap(constraints.TPR, "sex", "race").MinRows(100).AtMost(0.02), "gap(tpr, sex*race, min 100) <= 0.02"},
		{constraints.Gap(shirt, "sex").AtMost(0.02), "gap(tpr[shirt], sex) <= 0.02"},
		{constraints.Ratio(constraints.PositiveRate, "sex").AtLeast(0.8), "ratio(positive_rate, sex) >= 0.8"},
		{constraints.Excess(constraints.Error, constraints.GroupsName).AtMost(0.01), "excess(error, groups) <= 0.01"},
		{constraints.Distance(constraints.TPR, "sex", "race").MinRows(100).AtMost(0.02), "distance(tpr, sex*race, min 100) <= 0.02"},
		{constraints.L1().AtMost(10), "l1(weights) <= 10"},
		{constraints.Churn("old.csv").AtMost(0.02), "churn(old.csv) <= 0.02"},
	} {
		if test.c.String() != test.want {
			t.Errorf("%s, want %s", test.c, test.want)
		}
		if c, err := constraints.Parse(test.want); err != nil || c != test.c {
			t.Errorf("Parse(%q) is %+v, %v, want %+v", test.want, c, err, test.c)
		}
	}
	r, err := constraints.ParseRate("fpr[Female]")
	if err != nil || r != constraints.FPR("Female") {
		t.Errorf("ParseRate: %v, %v", r, err)
	}
}

// FuzzParse checks that no text causes a panic, and that the canonical text gives the same
// constraint.
func FuzzParse(f *testing.F) {
	for _, c := range require.ReadCases(f, "testdata/language.txt") {
		f.Add(strings.TrimSuffix(c.Input, "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := constraints.Parse(text)
		if err != nil {
			var e *constraints.SyntaxError
			if !errors.As(err, &e) || e.At < 0 || e.At > len(text) || e.Caret() == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if b := c.Bound(); math.IsNaN(b) || math.IsInf(b, 0) {
			t.Fatalf("%q: the bound is %v", text, b)
		}
		again, err := constraints.Parse(c.String())
		if err != nil || again != c {
			t.Fatalf("%q: Parse(%q) is %+v, %v, want %+v", text, c, again, err, c)
		}
	})
}

// FuzzSelector checks that a constraint with any selector text from a Go program has a canonical
// text that Parse reads.
func FuzzSelector(f *testing.F) {
	f.Add("shirt", "sex")
	f.Add(`a"]b\`, "sex*race")
	f.Add("*", "min 3")
	f.Add("sex=*", "")
	f.Fuzz(func(t *testing.T, value, attribute string) {
		for _, c := range []constraints.Constraint{constraints.FPR(value).AtMost(0.1), constraints.Gap(constraints.FPR, attribute).AtMost(0.1),
			constraints.Excess(constraints.FPR, attribute).AtMost(0.1)} {
			again, err := constraints.Parse(c.String())
			if value != "" && attribute != "" && (err != nil || again != c) {
				t.Fatalf("Parse(%q) is %+v, %v, want %+v", c, again, err, c)
			}
		}
	})
}

// TestBoundsAreFinite checks bounds that only a Go program can pass.
func TestBoundsAreFinite(t *testing.T) {
	p, _ := people()
	for _, b := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, c := range []constraints.Constraint{constraints.FPR().AtMost(b), constraints.Loss().AtMost(b), constraints.L1().AtMost(b)} {
			_, err := constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p)
			if !errors.Is(err, constraints.ErrSyntax) || !strings.Contains(err.Error(), "is not a finite number") {
				t.Errorf("%v: %v", c, err)
			}
		}
	}
}

// TestVacuous checks which bounds every model meets.
func TestVacuous(t *testing.T) {
	for _, test := range []struct {
		c    constraints.Constraint
		want bool
	}{
		{constraints.FPR().AtMost(1), true}, {constraints.FPR().AtMost(0.99), false}, {constraints.FPR().AtLeast(1), false},
		{constraints.FPR().AtLeast(0), true}, {constraints.FPR().AtLeast(0.01), false}, {constraints.FPR().AtMost(0), false},
		{constraints.Loss().AtMost(1), false}, {constraints.L1().AtMost(2), false}, {constraints.Churn("a").AtMost(1), true},
		{constraints.Gap(constraints.FPR, "sex").AtMost(1), true}, {constraints.Gap(constraints.Loss, "sex").AtMost(1), false},
		{constraints.Ratio(constraints.Loss, "sex").AtLeast(0), true},
	} {
		if test.c.Vacuous() != test.want {
			t.Errorf("%v: vacuous %t", test.c, !test.want)
		}
	}
}

// TestMeasures checks measures from a Go program: another bound, the least number of rows, and
// texts of several attributes.
func TestMeasures(t *testing.T) {
	gap := constraints.Gap(constraints.FPR, "sex*race", "age group", "a*")
	if got, want := gap.String(), `gap(fpr, sex*race*"age group"*"a*")`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if gap.MinRows(1) != gap || gap.MinRows(-3) != gap || gap.MinRows(2) == gap {
		t.Error("at least 1 row is not the default")
	}
	c := gap.AtMost(0.1)
	if d := c.WithBound(0.2); d.Bound() != 0.2 || d.Measure() != gap || d.IsAtLeast() || c.Bound() != 0.1 {
		t.Errorf("%v of %v", d, c)
	}
	if text := (constraints.Measure{}).String(); text != "" {
		t.Errorf("no measure: %q", text)
	}
}
