package predictor_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ppal/constraints"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models/predictor"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// trial is a table and how a run reads it. The columns are grp, sex, age, x and y.
type trial struct {
	name    string
	grp     []string // the values of grp
	labels  []string // the values of y, in increasing order of the hidden score
	comma   bool     // the fields have decimal commas and semicolons between them
	missing string   // columns with missing values in some rows, separated by blanks
	format  string   // "", tsv, parquet, libsvm or test file
	set     func(o *session.Table)
	bounds  string       // constraints, separated by semicolons
	task    session.Task // instead of bounds
	churn   bool         // one more bound, on the churn against earlier decisions
}

const (
	trialRows  = 300
	trialTests = 60 // rows of the test file
)

// records returns the rows of the trial, with the columns' names first.
func (c *trial) records() [][]string {
	rng := rand.New(rand.NewPCG(7, 11))
	list := [][]string{{"grp", "sex", "age", "x", "y"}}
	for range trialRows {
		g, male, x := rng.IntN(len(c.grp)), rng.IntN(5) < 2, rng.NormFloat64()
		score := x + rng.NormFloat64() + 0.6*float64(g%2)
		if male {
			score -= 0.7
		}
		at := min(max(0, int((score+2)/4*float64(len(c.labels)))), len(c.labels)-1)
		r := []string{c.grp[g], "F", fmt.Sprint(18 + rng.IntN(50)), fmt.Sprintf("%.3f", x), c.labels[at]}
		if male {
			r[1] = "M"
		}
		if c.comma {
			r[3] = strings.Replace(r[3], ".", ",", 1)
		}
		for k, name := range list[0] {
			if rng.IntN(12) == 0 && slices.Contains(strings.Fields(c.missing), name) {
				r[k] = []string{"", "NA", "?"}[rng.IntN(3)]
			}
		}
		list = append(list, r)
	}
	return list
}

// encoded returns the records as a file in the trial's format.
func (c *trial) encoded(t *testing.T, records [][]string) string {
	t.Helper()
	var out bytes.Buffer
	switch c.format {
	case "libsvm":
		for _, r := range records[1:] {
			fmt.Fprintf(&out, "%s qid:%s 1:%s", r[4], r[2], r[3])
			if r[1] == "M" {
				out.WriteString(" 2:1")
			}
			fmt.Fprintf(&out, " %d:1\n", 3+slices.Index(c.grp, r[0]))
		}
		return out.String()
	case "parquet":
		return parquetOf(t, records)
	}
	w := csv.NewWriter(&out)
	switch {
	case c.format == "tsv":
		w.Comma = '\t'
	case c.comma:
		w.Comma = ';'
	}
	require.NoError(t, w.WriteAll(records))
	return out.String()
}

// parquetOf returns a Parquet file of texts.
func parquetOf(t *testing.T, records [][]string) string {
	t.Helper()
	columns := make([]datatest.Column, len(records[0]))
	for k, name := range records[0] {
		var texts []string
		for _, r := range records[1:] {
			texts = append(texts, r[k])
		}
		columns[k] = datatest.Texts(name, texts...)
	}
	return string(datatest.ParquetOf(t, 1, columns))
}

// earlier writes decisions on the rows with the given numbers, which the rows determine, and
// returns the file. Every fifth row has no decision.
func (c *trial) earlier(t *testing.T, numbers []int) string {
	t.Helper()
	text := "row,decision\n"
	for k, n := range numbers {
		if n%5 > 0 {
			text += fmt.Sprintf("%d,%s\n", k+1, c.labels[len(c.labels)-1-n%2*(len(c.labels)-1)])
		}
	}
	return write(t, text)
}

// parsed returns the constraints of the trial.
func parsed(t *testing.T, texts string) (list []constraints.Constraint) {
	t.Helper()
	for _, text := range strings.Split(texts, "; ") {
		c := require.Value(constraints.Parse(text))(t)
		list = append(list, c)
	}
	return list
}

