package session

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/constraints"
	"ppal/datasets/tabular"
	"ppal/internal/rates"
	"ppal/internal/report"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/session/internal/load"
	"ppal/trainer/session/results"
)

// The rates of a run on a table agree with its measures. summary.json has the rates of every group.
// The times of the summary add up to the total.
func TestRatesOfATable(t *testing.T) {
	s := require.Value(New(t.Context(), Options{
		Data: Table{Dataset: "synthetic-compas", TableOptions: tabular.TableOptions{Split: tabular.DefaultSplit}},
		Task: EqualizedOdds{}, Settings: trainer.Settings{Iterations: 30}, Files: Files{Renderer: report.Renderer{}},
	}))(t)
	defer s.Close()
	r := require.Value(s.Train(t.Context()))(t)
	for _, split := range r.Splits {
		if split.Rates == nil || split.ROC == nil {
			t.Fatalf("%s: no rates", split.Name)
		}
		if d := math.Abs(split.Rates.Overall["error"].Value - split.Named["error"]); d > 1e-12 {
			t.Errorf("%s: the error differs by %v from the measure", split.Name, d)
		}
		if n := len(split.Rates.ByGroup); n != 2 {
			t.Fatalf("%s: %d groups", split.Name, n)
		}
		a, b := split.Rates.ByGroup[0], split.Rates.ByGroup[1]
		gap := a.Rates["tpr"].Value - b.Rates["tpr"].Value
		if d := math.Abs(math.Abs(gap) - math.Abs(split.Named["tpr_gap"])); d > 1e-12 {
			t.Errorf("%s: the gap of the true positive rates is %v, the measure %v", split.Name, gap, split.Named["tpr_gap"])
		}
		if held := split.Name != results.Training; held != (a.Rates["tpr"].Interval != nil) {
			t.Errorf("%s: interval %v", split.Name, a.Rates["tpr"].Interval)
		}
		at := results.ROCPoint{FPR: split.Rates.Overall["fpr"].Value, TPR: split.Rates.Overall["tpr"].Value}
		if d := distance(split.ROC, at); d > 0.02 {
			t.Errorf("%s: the chosen threshold %v is %v from the ROC curve", split.Name, at, d)
		}
	}
	dir := filepath.Join(t.TempDir(), "run")
	require.NoError(t, s.Save(dir))
	sum := require.Value(rundir.ReadSummary(rundir.Dir(dir).Summary()))(t)
	if diff := cmp.Diff(r.Splits[2].Rates, sum.Rates[results.Test]); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{report.GroupRatesFile, report.ROCFile} {
		if _, err := os.Stat(filepath.Join(rundir.Dir(dir).Plots(), name)); err != nil {
			t.Error(err)
		}
	}
	parts := sum.Seconds + sum.SecondsReading + sum.SecondsMeasuring
	if named := sum.SecondsCertificates + sum.SecondsRounds + sum.SecondsRecords + sum.SecondsPlots; sum.SecondsCertificates <= 0 ||
		sum.SecondsRecords <= 0 || sum.SecondsPlots <= 0 || named > sum.SecondsMeasuring {
		t.Errorf("%v s of certificates, %v of rounds, %v of records, %v of plots, %v of measuring in all",
			sum.SecondsCertificates, sum.SecondsRounds, sum.SecondsRecords, sum.SecondsPlots, sum.SecondsMeasuring)
	}
	if sum.SecondsReading <= 0 || sum.SecondsMeasuring <= 0 || math.Abs(parts-sum.SecondsTotal) > 1e-9 {
		t.Errorf("%v s of training, %v of reading, %v of measuring, %v in all", sum.Seconds, sum.SecondsReading, sum.SecondsMeasuring, sum.SecondsTotal)
	}
	data := require.Value(os.ReadFile(rundir.Dir(dir).Summary()))(t)
	var keys struct {
		Rates map[string]struct {
			ByGroup []struct {
				Group string
				Rates map[string]struct {
					Value    float64
					Interval []float64
				}
			} `json:"by_group"`
		}
	}
	require.NoError(t, json.Unmarshal(data, &keys))
	if g := keys.Rates["test"].ByGroup; len(g) != 2 || len(g[0].Rates["fpr"].Interval) != 2 {
		t.Errorf("%+v", g)
	}
}

// distance returns the distance from p to the nearest vertex of the curve.
func distance(curve []results.ROCPoint, p results.ROCPoint) float64 {
	least := math.Inf(1)
	for _, q := range curve {
		least = min(least, math.Hypot(q.FPR-p.FPR, q.TPR-p.TPR))
	}
	return least
}

