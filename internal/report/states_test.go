package report

import (
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/trainer/session/results"
)

// TestPageOfStates writes the page of a run in each state. The headline has the colour and the
// words of the state, with the held-out number, and the bound has its mark.
func TestPageOfStates(t *testing.T) {
	for _, test := range []struct {
		state              constraints.State
		test               float64
		colour, head, mark string
		exit               string
	}{
		{constraints.Met, 0.09, "good", "The bound is met on the training decisions", "Met", "Exit status 0"},
		{constraints.MetToOneRow, 0.1, "good", "The bound is met on the training decisions", "Met to one row", "Exit status 0"},
		{constraints.MetToTolerance, 0.1, "good", "The bound is met on the training decisions", "Met to 0.001", "Exit status 0"},
		{constraints.Met, 0.10002, "warn", "The bound is met on the training decisions, but missed on the test rows: 0.10002", "Met on the training rows only", "Exit status 0"},
		{constraints.NotMet, 0.09, "bad", "The bound is not met", "Not met", "Exit status 3"},
		{constraints.NotJudged, 0.09, "bad", "The bound cannot be judged", "Cannot be judged", "Exit status 3"},
	} {
		dir, sum := fixture(t)
		c := &sum.Outcome.Constraints[0]
		c.Constraint, c.Bound, c.State, c.Met, c.Promise = "gap(fpr, sex*race) <= 0.1", 0.1, test.state, test.state.Holds(), nil
		c.AtLeast, c.Validation, c.Test = false, nil, &test.test
		if test.state == constraints.NotJudged {
			c.Exceeded = &constraints.Exceeded{Groups: []string{"race=Other, sex=Male", "sex=Female"}, Rows: []int{7, 90}, Values: []float64{0.3, 0.1}, MinRows: 50}
		}
		sum.Outcome.Constraints = sum.Outcome.Constraints[:1]
		group := &sum.Rates[results.Training].ByGroup[0]
		group.Extremes = map[string]results.Extreme{results.PositiveRate: results.Largest}
		require.NoError(t, WriteRun(dir, sum))
		body := readPage(t, dir.Report())
		for _, want := range []string{`<p class="status ` + test.colour + `">`, "<strong>" + test.head + "</strong>", `<p class="met ` + test.colour + `">`,
			"</span> " + test.mark + "</p>", test.exit, `aria-label="largest">▲`} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: the page lacks %q", test.state, want)
			}
		}
		if is := strings.Contains(body, "cannot be judged: group race=Other, sex=Male has 7 rows; use min 50."); is != (test.state == constraints.NotJudged) {
			t.Errorf("%s: the page has the advice: %t", test.state, is)
		}
	}
}