// trials returns every kind of attribute, label, missing policy and option, alone and together.
func trials() (list []trial) {
	yes := []string{"no", "yes"}
	for i, kind := range []trial{
		{name: "text", grp: []string{"a", "b", "B", "c d", "e, f"}},
		{name: "codes", grp: []string{"02139", "2139", "10001", "00501"}, set: func(o *session.Table) { o.Categorical = []string{"grp"} }},
		{name: "codes as numbers", grp: []string{"02139", "2139", "10001", "00501"}},
		{name: "codes without features", grp: []string{"02139", "2139", "10001"}, set: func(o *session.Table) {
			o.Categorical, o.Ignore = []string{"grp"}, []string{"grp"}
		}},
		{name: "trailing zeros", grp: []string{"250.1", "250.10", "3.50"}, set: func(o *session.Table) { o.Categorical = []string{"grp"} }},
		{name: "trailing zeros as numbers", grp: []string{"250.1", "250.10", "3.50"}},
		{name: "big ids", grp: []string{"9007199254740993", "9007199254740992", "12345678901234567890"},
			set: func(o *session.Table) { o.Categorical = []string{"grp"} }},
		{name: "big ids as numbers", grp: []string{"9007199254740993", "9007199254740992", "12345678901234567890"}},
		{name: "decimal commas", comma: true, grp: []string{"1,5", "2,50", "2,5"}},
		{name: "thousands", comma: true, grp: []string{"1.200,5", "900,25", "6.905,50"}},
		{name: "thousands without features", comma: true, grp: []string{"1.200,5", "900,25"}, set: func(o *session.Table) { o.Ignore = []string{"grp"} }},
		{name: "thousands with points", grp: []string{"1,200.5", "900.25", "6,905.50"}},
		{name: "floats", grp: []string{"1.0", "2.0", "3.0"}},
		{name: "booleans", grp: []string{"True", "False"}},
		{name: "dates", grp: []string{"2020-01-31", "2021-12-01"}, set: func(o *session.Table) { o.Dates = tabular.DatesExpanded }},
	} {
		if kind.labels = yes; kind.set == nil {
			kind.set = func(*session.Table) {}
		}
		add := func(name, missing, bounds string, set func(o *session.Table)) {
			c := kind
			c.name, c.missing, c.bounds = kind.name+", "+name, missing, bounds
			c.set = func(o *session.Table) {
				kind.set(o)
				set(o)
			}
			list = append(list, c)
		}
		add("attribute", "", "gap(positive_rate, grp) <= 0.1; error[grp=*, min 40] <= 0.5; gap(tpr, grp*sex, min 12) <= 0.3", func(*session.Table) {})
		if i%2 == 0 { // each treatment of missing values meets texts, codes and numbers
			add("flag", "grp x", "gap(positive_rate, grp) <= 0.1; distance(positive_rate, sex!=F) <= 0.1", func(o *session.Table) { o.Missing = tabular.MissingFlagged })
			continue
		}
		add("drop, groups", "grp x y", "excess(error, grp) <= 0.2; fpr <= 0.4", func(o *session.Table) {
			o.Missing, o.Groups = tabular.MissingDropped, []string{"grp"}
			if len(o.Ignore) == 0 {
				o.DropSensitive = true
			}
		})
	}
	codes := []string{"1", "2"}
	return append(list,
		trial{name: "condition", grp: codes, labels: yes, bounds: "gap(tpr, age<35) <= 0.1; ratio(positive_rate, 25<=age<45) >= 0.8"},
		trial{name: "condition, flag", grp: codes, labels: yes, missing: "age sex", bounds: "gap(tpr, age<35) <= 0.1; gap(positive_rate, \"sex=missing\") <= 0.3",
			set: func(o *session.Table) { o.Missing = tabular.MissingFlagged }},
		trial{name: "condition, impute", grp: codes, labels: yes, missing: "age", bounds: "gap(tpr, age<35) <= 0.1",
			set: func(o *session.Table) { o.Missing = tabular.MissingImputed }},
		trial{name: "impute, a group with gaps", grp: codes, labels: yes, missing: "sex", bounds: "gap(fpr, sex) <= 0.1",
			set: func(o *session.Table) { o.Missing = tabular.MissingImputed }},
		trial{name: "value", grp: codes, labels: yes, bounds: "positive_rate[F] <= 0.6; tpr[sex=M] >= 0.2; precision[sex=*] >= 0.3"},
		trial{name: "group against the rest", grp: codes, labels: yes, bounds: "fpr <= 0.4", set: func(o *session.Table) { o.Groups = []string{"age<35"} }},
		trial{name: "overlapping groups", grp: codes, labels: yes, bounds: "excess(error, groups) <= 0.2; error[groups=*] <= 0.6",
			set: func(o *session.Table) { o.Groups = []string{"age<35", "sex=F", "grp!=1"} }},
		trial{name: "disjoint conditions", grp: []string{"1", "2", "3"}, labels: yes, bounds: "gap(positive_rate, grp) <= 0.2",
			set: func(o *session.Table) { o.Groups = []string{"grp=1", "grp=3"} }},
		trial{name: "parity", grp: codes, labels: yes, task: session.DemographicParity{BoundsOn: constraints.OnDecisions},
			set: func(o *session.Table) { o.Groups = []string{"sex=F"} }},
		trial{name: "parity of a condition", grp: codes, labels: yes, task: session.DemographicParity{BoundsOn: constraints.OnDecisions},
			set: func(o *session.Table) { o.Groups, o.DropSensitive = []string{"25<=age<45"}, true }},
		trial{name: "odds", grp: codes, labels: yes, missing: "sex", task: session.EqualizedOdds{BoundsOn: constraints.OnDecisions},
			set: func(o *session.Table) { o.Missing, o.Groups = tabular.MissingFlagged, []string{"sex!=M"} }},
		trial{name: "disjoint intersectional groups", grp: []string{"1", "2", "3"}, labels: yes, task: session.Intersectional{BoundsOn: constraints.OnDecisions, Epsilon: []float64{0.1}},
			set: func(o *session.Table) { o.Groups = []string{"grp=1", "grp=3"} }},
		trial{name: "overlapping intersectional groups", grp: []string{"1", "2", "3"}, labels: yes, task: session.Intersectional{BoundsOn: constraints.OnDecisions, Epsilon: []float64{0.1}},
			set: func(o *session.Table) { o.Groups = []string{"grp=1", "age<40"} }},
		trial{name: "parity on surrogates", grp: codes, labels: yes, task: session.DemographicParity{}, set: func(o *session.Table) { o.Groups = []string{"sex=M"} }},
		trial{name: "three classes", grp: codes, labels: []string{"low", "mid", "top"}, bounds: "recall[*] >= 0.1; gap(positive_rate[top], sex) <= 0.2"},
		trial{name: "numbered classes", grp: codes, labels: []string{"1", "2", "10"}, bounds: "recall[*] >= 0.1; error[sex=*] <= 0.7"},
		trial{name: "chosen classes", grp: codes, labels: []string{"low", "mid", "odd", "top"}, bounds: "error[*] <= 0.8; gap(error, sex) <= 0.3",
			set: func(o *session.Table) { o.Classes = []string{"top", "mid", "low"} }},
		trial{name: "two chosen classes", grp: codes, labels: []string{"low", "mid", "top"}, bounds: "fpr <= 0.5; gap(tpr, sex) <= 0.3",
			set: func(o *session.Table) { o.Classes = []string{"low", "top"} }},
		trial{name: "label value of several", grp: codes, labels: []string{"low", "mid", "top"}, bounds: "fpr <= 0.5; gap(tpr, sex) <= 0.3",
			set: func(o *session.Table) { o.Label = "y=top" }},
		trial{name: "label with zeros", grp: codes, labels: []string{"00", "01"}, bounds: "fpr <= 0.5; gap(tpr, sex) <= 0.3", set: func(o *session.Table) { o.Label = "y=01" }},
		trial{name: "label as number", grp: codes, labels: []string{"0.0", "1.0"}, bounds: "fpr <= 0.5", set: func(o *session.Table) { o.Label = "y=1" }},
		trial{name: "compared label", grp: codes, labels: []string{"10", "20.0", "30", "40"}, bounds: "fpr <= 0.5; gap(tpr, sex) <= 0.3",
			set: func(o *session.Table) { o.Label = "y>=25" }},
		trial{name: "compared label, commas", comma: true, grp: codes, labels: []string{"1.000,5", "2,5", "3.000,25"}, bounds: "fpr <= 0.5; gap(tpr, sex) <= 0.3",
			set: func(o *session.Table) { o.Label = "y>=1000" }},
		trial{name: "other labels", grp: codes, labels: []string{"a", "A", "b"}, bounds: "fpr <= 0.5; gap(tpr, sex) <= 0.3", set: func(o *session.Table) { o.Label = "y!=b" }},
		trial{name: "codes as compared label", grp: codes, labels: []string{"01", "2", "3"}, bounds: "fpr <= 0.5",
			set: func(o *session.Table) { o.Label, o.Categorical = "y!=01", []string{"y"} }},
		trial{name: "churn", grp: codes, labels: yes, bounds: "fpr <= 0.5", churn: true},
		trial{name: "churn, drop", grp: codes, labels: yes, missing: "x sex y", bounds: "gap(fpr, sex) <= 0.5", churn: true,
			set: func(o *session.Table) { o.Missing = tabular.MissingDropped }},
		trial{name: "churn, chosen classes", grp: codes, labels: []string{"low", "mid", "odd", "top"}, bounds: "fpr <= 0.5", churn: true,
			set: func(o *session.Table) { o.Classes = []string{"low", "top"} }},
		trial{name: "TSV", format: "tsv", grp: []string{"01", "1"}, labels: yes, bounds: "gap(fpr, grp) <= 0.2", set: func(o *session.Table) { o.Categorical = []string{"grp"} }},
		trial{name: "Parquet", format: "parquet", grp: []string{"01", "1"}, labels: yes, missing: "sex", bounds: "gap(fpr, sex) <= 0.2; gap(fpr, grp) <= 0.2",
			set: func(o *session.Table) { o.Missing, o.Categorical = tabular.MissingFlagged, []string{"grp"} }},
		trial{name: "LIBSVM", format: "libsvm", grp: codes, labels: []string{"-1", "+1"}, bounds: "gap(fpr, 2) <= 0.2; fpr <= 0.4"},
		trial{name: "LIBSVM, groups", format: "libsvm", grp: []string{"1", "2", "3"}, labels: []string{"0", "1", "2.0"}, bounds: "gap(error, 2) <= 0.2; recall[*] >= 0.1",
			set: func(o *session.Table) { o.Groups, o.DropSensitive = []string{"3", "4", "5"}, true }},
		trial{name: "LIBSVM, queries", format: "libsvm", grp: []string{"1", "2"}, labels: []string{"0", "1", "2"}, bounds: "gap(fpr, 2) <= 0.2",
			set: func(o *session.Table) { o.Query, o.Relevant = "qid", "0" }},
		trial{name: "LIBSVM, classes", format: "libsvm", grp: codes, labels: []string{"0", "1", "2"}, bounds: "error[*] <= 0.6",
			set: func(o *session.Table) { o.Classes = []string{"2", "0"} }},
		trial{name: "test file", format: "test file", grp: []string{"01", "1"}, labels: yes, bounds: "gap(fpr, grp, min 30) <= 0.2",
			set: func(o *session.Table) { o.Unknown, o.Categorical = tabular.UnknownIgnored, []string{"grp"} }},
	)
}

