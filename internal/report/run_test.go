package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/internal/chart"
	"ppal/internal/rates"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

// evil is a name that must stay a text: a script, quotes, an escape sequence and a character that
// reverses the direction of text.
const evil = `<script>alert("x")</script>'&` + "\x1b[31m\u202e"

// fixture writes the directory of a run whose names are evil, and returns it with its summary.
func fixture(t *testing.T) (rundir.Dir, *results.Summary) {
	t.Helper()
	dir := rundir.Dir(t.TempDir())
	at := func(v float64) *float64 { return &v }
	failOn := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	config, err := rundir.ConfigFile([]rundir.Setting{
		{Name: "problem", Value: "rates", Group: "Data"}, {Name: "dataset", Value: "csv"}, {Name: "file", Value: rundir.Text("people " + evil)},
		{Name: "subject-to", Value: []string{"a <= 1", evil}, Group: "Problem", Note: "a note"}, {Name: "method", Value: "ppala", Group: "Method"},
	}, results.Provenance{Version: "v1", Out: "runs/x", Features: 3, Parameters: 4, Device: "cpu",
		Data:    []results.DataFile{{Name: evil, Bytes: 12, SHA256: strings.Repeat("ab", 32), State: "ok"}},
		Classes: []results.SplitSizes{{Name: "no " + evil, Train: 60, Test: 20}, {Name: "yes", Train: 40, Test: 10}},
		Groups:  []results.SplitSizes{{Name: "job=" + evil, Train: 50, Test: 15}}})
	failOn(err)
	failOn(rundir.WriteFile(dir.Config(), config))
	m, err := rundir.CreateMetrics(dir.Metrics())
	failOn(err)
	for k := range 5 {
		r := trainer.Record{Iteration: 10 * k, Seconds: float64(k), GradientEvaluations: 11 * k, Objective: 1 / float64(k+1), Constraints: []float64{0.1 - 0.05*float64(k), -1},
			MaxViolation: max(0, 0.1-0.05*float64(k)), Stationarity: 0.1, Multipliers: []float64{float64(k), 0}, Measures: map[string]float64{"test_error": 0.2}}
		if k > 0 {
			r.StepSize = at(0.5)
		}
		failOn(m.Record(&r))
	}
	failOn(m.Close())
	failOn(dir.WriteModel(results.Model{Version: "v1", Task: "rates", Input: results.Input{Format: results.FormatText}, Constraints: []string{"a", "b"}}))
	failOn(dir.WriteDetails(rundir.Details{Objective: "error", Constraints: []string{evil, "second"},
		ROC: map[results.Split][][2]float64{results.Training: {{0, 0}, {0.2, 0.8}, {1, 1}}},
		Examples: &results.Examples{Split: results.Test, Columns: []string{"age", evil}, Classes: []results.ClassExample{
			{Class: "yes " + evil, Rows: 10, Wrong: 2, List: []results.Example{{Row: 7, Decided: evil, Score: -3.25, Values: []string{"41", evil}}}}}}}))
	classes := []string{"no " + evil, "yes"}
	members := []results.Group{{Name: "job=" + evil, Rows: []int{0, 2}}}
	train, err := rates.NewTable(rates.Rows{Labels: []int{0, 1, 1, 0}, Decisions: []int{0, 1, 0, 0}}, classes, members, true)
	failOn(err)
	test, err := rates.NewTable(rates.Rows{Labels: []int{0, 1, 1, 1}, Decisions: []int{0, 1, 0, 0}}, classes, members, false)
	failOn(err)
	sum := &results.Summary{Status: string(trainer.IterationLimit), Iterations: 40, Seconds: 4, SecondsTotal: 5, Objective: 0.2, Constraints: []float64{-0.1, -1}, Bounds: []float64{0.1, 1},
		Certificate: &results.Certificate{Epsilon: 0.01, Stationarity: 0.01}, Converged: true, Warnings: []string{"the step is large (use --eta 0.1 " + evil + ")"}, Version: "v1",
		Rates: map[results.Split]*results.RateTable{results.Training: train, results.Test: test},
		Outcome: &results.Outcome{BoundsOn: constraints.OnDecisions, Objective: results.ObjectiveOutcome{Name: "error", SplitValues: results.SplitValues{Train: at(0.25), Test: at(0.5)}},
			AcceptanceRate: &results.SplitValues{Train: at(0.25), Test: at(0.25)}, Threshold: 0.5,
			Constraints: []results.ConstraintOutcome{
				{Constraint: "gap(tpr, " + evil + ") <= 0.1", Bound: 0.1, SplitValues: results.SplitValues{Train: at(0.05), Test: at(0.2)}, Interval: &[2]float64{0.02, 0.4}, Met: true, Multiplier: 0.5},
				{Constraint: "tpr >= 0.6", Bound: 0.6, AtLeast: true, SplitValues: results.SplitValues{Train: at(0.4)}},
			}}}
	failOn(rundir.WriteSummary(dir.Summary(), sum))
	return dir, sum
}

