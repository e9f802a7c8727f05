package constraints_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"ppal/constraints"
)

// TestTokens checks texts in which a quoted name stands in the place of a word or a symbol, and the
// limits of numbers. The ^ in caret marks the position of the error; an accepted text has no caret.
func TestTokens(t *testing.T) {
	for _, test := range []struct{ text, caret, problem, hint string }{
		{`fpr "[" a] <= 0.1`, "    ^", `unexpected "["`, "compare with a bound"},
		{`fpr[a "," min 3] <= 0.1`, "      ^", `unexpected ","`, "close with ]"},
		{`l1("weights") <= 1`, "   ^", `unexpected "weights"`, "write l1(weights)"},
		{`gap("gap", sex) <= 0.1`, "    ^", `unexpected "gap"`, "give a rate"},
		{`gap("tpr", sex) <= 0.1`, "    ^", `unexpected "tpr"`, "give a rate"},
		{"gap(gapp, sex) <= 0.1", "    ^", `unknown rate "gapp"`, "the rates are"},
		{`gap(tpr, sex, "min" 3) <= 0.1`, "              ^", `unexpected "min"`, "only min and a number"},
		{`gap(tpr, sex, min "3") <= 0.1`, "              ^", `unexpected "min"`, "only min and a number"},
		{"gap(tpr, sex, min +3) <= 0.1", "              ^", `unexpected "min"`, "only min and a number"},
		{`gap(tpr, "") <= 0.1`, "         ^", "the name is empty", "give an attribute"},
		{"gap(tpr, sex, min 1) <= 0.1", "", "", ""},
		{"gap(tpr, sex, min 2147483647) <= 0.1", "", "", ""},
		{"gap(tpr, sex, min 2147483648) <= 0.1", "                  ^", "2147483648 is not a number of rows", "at least 1"},
		{"gap(tpr, sex, min 99999999999999999999) <= 0.1", "                  ^", "is not a number of rows", "at least 1"},
		{"fpr <", "    ^", "a constraint cannot be strict", "write <="},
		{"fpr >", "    ^", "a constraint cannot be strict", "write >="},
		{"fpr ≤= 0.1", "     ^", `unexpected "="`, "give the bound"},
		{"fpr ≥= 0.1", "     ^", `unexpected "="`, "give the bound"},
		{"fpr <= 100", "       ^", "the bound 100 is more than 1", "did you mean 100%?"},
		{"fpr <= 100.5", "       ^", "the bound 100.5 is more than 1", "give a share"},
		{"fpr <= 1", "", "", ""},
		{"fpr <= 1e999", "       ^", `"1e999" is not a bound`, ""},
		{"gap(loss, sex) <= 2", "", "", ""},
		{"ratio(loss, sex) >= 2", "                    ^", "more than 1, the largest value of ratio(loss, sex)", ""},
	} {
		_, err := constraints.Parse(test.text)
		if test.caret == "" {
			if err != nil {
				t.Errorf("%q: %v", test.text, err)
			}
			continue
		}
		var e *constraints.SyntaxError
		if !errors.As(err, &e) {
			t.Errorf("%q: %v, want a SyntaxError", test.text, err)
			continue
		}
		if got := strings.Split(e.Caret(), "\n")[1]; got != test.caret || !strings.Contains(e.Problem, test.problem) || !strings.Contains(e.Hint, test.hint) {
			t.Errorf("%q: %v at %d, want %q; %q at %d", test.text, e, len(got), test.problem, test.hint, len(test.caret))
		}
	}
	// 0.7 / 100 rounds to another number than 0.007.
	if c, err := constraints.Parse("fpr <= 0.7%"); err != nil || c.Bound() != 0.007 {
		t.Errorf("0.7%% is %v, %v", c.Bound(), err)
	}
}

// TestPartsOfConstraints checks that ParseRate and ParseMeasure read a whole text and report its
// first error.
func TestPartsOfConstraints(t *testing.T) {
	for text, want := range map[string]string{
		"gap(tpr, sex, min 0": "0 is not a number of rows",
		"fpr <= 0.1":          `unexpected "<="`,
	} {
		if m, err := constraints.ParseMeasure(text); err == nil || !strings.Contains(err.Error(), want) || m != (constraints.Measure{}) {
			t.Errorf("ParseMeasure(%q): %v, %v, want %q", text, m, err, want)
		}
	}
	for text, want := range map[string]string{
		`"gap"`:                `unexpected "gap"`,
		"fpr[Female, min 3] x": `unexpected "x"`,
		"fpr[Female, min 3]":   "min is for a constraint on each group",
	} {
		if _, err := constraints.ParseRate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseRate(%q): %v, want %q", text, err, want)
		}
	}
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