// On a run's own training, validation and test rows, Evaluate gives the classes, the groups, the
// rates, the values of the constraints and the judgements of the run.
func TestEvaluateTrainedRows(t *testing.T) {
	list := trials()
	if len(list) < 40 {
		t.Fatalf("%d trials", len(list))
	}
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) { c.check(t) })
	}
}

// check trains, and compares Evaluate with the run on the rows of each split.
func (c *trial) check(t *testing.T) {
	records := c.records()
	dir := t.TempDir()
	put := func(name string, records [][]string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(c.encoded(t, records)), 0o644))
		return path
	}
	files := map[string][][]string{"": records}
	var source session.Table
	switch c.format {
	case "libsvm":
		source = session.LIBSVM(put("rows", records))
	case "test file":
		late := append([][]string{records[0]}, records[trialRows-trialTests:]...)
		late[1][0], late[1][1] = "new", "X"
		source = session.CSV(put("rows", records[:trialRows-trialTests]), "y")
		source.TestFile = put("late", late)
		files = map[string][][]string{source.File: records[:trialRows-trialTests], source.TestFile: late}
	default:
		source = session.CSV(put("rows", records), "y")
	}
	if c.set != nil {
		c.set(&source)
	}
	task := c.task
	all := make([]int, len(records)-1)
	for i := range all {
		all[i] = i + 1
	}
	if task == nil {
		subject := parsed(t, c.bounds)
		if c.churn {
			subject = append(subject, constraints.Churn(c.earlier(t, all)).AtMost(0.9))
		}
		task = session.Decisions{SubjectTo: subject}
	}
	run, result := train(t, source, task)
	m := load(t, run)
	rows := require.Value(rundir.Dir(run).ReadRows(m.Description().Rows))(t)
	for _, split := range result.Splits {
		own, numbers := [][]string{records[0]}, []int(nil)
		for _, r := range rows {
			if r.Split == split.Name {
				own, numbers = append(own, files[r.File][r.Number]), append(numbers, r.Number)
			}
		}
		o := predictor.EvaluateOptions{Options: predictor.Options{IgnoreUnknown: source.Unknown == tabular.UnknownIgnored}}
		if c.churn {
			o.Earlier = map[string]string{"": c.earlier(t, numbers)}
		}
		e, err := m.Evaluate(strings.NewReader(c.encoded(t, own)), string(split.Name), o)
		if err != nil {
			t.Fatalf("%s: %v", split.Name, err)
		}
		if e.Rows != len(own)-1 {
			t.Errorf("%s: %d rows, want %d", split.Name, e.Rows, len(own)-1)
		}
		c.compare(t, e, &split, result.Outcome)
		if c.format != "libsvm" {
			c.rowByRow(t, m, own, o.Options)
		}
	}
	o := predictor.EvaluateOptions{Options: predictor.Options{IgnoreUnknown: true}}
	if c.churn {
		o.Earlier = map[string]string{"": c.earlier(t, all)}
	}
	e, err := m.Evaluate(strings.NewReader(c.encoded(t, records)), "all rows", o)
	if err != nil || (e.LeftOut > 0) != (source.Missing == tabular.MissingDropped) {
		t.Fatalf("all rows: %+v, %v", e, err)
	}
	if c.churn { // the rows that are left out must not shift the decisions
		c.compareChurn(t, e, result, rows)
	}
}