// Every value of an attribute is a group, in addition to the groups of the task. No group occurs
// twice.
func TestRateGroups(t *testing.T) {
	r := load.Rows{
		Labels: make([]int, 4), Groups: []constraints.Group{{Name: "sex=Female", Rows: []int{0, 2}}},
		Attributes: []constraints.Attribute{
			{Name: "sex", Values: []string{"Female", "Male"}, Of: []int{0, 1, 0, 1}},
			{Name: "age<25", Values: []string{"no", "yes"}, Of: []int{0, -1, 1, 1}},
		},
	}
	want := []results.Group{{Name: "sex=Female", Rows: []int{0, 2}}, {Name: "sex=Male", Rows: []int{1, 3}},
		{Name: "age<25=no", Rows: []int{0}}, {Name: "age<25=yes", Rows: []int{2, 3}}}
	got := require.Value(r.RateGroups(nil))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The outcome of a published problem lists what its constraints stand for. Each gap occurs once, in
// every form in which the method states the gap. The value on decisions stands beside the value of
// the surrogate.
func TestSurrogateOutcome(t *testing.T) {
	notUnderRace(t)
	compas := func() Source {
		return Table{Dataset: "synthetic-compas", TableOptions: tabular.TableOptions{Split: tabular.DefaultSplit}}
	}
	for _, c := range []struct {
		name    string
		options Options
		want    []string // texts of the constraints
		kinds   []string // kinds of the rates in the gaps
		minimum string
	}{
		{"split", Options{Data: compas(), Task: EqualizedOdds{Epsilon: []float64{0.01, 0.02}}}, // PPALA needs two smooth constraints for each gap
			[]string{`gap(tpr, "race=African-American") <= 0.01`, `gap(fpr, "race=African-American") <= 0.02`}, []string{"tpr", "fpr"}, "error"},
		{"absolute", Options{Data: compas(), Task: DemographicParity{}, Method: &method.PLADA{}},
			[]string{`gap(positive_rate, "race=African-American") <= 0.01`}, []string{"positive_rate"}, "error"},
		{"largest", Options{Data: compas(), Task: EqualizedOdds{Gaps: constraints.Maximum}, Method: &method.PLADA{}},
			[]string{`gap(tpr, "race=African-American") <= 0.01`, `gap(fpr, "race=African-American") <= 0.01`}, []string{"tpr", "fpr"}, "error"},
		{"classes", Options{Data: Images{Dataset: "synthetic", RowsPerClass: 20}, Task: NeymanPearson{}},
			[]string{"error[C] <= 0.2", "error[S] <= 0.2", "error[3] <= 0.2"}, nil, "error[O]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.Settings = trainer.Settings{Iterations: 20}
			s := require.Value(New(t.Context(), c.options))(t)
			defer s.Close()
			r := require.Value(s.Train(t.Context()))(t)
			o := r.Outcome
			if o == nil || o.BoundsOn != constraints.OnSurrogate || len(o.Constraints) != len(c.want) || o.Objective.Name != c.minimum || o.GradientEvaluations < 20 {
				t.Fatalf("%+v", o)
			}
			worst := math.Inf(-1)
			for j, got := range o.Constraints {
				if got.Constraint != c.want[j] {
					t.Errorf("%s, want %s", got.Constraint, c.want[j])
				}
				if got.Train == nil || got.Test == nil || got.Interval == nil || !(got.Interval[0] <= *got.Test && *got.Test <= got.Interval[1]) {
					t.Errorf("%s: test %v, interval %v", got.Constraint, got.Test, got.Interval)
				}
				worst = max(worst, *got.Surrogate-got.Bound)
				if *got.SurrogateMet != (*got.Surrogate-got.Bound <= 1e-3) || got.Met != got.State.Holds() || got.Met && *got.Train > got.Bound+got.Tolerance+1e-12 {
					t.Errorf("%+v", got)
				}
			}
			if v := max(0, worst); math.Abs(v-maxViolation(r.Constraints)) > 1e-12 {
				t.Errorf("the largest violation of the outcome is %v, of the constraints %v", v, maxViolation(r.Constraints))
			}
			for j, kind := range c.kinds {
				test := r.Splits[len(r.Splits)-1].Rates.ByGroup
				a, b := test[0].Rates[kind], test[1].Rates[kind]
				if d := math.Abs(math.Abs(a.Value-b.Value) - *o.Constraints[j].Test); d > 1e-12 {
					t.Errorf("%s: the gap differs by %v from the rates", c.want[j], d)
				}
				want := hits(a).Estimate(0.025).Plus(hits(b).Estimate(0.025).Times(-1)).Interval()
				want = rates.Interval{Low: max(0, want.Low, -want.High), High: max(want.High, -want.Low)}
				if got := o.Constraints[j].Interval; math.Abs(got[0]-want.Low) > 1e-15 || math.Abs(got[1]-want.High) > 1e-15 {
					t.Errorf("%s: interval %v, want %v", c.want[j], got, want)
				}
			}
		})
	}
}

