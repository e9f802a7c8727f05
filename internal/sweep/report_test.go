package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/require"
	"ppal/trainer/session/results"
)

// checkReport checks the page of a finished sweep with three points.
func checkReport(t *testing.T, dir Dir) {
	t.Helper()
	require.NoError(t, Report(dir))
	text := string(read(t, filepath.Join(string(dir), "report.html")))
	for _, want := range []string{"All 3 points meet their bounds", "&lt;= 0.08", `href="01-bound-0.3/report.html"`, `href="03-bound-0.02/report.html"`, "training rows", "test rows"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// The page of a sweep without points says so. The settings of sweep.yaml are texts.
func TestReportWithoutPoints(t *testing.T) {
	dir := Dir(t.TempDir())
	settings := "# A sweep\nover: \"gap(tpr, <b>)\"\nvalues: [0.2 0.1]\n---\nmethod: ppala\ndataset: csv\nfile: 'a/</pre><script>x'\n---\nversion: v1\ndata:\n    - name: x\n      sha256: abc\n"
	require.NoError(t, os.WriteFile(dir.Settings(), []byte(settings), 0o644))
	require.NoError(t, Report(dir))
	text := string(read(t, filepath.Join(string(dir), "report.html")))
	for _, want := range []string{"No run has finished", "0 of 2", "gap(tpr, &lt;b&gt;)", "ppal v1", "abc"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Count(text, "<script") != 2 {
		t.Error("a setting is a script")
	}
	require.NoError(t, os.WriteFile(dir.points(), []byte("{}\n"), 0o644))
	if err := Report(dir); err == nil {
		t.Error("no error for a damaged point")
	}
}

// TestHeadline counts the points by their ratings: met, met on the training rows only, not met.
func TestHeadline(t *testing.T) {
	for _, test := range []struct {
		unmet, train, good int
		kind, text         string
	}{
		{0, 0, 3, "good", "All 3 points meet their bounds"},
		{0, 2, 1, "warn", "All 3 points meet their bounds on the training rows, 1 of them also on the held-out rows"},
		{0, 3, 0, "warn", "All 3 points meet their bounds on the training rows, none of them on all held-out rows"},
		{1, 1, 1, "warn", "2 of 3 points meet their bounds on the training rows, 1 of them also on the held-out rows"},
		{2, 0, 1, "warn", "1 of 3 points meet their bounds"},
		{3, 0, 0, "bad", "No point meets all bounds"},
	} {
		ratings := map[results.Rating]int{results.Unmet: test.unmet, results.TrainOnly: test.train, results.Good: test.good}
		if kind, text := headline(3, ratings); kind != test.kind || text != test.text {
			t.Errorf("%+v: %s, %q", test, kind, text)
		}
	}
}

// TestPageOfStates writes a page with a point of each rating. Each card has the words and the
// colour of its rating.
func TestPageOfStates(t *testing.T) {
	var points []Point
	for k, test := range []float64{0.1, 0.2, 0.1} {
		train := 0.1
		c := results.ConstraintOutcome{Constraint: "fpr <= 0.1", Bound: 0.1, SplitValues: results.SplitValues{Train: &train, Test: &test}, State: constraints.Met}
		if k == 2 {
			c.State, c.Exceeded = constraints.NotJudged, &constraints.Exceeded{Groups: []string{constraints.AllRows}, Rows: []int{7}, Values: []float64{0.14}}
		}
		points = append(points, Point{Bound: 0.1, Run: "r", Outcome: &results.Outcome{BoundsOn: constraints.OnDecisions, Constraints: []results.ConstraintOutcome{c}}})
	}
	s := page(Dir(t.TempDir()), settingsFile{Over: "fpr"}, "", points)
	if s.Kind != "warn" || s.Headline != "2 of 3 points meet their bounds on the training rows, 1 of them also on the held-out rows" {
		t.Errorf("%s: %s", s.Kind, s.Headline)
	}
	for k, want := range [][2]string{{"good", "Met"}, {"warn", "Met on the training rows only"}, {"bad", "Cannot be judged"}} {
		if p := s.Points[k]; p.Colour != want[0] || p.Met != want[1] {
			t.Errorf("point %d: %s, %q, want %q", k, p.Colour, p.Met, want)
		}
	}
}
