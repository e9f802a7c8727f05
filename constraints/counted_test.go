package constraints_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/constraints"
	"ppal/internal/require"
)

// systemOf returns the system of the constraints with the objective error.
func systemOf(t *testing.T, p *constraints.Population, texts ...string) *constraints.System {
	t.Helper()
	var subject []constraints.Constraint
	for _, text := range texts {
		c := require.Value(constraints.Parse(text))(t)
		subject = append(subject, c)
	}
	return require.Value(constraints.NewSystem(constraints.Error(), subject, p))(t)
}

// TestCountWithSmoothValues checks that a loss and the l1 norm come from the smooth values, with
// their tolerances, and that the other rates come from the decisions.
func TestCountWithSmoothValues(t *testing.T) {
	p, decisions := people()
	s := systemOf(t, p, "loss <= 0.5", "l1(weights) <= 4", "tpr >= 0.8", "loss[race=*] <= 2", "l1(weights) <= 4.001")
	sample := require.Value(s.On(p))(t)
	// The rates are the agreement, the loss, tpr, the losses of race a, b and c, and the norm.
	smooth := []float64{9, 0.5009, 9, 1, 3, 2, 4.0041}
	c := require.Value(sample.CountWith(decisions, smooth))(t)
	if want := []float64{0.7, 0.5009, 0.8, 1, 3, 2, 4.0041}; !cmp.Equal(c.Terms, want) {
		t.Errorf("terms %v, want %v", c.Terms, want)
	}
	for j, want := range []struct {
		value, tolerance, excess float64
		state                    constraints.State
		sets                     int
	}{
		{0.5009, 0.001, 0.0009, constraints.MetToTolerance, 0},
		{4.0041, 0.004, 0.0041, constraints.NotMet, 0},
		{0.8, 0.2, 0, constraints.Met, 1},
		{3, 0.001, 1, constraints.NotMet, 0},
		{4.0041, 0.004001, 0.0031, constraints.MetToTolerance, 0},
	} {
		v := c.Values[j]
		if !v.Defined || math.Abs(v.Value-want.value) > 1e-15 || !(math.Abs(s.SmoothValue(j, c.Terms)-want.value) <= 1e-15) {
			t.Errorf("%v: %+v, and %v at the terms, want %v", s.Subject[j], v, s.SmoothValue(j, c.Terms), want.value)
		}
		got := c.Judge(j)
		if got.State != want.state || math.Abs(got.Tolerance-want.tolerance) > 1e-15 {
			t.Errorf("%v: %+v, want %s with tolerance %v", s.Subject[j], got, want.state, want.tolerance)
		}
		if (got.Exceeded != nil) != (want.excess > 0) || got.Exceeded != nil && math.Abs(got.Exceeded.By-want.excess) > 1e-12 {
			t.Errorf("%v: exceeded %+v, want by %v", s.Subject[j], got.Exceeded, want.excess)
		}
		if got := c.CountedSets(j); len(got) != want.sets || s.DependsOnLoss(j) != (want.sets == 0) {
			t.Errorf("%v: %d counted sets, depends on a loss: %t", s.Subject[j], len(got), s.DependsOnLoss(j))
		}
	}
	if sets := c.CountedSets(2); !cmp.Equal(sets, [][]constraints.CountedRate{{{Name: "tpr", Value: 0.8, Hits: 4, Rows: 5}}}) {
		t.Errorf("%+v", sets)
	}
	if _, err := sample.Count(decisions); !errors.Is(err, constraints.ErrNeedsSmooth) {
		t.Errorf("%v, want ErrNeedsSmooth", err)
	}
	if _, err := sample.CountWith(decisions, smooth[:6]); err == nil || !strings.Contains(err.Error(), "6 smooth values, want 7") {
		t.Errorf("%v", err)
	}
}

