package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/datasets/tabular"
	"ppal/internal/racing"
	"ppal/internal/report"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/session/results"
)

// The examples of a table are rows of its file that the model decides wrongly, with their texts.
// The run's directory has them in details.json, and a page.
func TestExamplesOfTable(t *testing.T) {
	racing.Skip(t, "TestConfidenceOfRates and the tests of the program save with the same goroutines")
	folder := t.TempDir()
	lines := []string{"age,job,member"}
	for i := range 300 {
		lines = append(lines, fmt.Sprintf("%d,%s,%s", 20+i%50, []string{"clerk", "nurse", "pilot"}[i%3], []string{"no", "yes"}[i*i%7%2]))
	}
	file := filepath.Join(folder, "people.csv")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	bound := require.Value(constraints.Parse("error <= 0.9"))(t)
	source := CSV(file, "member")
	source.Split = tabular.DefaultSplit
	for _, examples := range []int{0, 2, -1} {
		s := require.Value(New(t.Context(), Options{Data: source, Task: Decisions{SubjectTo: []constraints.Constraint{bound}}, Settings: trainer.Settings{Iterations: 20}, Files: Files{Examples: examples, Renderer: report.Renderer{}}}))(t)
		require.Value(s.Train(t.Context()))(t)
		dir := rundir.Dir(filepath.Join(folder, fmt.Sprint("run", examples)))
		require.NoError(t, s.Save(string(dir)))
		d, err := dir.ReadDetails(rundir.Seal{})
		if err != nil || len(s.Summary().Warnings) > 0 && strings.Contains(fmt.Sprint(s.Summary().Warnings), "report.html") {
			t.Fatal(err, s.Summary().Warnings)
		}
		if _, err := os.Stat(dir.Report()); err != nil {
			t.Error(err)
		}
		require.NoError(t, s.Close())
		if examples < 0 {
			if d.Examples != nil {
				t.Errorf("examples although none are wanted: %+v", d.Examples)
			}
			continue
		}
		want := DefaultExamples
		if examples > 0 {
			want = examples
		}
		seen := 0
		for _, c := range d.Examples.Classes {
			if len(c.List) != min(want, c.Wrong) || c.Wrong > c.Rows {
				t.Errorf("%s: %d examples of %d wrong decisions on %d rows", c.Class, len(c.List), c.Wrong, c.Rows)
			}
			for _, x := range c.List {
				seen++
				fields := strings.Split(lines[x.Row], ",")
				own := map[string]string{}
				for k, name := range d.Examples.Columns {
					own[name] = x.Values[k]
				}
				if own["age"] != fields[0] || own["job"] != fields[1] || c.Class != "member="+fields[2] || x.Decided == c.Class || (x.Score > 0) != (x.Decided == "member=yes") {
					t.Errorf("row %d: %+v of class %s, the file has %q", x.Row, x, c.Class, fields)
				}
			}
		}
		if seen == 0 || d.Examples.Split != results.Test || d.ROC[results.Test] == nil {
			t.Errorf("%d examples of the %s rows", seen, d.Examples.Split)
		}
	}
}

// The examples of pictures are pictures.
func TestExamplesOfPictures(t *testing.T) {
	racing.Skip(t, "TestRunsAreDeterministic runs the same goroutines")
	s := require.Value(New(t.Context(), Options{Data: Images{Dataset: "synthetic", RowsPerClass: 30}, Task: NeymanPearson{Kappa: []float64{0.4}}, Settings: trainer.Settings{Iterations: 5}}))(t)
	defer s.Close()
	r := require.Value(s.Train(t.Context()))(t)
	pictures := 0
	for _, c := range r.Examples.Classes {
		for _, x := range c.List {
			if x.Score <= 0 || !strings.HasPrefix(string(x.Picture), "\x89PNG") || x.Values != nil {
				t.Errorf("%+v", x)
			}
			pictures++
		}
	}
	if pictures == 0 || r.Examples.Columns != nil {
		t.Errorf("%d pictures", pictures)
	}
}

// A page that cannot be written is a warning: the run and its summary are complete.
func TestReportCannotBeWritten(t *testing.T) {
	racing.Skip(t, "TestRunsAreDeterministic runs the same goroutines")
	s := require.Value(New(t.Context(), Options{Data: Images{Dataset: "synthetic", RowsPerClass: 30}, Task: NeymanPearson{Kappa: []float64{0.4}}, Settings: trainer.Settings{Iterations: 2}, Files: Files{Renderer: report.Renderer{}}}))(t)
	defer s.Close()
	dir := rundir.Dir(filepath.Join(t.TempDir(), "run"))
	require.NoError(t, s.Open(string(dir)))
	require.NoError(t, os.MkdirAll(filepath.Join(dir.Report(), "occupied"), 0o755))
	require.Value(s.Train(t.Context()))(t)
	require.NoError(t, s.Save(""))
	sum, err := rundir.ReadSummary(dir.Summary())
	if err != nil || !strings.Contains(strings.Join(sum.Warnings, " "), "report.html was not written") {
		t.Errorf("warnings %q, %v", sum.Warnings, err)
	}
}