// rowByRow compares Row with Read on each of the records.
func (c *trial) rowByRow(t *testing.T, m *predictor.Model, records [][]string, o predictor.Options) {
	t.Helper()
	err := m.Read(strings.NewReader(c.encoded(t, records)), "rows", o, func(b *predictor.Batch) error {
		for i, decision := range b.Decisions {
			texts := map[string]string{}
			for k, name := range records[0] {
				texts[name] = records[1+b.First+i][k]
			}
			got, err := m.Row(texts, o)
			scores := b.Scores[i*m.Outputs() : (i+1)*m.Outputs()]
			if err != nil || got.Decision != decision || !slices.Equal(got.Scores, scores) {
				return fmt.Errorf("row %d: %+v, %v; Read has %v, %d", b.First+i, got, err, scores, decision)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// compareChurn compares the churn of all rows with the churns of the splits.
func (c *trial) compareChurn(t *testing.T, e *predictor.Evaluation, result *session.Result, rows []rundir.Row) {
	t.Helper()
	churn := result.Outcome.Constraints[len(result.Outcome.Constraints)-1]
	of := map[results.Split]*float64{results.Training: churn.Train, results.Validation: churn.Validation, results.Test: churn.Test}
	changed, n := 0.0, 0.0
	for _, r := range rows {
		if r.Number%5 > 0 {
			changed, n = changed+*of[r.Split], n+1
		}
	}
	if v := e.Constraints[len(e.Constraints)-1].Value; v == nil || math.Abs(*v-changed/n) > 1e-12 {
		t.Errorf("all rows: churn %v, want %v", *v, changed/n)
	}
}

// compare compares an evaluation of a split's rows with the measures of the run.
func (c *trial) compare(t *testing.T, e *predictor.Evaluation, split *session.SplitMeasures, o *results.Outcome) {
	t.Helper()
	near := cmp.Options{cmpopts.EquateApprox(0, 1e-12), cmpopts.EquateEmpty()}
	name := split.Name
	if diff := cmp.Diff(split.Rates.Classes, e.Classes) + cmp.Diff(split.Rates.Confusion, e.Confusion); diff != "" {
		t.Errorf("%s: classes: %s", name, diff)
	}
	of := map[string][2]float64{} // rows and error of each group of the run
	for _, g := range split.Rates.ByGroup {
		of[g.Group] = [2]float64{float64(g.Rows), g.Rates["error"].Value}
	}
	got := map[string][2]float64{}
	for _, g := range e.Rates.ByGroup {
		if !slices.Contains(e.NewValues, g.Group) {
			got[g.Group] = [2]float64{float64(g.Rows), g.Rates["error"].Value}
		}
	}
	if diff := cmp.Diff(of, got, near); diff != "" {
		t.Errorf("%s: groups: %s", name, diff)
	}
	if o == nil {
		return
	}
	if len(e.Constraints) != len(o.Constraints) {
		t.Fatalf("%s: %d constraints, want %d", name, len(e.Constraints), len(o.Constraints))
	}
	for j, want := range o.Constraints {
		value := map[results.Split]*float64{results.Training: want.Train, results.Validation: want.Validation, results.Test: want.Test}[name]
		got := e.Constraints[j]
		switch {
		case (value == nil) != (got.Value == nil), value != nil && math.Abs(*value-*got.Value) > 1e-12:
			t.Errorf("%s: %s: %+v, the run has %v", name, want.Constraint, got, value)
		case name == results.Training && got.Met != nil && *got.Met != want.Met:
			t.Errorf("%s: met %t, the run says %t", want.Constraint, *got.Met, want.Met)
		}
	}
}