// TestCountRefuses checks that decisions must be as many as the rows and name a class.
func TestCountRefuses(t *testing.T) {
	p, decisions := people()
	sample := require.Value(systemOf(t, p).On(p))(t)
	for _, test := range []struct {
		decisions []int
		want      string
	}{
		{decisions[:9], "9 decisions for 10 rows"},
		{append(slices.Clone(decisions), 0), "11 decisions for 10 rows"},
		{slices.Replace(slices.Clone(decisions), 3, 4, -1), "row 3 has decision -1, want 0..1"},
		{slices.Replace(slices.Clone(decisions), 0, 1, 2), "row 0 has decision 2, want 0..1"},
	} {
		if _, err := sample.Count(test.decisions); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

// TestRowsToCount counts on rows that lack a group, a class or all accepted rows.
func TestRowsToCount(t *testing.T) {
	p, _ := people()
	some := func(labels, race []int) *constraints.Population {
		return &constraints.Population{Labels: labels, Classes: p.Classes,
			Attributes: []constraints.Attribute{{Name: "race", Values: []string{"a", "b", "c"}, Of: race}, {Name: "sex", Values: []string{"Female", "Male"}, Of: race}},
			Earlier:    map[string][]int{"old.csv": slices.Repeat([]int{-1}, len(labels))}}
	}
	three := some([]int{1, 1, 0}, []int{0, 0, 1})
	for _, test := range []struct {
		text      string
		rows      *constraints.Population
		decisions []int
		value     float64
		defined   bool
		tolerance float64
		excess    float64
		state     constraints.State
		rates     []constraints.CountedRate
	}{
		{"error[race=*] <= 0.1", three, []int{1, 0, 0}, 0.5, true, 0.5, 0.4, constraints.NotJudged, []constraints.CountedRate{
			{Name: "error[race=a]", Value: 0.5, Hits: 1, Rows: 2}, {Name: "error[race=b]", Rows: 1}, {Name: "error[race=c]"}}},
		{"accuracy[race=*] >= 0.9", three, []int{1, 0, 0}, 0.5, true, 0.5, 0.4, constraints.NotJudged, []constraints.CountedRate{
			{Name: "accuracy[race=a]", Value: 0.5, Hits: 1, Rows: 2}, {Name: "accuracy[race=b]", Value: 1, Hits: 1, Rows: 1}, {Name: "accuracy[race=c]"}}},
		{"fnr[sex=Male] <= 0.1", three, []int{1, 0, 1}, 0, false, 0, math.Inf(-1), constraints.NotJudged, []constraints.CountedRate{{Name: "fnr[sex=Male]"}}},
		{"precision >= 0.9", three, []int{0, 0, 0}, 0, false, 1. / 3, 0, constraints.Met, []constraints.CountedRate{{Name: "precision"}}},
		{"gap(tpr, sex) <= 0.1", three, []int{1, 0, 0}, 0, false, 0, math.Inf(-1), constraints.NotJudged, []constraints.CountedRate{
			{Name: "tpr[sex=Female]", Value: 0.5, Hits: 1, Rows: 2}, {Name: "tpr[sex=Male]"}}},
		{"ratio(tpr, sex) >= 0.5", some([]int{1, 1, 1, 0}, []int{0, 0, 1, 1}), []int{0, 0, 0, 1}, 1, true, 1, 0, constraints.Met, []constraints.CountedRate{
			{Name: "tpr[sex=Female]", Rows: 2}, {Name: "tpr[sex=Male]", Rows: 1}}},
		{"distance(tpr, sex) <= 0.1", three, []int{1, 0, 0}, 0, true, 0.5, -0.1, constraints.Met, []constraints.CountedRate{
			{Name: "tpr", Value: 0.5, Hits: 1, Rows: 2}, {Name: "tpr[sex=Female]", Value: 0.5, Hits: 1, Rows: 2}, {Name: "tpr[sex=Male]"}}},
		{"excess(tpr, race) <= 0.1", some([]int{1, 0}, []int{-1, -1}), []int{1, 0}, 0, false, 0, math.Inf(-1), constraints.NotJudged, []constraints.CountedRate{
			{Name: "tpr", Value: 1, Hits: 1, Rows: 1}, {Name: "tpr[race=a]"}, {Name: "tpr[race=b]"}}},
		{"churn(old.csv) <= 0.1", three, []int{1, 0, 0}, 0, false, 0, math.Inf(-1), constraints.NotJudged, []constraints.CountedRate{{Name: "churn(old.csv)"}}},
	} {
		s := systemOf(t, p, test.text, "positive_rate <= 0") // the second constraint has the largest excess
		c := count(t, s, test.rows, test.decisions)
		v := c.Values[0]
		if v.Value != test.value || v.Defined != test.defined {
			t.Errorf("%s: %+v", test.text, v)
		}
		got := c.Judge(0)
		if got.State != test.state || math.Abs(got.Tolerance-test.tolerance) > 1e-15 {
			t.Errorf("%s: %+v, want %s with tolerance %v", test.text, got, test.state, test.tolerance)
		}
		if (got.Exceeded != nil) != (test.excess > 0) || got.Exceeded != nil && math.Abs(got.Exceeded.By-test.excess) > 1e-12 {
			t.Errorf("%s: exceeded %+v, want by %v", test.text, got.Exceeded, test.excess)
		}
		if diff := cmp.Diff(test.rates, v.Rates); diff != "" {
			t.Errorf("%s: rates (-want +got):\n%s", test.text, diff)
		}
		if i := slices.IndexFunc(c.Terms, math.IsNaN); i >= 0 {
			t.Errorf("%s: term %d is NaN", test.text, i)
		}
	}
	churn := systemOf(t, p, "churn(old.csv) <= 0.1")
	three.Earlier = nil
	if _, err := churn.On(three); err == nil || !strings.Contains(err.Error(), "no earlier decisions of old.csv") {
		t.Errorf("%v", err)
	}
}

// The rates decide whether the tolerance of a ratio or of a precision is coarse, and of no other
// inequality.
func TestToleranceVaries(t *testing.T) {
	p, decisions := people()
	for text, varies := range map[string]bool{
		"gap(tpr, race) <= 0.1": false, "excess(positive_rate, race) <= 0.1": false, "tpr >= 0.8": false, "loss <= 0.5": false,
		"ratio(positive_rate, race) >= 0.3": true, "precision[race=*] >= 0.3": true,
	} {
		s := systemOf(t, p, text)
		sample := require.Value(s.On(p))(t)
		c := require.Value(sample.CountWith(decisions, make([]float64, s.Terms())))(t)
		differ := false
		for k := range s.Bounds {
			if got := c.ToleranceVaries(k); got != varies {
				t.Errorf("%s: inequality %d varies: %t", text, k, got)
			}
			small, large := make([]float64, s.Terms()), make([]float64, s.Terms())
			for i := range small {
				small[i], large[i] = 1e-6, 1e6
			}
			_, a := c.Tolerance(k, small)
			_, b := c.Tolerance(k, large)
			differ = differ || a != b
		}
		if differ != varies {
			t.Errorf("%s: small and large rates differ: %t", text, differ)
		}
	}
}