// readPage returns the page without its style and script, after it has checked that the tags
// match and that nothing leads out of the file.
func readPage(t *testing.T, path string) string {
	t.Helper()
	data := require.Value(os.ReadFile(path))(t)
	text := string(data)
	if !strings.Contains(html.UnescapeString(text), `content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-`) {
		t.Error("the page has no content security policy")
	}
	if n := strings.Count(text, "<script"); n != 2 {
		t.Errorf("%d scripts, want the data and the script", n)
	}
	if strings.ContainsAny(text, "\x1b\u202e\r") {
		t.Error("the page has control characters")
	}
	body := regexp.MustCompile(`(?s)<style>.*?</style>|<script.*?</script>`).ReplaceAllString(text, "")
	for _, m := range regexp.MustCompile(`(?i)(?:src|href|action|srcset)="([^"]*)"|url\(|@import|<link|<iframe|<object`).FindAllStringSubmatch(body, -1) {
		if u := m[1]; !strings.HasPrefix(u, "#") && !strings.HasPrefix(u, "data:image/png;base64,") && !regexp.MustCompile(`^[\w.-]+/report\.html$`).MatchString(u) {
			t.Errorf("the page refers to %q", m[0])
		}
	}
	if style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindString(text); strings.Contains(style, "url(") || strings.Contains(style, "@import") {
		t.Error("the style refers to another file")
	}
	d := xml.NewDecoder(strings.NewReader(body))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var open []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			open = append(open, token.Name.Local)
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != token.Name.Local {
				t.Fatalf("%s: </%s> closes %q", path, token.Name.Local, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) != 0 {
		t.Errorf("%s: open elements %q", path, open)
	}
	return body
}

// outline returns the headings and the texts that a reader of the page sees, a line each.
func outline(body string) string {
	body = regexp.MustCompile(`(?s)<head>.*?</head>|<svg.*?</svg>|<div class="(?:marks|ylabels|xlabels)".*?</div>`).ReplaceAllString(body, "")
	var lines []string
	for line := range strings.SplitSeq(regexp.MustCompile(`</?(?:section|article|h\d|p|li|tr|div|dl|dt|dd|figure|table|nav|header|main|footer)[^>]*>`).ReplaceAllStringFunc(body, func(tag string) string {
		if strings.HasPrefix(tag, "<h") && len(tag) > 2 && tag[2] >= '1' && tag[2] <= '3' {
			return "\n" + strings.Repeat("#", int(tag[2]-'0')) + " "
		}
		return "\n"
	}), "\n") {
		line = strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(line, " ")), " ")
		if line != "" && line != "✓" && line != "✕" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// The page of a run with evil names shows every constraint, both values and words, and stays a
// single page.
func TestRun(t *testing.T) {
	dir, sum := fixture(t)
	require.NoError(t, WriteRun(dir, sum))
	body := strings.ReplaceAll(readPage(t, dir.Report()), string(dir), "DIR")
	require.Golden(t, "testdata/run.txt", outline(body))
	fromSummary := require.Value(os.ReadFile(dir.Report()))(t)
	require.NoError(t, WriteRun(dir, nil)) // as a week later
	if again, err := os.ReadFile(dir.Report()); err != nil || !bytes.Equal(again, fromSummary) {
		t.Errorf("the page from the directory alone differs (%v)", err)
	}
	r := NewRenderer()
	for range 2 { // as a session that saves twice
		require.NoError(t, r.Page(string(dir), sum))
		if again, err := os.ReadFile(dir.Report()); err != nil || !bytes.Equal(again, fromSummary) {
			t.Errorf("the page of a renderer differs (%v)", err)
		}
	}
}

// Examples of pictures are pictures, unless their bytes are not a PNG file.
func TestPictures(t *testing.T) {
	dir, sum := fixture(t)
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))))
	list := []results.Example{{Row: 8, Decided: evil, Picture: picture.Bytes()}, {Row: 9, Decided: "no", Picture: []byte(`"><script>`)}}
	require.NoError(t, dir.WriteDetails(rundir.Details{Examples: &results.Examples{Classes: []results.ClassExample{{Class: "yes", Rows: 2, Wrong: 2, List: list}}}}))
	require.NoError(t, WriteRun(dir, sum))
	if body := readPage(t, dir.Report()); strings.Count(body, `<img src="data:image/png;base64,`) != 1 {
		t.Error("want one picture: the other is not a PNG file")
	}
}

