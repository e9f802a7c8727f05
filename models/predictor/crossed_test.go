package predictor_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/models/predictor"
	"ppal/trainer/session/results"
)

// TestEvaluateIntersections lists the intersections with a bound and those of By. The rows of an
// intersection are those of both attributes. The largest and the smallest rates of a bound are
// marked.
func TestEvaluateIntersections(t *testing.T) {
	text := strings.ReplaceAll(people(3000), ",NA,", ",baker,")
	m := constrained(t, write(t, text), "gap(positive_rate, job*age<40) <= 0.5")
	e := require.Value(m.Evaluate(strings.NewReader(text), "people", predictor.EvaluateOptions{By: []string{"job*age<30"}}))(t)
	rows, marks := map[string]int{}, map[string]int{}
	for _, g := range e.Rates.ByGroup {
		if rows[g.Group] > 0 {
			t.Errorf("%s is listed twice", g.Group)
		}
		rows[g.Group] = g.Rows
		for rate, mark := range g.Extremes {
			marks[rate+" "+string(mark)]++
			if !strings.Contains(g.Group, "age<40") || !strings.Contains(g.Group, "job=") {
				t.Errorf("%s has no bound, and is marked as the %s", g.Group, mark)
			}
		}
	}
	if marks["positive_rate largest"] != 1 || marks["positive_rate smallest"] == 0 || len(marks) != 2 {
		t.Errorf("marks %v", marks)
	}
	for _, condition := range []string{"age<40", "age<30"} {
		sum := 0
		for name, n := range rows {
			if strings.HasPrefix(name, condition+", job=") {
				sum += n
			}
		}
		if sum != rows[condition] || sum == 0 || rows[condition+", job=clerk"] == 0 {
			t.Errorf("%s has %d rows, its intersections %d: %v", condition, rows[condition], sum, rows)
		}
	}
	for _, by := range []string{`"age<25"`, "age<25"} { // quotes are for names with commas or stars
		e, err := m.Evaluate(strings.NewReader(text), "people", predictor.EvaluateOptions{By: []string{by}})
		if err != nil || !slices.ContainsFunc(e.Rates.ByGroup, func(g results.GroupRates) bool { return g.Group == "age<25" }) {
			t.Errorf("%s: %v", by, err)
		}
	}
	for _, by := range []string{"job*", "job*job", `"job`, `"job" "age"`, "*"} { // as in a bound
		var of, syntax *constraints.SyntaxError
		_, err := constraints.Parse("gap(error, " + by + ") <= 1")
		if _, got := m.Evaluate(strings.NewReader(text), "people", predictor.EvaluateOptions{By: []string{by}}); !errors.As(got, &syntax) || !errors.As(err, &of) {
			t.Errorf("%s: %v, and in a bound %v", by, got, err)
		}
	}
}
