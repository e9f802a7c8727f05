package constraints_test

import (
	"testing"

	"ppal/constraints"
)

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