// maxViolation returns the largest positive element, or 0.
func maxViolation(g []float64) (v float64) {
	for _, x := range g {
		v = max(v, x)
	}
	return v
}

// The intersectional problem compares each group's error with the error of all rows. If the groups
// share a bound, and with bounds on decisions, the outcome has the largest excess.
func TestIntersectionalOutcome(t *testing.T) {
	require.NoRace(t, "TestDecisionsTrain runs the same goroutines")
	overlapping := []string{"sex=Female", "race=African-American", "age<30"}
	source := Table{Dataset: "synthetic-compas", TableOptions: tabular.TableOptions{Split: tabular.DefaultSplit, Groups: overlapping}}
	own := Intersectional{Epsilon: slices.Repeat([]float64{0.02}, len(overlapping))}
	for _, task := range []Task{Intersectional{}, own, Intersectional{BoundsOn: constraints.OnDecisions}} {
		s := require.Value(New(t.Context(), Options{Data: source, Task: task, Settings: trainer.Settings{Iterations: 5, Seed: 1}}))(t)
		r := require.Value(s.Train(t.Context()))(t)
		train := r.Splits[0].Rates
		largest := math.Inf(-1)
		for k, g := range train.ByGroup[:len(overlapping)] {
			want := g.Rates["error"].Value - train.Overall["error"].Value
			largest = max(largest, want)
			if len(r.Outcome.Constraints) > 1 && math.Abs(*r.Outcome.Constraints[k].Train-want) > 1e-12 {
				t.Fatalf("%s: %v, want %v", r.Outcome.Constraints[k].Constraint, *r.Outcome.Constraints[k].Train, want)
			}
		}
		switch list := r.Outcome.Constraints; {
		case list[0].Interval == nil:
			t.Errorf("%T: no interval", task)
		case len(list) == len(own.Epsilon):
		case len(list) != 1 || list[0].Constraint != "excess(error, groups) <= 0.01" || math.Abs(*list[0].Train-largest) > 1e-12:
			t.Errorf("%T: %+v, want the value %v", task, list[0], largest)
		}
		_ = s.Close()
	}
}

// hits returns a rate as a number of hits among rows.
func hits(r results.Rate) rates.Count {
	return rates.Count{Hits: int(math.Round(r.Value * float64(r.Rows))), Rows: r.Rows}
}

// The examples of a table are rows of its file that the model decides wrongly, with their texts.
// The run's directory has them in details.json, and a page.
func TestExamplesOfTable(t *testing.T) {
	require.NoRace(t, "TestConfidenceOfRates and the tests of the program save with the same goroutines")
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
	require.NoRace(t, "TestRunsAreDeterministic runs the same goroutines")
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
	require.NoRace(t, "TestRunsAreDeterministic runs the same goroutines")
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

// TestFewAcceptedRows checks that fewer than 10 accepted rows, or 1% of the training rows, are a
// warning with advice, unless as few rows are positive.
func TestFewAcceptedRows(t *testing.T) {
	require.NoRace(t, "TestConfidenceOfRates runs the same goroutines")
	for text, want := range map[string]bool{"positive_rate <= 0.006": true, "positive_rate <= 0.05": false} {
		o := Options{Data: Matrices{Train: applicants(1000, 1)}, Task: Decisions{Minimize: constraints.FNR(), SubjectTo: subject(t, text)},
			Settings: trainer.Settings{Iterations: 200}, Device: Device{Kind: CPU, Threads: 2}}
		r := trained(t, o)
		got := ""
		for _, w := range r.Training.Warnings {
			if w.Code == WarnFewPositive {
				got = w.Text
			}
		}
		if (got != "") != want || want && (!strings.Contains(got, " of 1000 training rows, and ") || !strings.HasSuffix(got, "looser bounds")) {
			t.Errorf("%s: warning %q at a rate of %v", text, got, *r.Outcome.AcceptanceRate.Train)
		}
	}
}