// The data of the charts are JSON with all records and without numbers that are not finite.
func TestChartData(t *testing.T) {
	dir, sum := fixture(t)
	require.NoError(t, WriteRun(dir, sum))
	text := require.Value(os.ReadFile(dir.Report()))(t)
	part := regexp.MustCompile(`(?s)<script type="application/json" id="charts">(.*?)</script>`).FindSubmatch(text)
	var charts []chart.Data
	require.NoError(t, json.Unmarshal(part[1], &charts))
	if len(charts) != 7 || len(charts[0].Views) != 3 || len(charts[0].Views[0].Curves[0].Y) != 5 {
		t.Errorf("%d charts: %+v", len(charts), charts[0])
	}
	if name := charts[1].Lines[0].Name; name != evil[:len(evil)-len("\x1b[31m\u202e")]+"\x1b[31m\ufffd" && !strings.HasPrefix(name, "<script>") {
		t.Errorf("the name of the first constraint is %q", name)
	}
}

// A directory without details.json, config.yaml or summary.json has a page of what it holds.
func TestIncompleteDirectories(t *testing.T) {
	for _, c := range []struct {
		remove []string
		text   string
	}{
		{[]string{"details.json"}, "The directory has no details.json"},
		{[]string{"config.yaml"}, "The directory has no config.yaml"},
		{[]string{"summary.json", "details.json", "model.json"}, "Not finished"},
		{[]string{"metrics.jsonl"}, "gap(tpr"},
	} {
		dir, _ := fixture(t)
		for _, name := range c.remove {
			require.NoError(t, os.Remove(filepath.Join(string(dir), name)))
		}
		if err := WriteRun(dir, nil); err != nil {
			t.Errorf("without %q: %v", c.remove, err)
			continue
		}
		if body := readPage(t, dir.Report()); !strings.Contains(body, c.text) {
			t.Errorf("without %q: no %q", c.remove, c.text)
		}
	}
	if err := WriteRun(rundir.Dir(t.TempDir()), nil); !errors.Is(err, rundir.ErrIncomplete) {
		t.Errorf("an empty directory: %v", err)
	}
}

// A run with many records and constraints has a page of a bounded size that lists every constraint.
func TestManyRecords(t *testing.T) {
	dir, sum := fixture(t)
	r := &run{dir: dir, summary: sum}
	sum.Outcome.Constraints = nil
	v := 0.5
	for j := range 500 {
		sum.Outcome.Constraints = append(sum.Outcome.Constraints, results.ConstraintOutcome{Constraint: fmt.Sprintf("error[group %d] <= 0.%03d", j, j), Bound: float64(j) / 1000,
			SplitValues: results.SplitValues{Train: &v}})
	}
	for k := range 30_000 {
		record := trainer.Record{Iteration: k, Objective: 1, Constraints: make([]float64, 100), Multipliers: make([]float64, 100), Auxiliary: make([]float64, 100)}
		r.records = append(r.records, record)
	}
	page := r.page()
	data := require.Value(page.render())(t)
	const most = 3 << 20
	if len(data) > most {
		t.Errorf("%d bytes, want at most %d", len(data), most)
	}
	for j := range 500 {
		if !bytes.Contains(data, fmt.Appendf(nil, "error[group %d] &lt;= 0.%03d", j, j)) {
			t.Fatalf("constraint %d is not on the page", j)
		}
	}
	view := page.View.(*runView)
	x := view.Charts[0].Views[0].Curves[0].X
	if len(view.Bounds) != mostShown || view.Bounds[0].Text != "error[group 0] <= 0.000" || len(x) > 2000 || x[len(x)-1] != 29_999 {
		t.Errorf("%d bounds, %d points to %v", len(view.Bounds), len(x), x[len(x)-1])
	}
}

func TestWords(t *testing.T) {
	got := words("use --iterations 10 or `ppal data fetch x` (--eta-scale), not a--b")
	want := []word{{"use ", false}, {"--iterations", true}, {" 10 or ", false}, {"ppal data fetch x", true}, {" (", false}, {"--eta-scale", true}, {"), not a--b", false}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	for text, want := range map[string]string{"the start": "The start.", "gap(tpr, sex) is": "gap(tpr, sex) is.", "tau = 1": "tau = 1.", "Use it!": "Use it!", "": ""} {
		if got := sentence(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

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
