package session

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
)

// subject parses the texts of constraints.
func subject(t testing.TB, texts ...string) (list []constraints.Constraint) {
	t.Helper()
	for _, text := range texts {
		c := require.Value(constraints.Parse(text))(t)
		list = append(list, c)
	}
	return list
}

// TestDecisionsTrain trains on surrogates under constraints of every kind. It compares the values
// of the certificate and of the host with those of the training problem.
func TestDecisionsTrain(t *testing.T) {
	table := Table{Dataset: "synthetic-adult"}
	for _, tc := range []struct {
		name  string
		task  Decisions
		o     func(o *Options)
		count int // number of inequalities
	}{
		{"gaps, rates and ratios", Decisions{SubjectTo: subject(t, "gap(tpr, race, min 20) <= 0.1", "gap(positive_rate, sex) <= 0.05", "fpr <= 0.1",
			"precision >= 0.5", "ratio(tnr, sex) >= 0.8", "error[sex=*] <= 0.4", "loss <= 0.7")}, nil, 20 + 2 + 1 + 1 + 2 + 2 + 1},
		{"Neyman-Pearson with an l1 budget", Decisions{Minimize: constraints.FNR(), SubjectTo: subject(t, "fpr <= 5%", "l1(weights) <= 10")}, nil, 2},
		{"a group by its value alone", Decisions{SubjectTo: subject(t, "fpr[Female] <= 0.2")}, nil, 1},
		{"loss, a network, mini-batches", Decisions{Minimize: constraints.Loss(), SubjectTo: subject(t, "gap(fpr, sex) <= 0.05", "loss[sex=Female] <= 0.7",
			"l1(weights) <= 100")}, func(o *Options) { narrow(o); o.BatchSize = 500 }, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.o == nil { // the last case runs the same goroutines, and those of mini-batches
				notUnderRace(t)
			}
			tc.task.BoundsOn = constraints.OnSurrogate
			o := onTable(tc.task, table, tc.o)
			o.Device.Dtype = tensor.Float64
			e := buildOptions(t, o)
			r := require.Value(e.Optimize(context.Background(), trainer.Settings{Iterations: 60}))(t)
			final := require.Value(e.Certify(r))(t)
			if len(final.Constraints) != tc.count {
				t.Errorf("%d inequalities, want %d: %v", len(final.Constraints), tc.count, e.builder.statement.names())
			}
			if worst := problem.MaxViolation(final.Constraints); math.IsNaN(worst) || worst > 0.3 {
				t.Errorf("the violation is %v", worst)
			}
			// the smooth rates of the host equal those of the graph
			g := make([]float64, len(final.Constraints))
			f := require.Value(e.problem.Forward(g))(t)
			want := []float64{f}
			for j, v := range g {
				want = append(want, v+e.builder.statement.Constraints[j].Bound)
			}
			nearly(t, "smooth values", final.Values, want)
			sameAsTheBlocks(t, e, exactInBlocks(t, e, 501))
		})
	}
}

// sameAsTheBlocks compares f, g and a gradient of smooth, in blocks of rows, with those of all rows
// at once.
func sameAsTheBlocks(t *testing.T, e *assembly, smooth *build.Exact) {
	t.Helper()
	p := require.Value(e.builder.statement.complete(smooth))(t)
	n, m := p.Dims()
	g, want := make([]float64, m), make([]float64, m)
	f := require.Value(p.Forward(g))(t)
	whole := require.Value(e.problem.Forward(want))(t)
	nearly(t, "f, g", append(g, f), append(want, whole))
	weights := make([]float64, 1+m)
	for j := range weights {
		weights[j] = 1 / float64(1+j)
	}
	a, b := p.Space().New(), e.problem.Space().New()
	require.NoError(t, p.Backward(weights, a))
	require.NoError(t, e.problem.Backward(weights, b))
	x, y := make([]float64, n), make([]float64, n)
	p.Space().Read(x, a)
	e.problem.Space().Read(y, b)
	nearly(t, "gradient", x, y)
}

// TestDecisionsOfClasses trains a network for pictures of three classes under class constraints.
func TestDecisionsOfClasses(t *testing.T) {
	notUnderRace(t)
	task := Decisions{SubjectTo: subject(t, "recall[*] >= 0.8", "precision[C] >= 0.5", "fpr[S] <= 0.2", "loss[o] <= 1")}
	o := Options{Data: Images{Dataset: "synthetic", Classes: []int{0, 1, 2}, RowsPerClass: 100}, Task: task, Model: &models.Spec{Hidden: []int{8}},
		Device: Device{Dtype: tensor.Float64}}
	e := buildOptions(t, o)
	r := require.Value(e.Optimize(context.Background(), trainer.Settings{Iterations: 150}))(t)
	final := require.Value(e.Certify(r))(t)
	if worst := problem.MaxViolation(final.Constraints); len(final.Constraints) != 6 || worst > 0.1 {
		t.Errorf("%d inequalities, the violation is %v", len(final.Constraints), worst)
	}
	if got := final.Splits[0].Named["error"]; got > 0.2 {
		t.Errorf("the training error is %v", got)
	}
	sameAsTheBlocks(t, e, exactInBlocks(t, e, 101))
}

// TestDecisionsRefuse checks the errors of constraints that do not fit the rows.
func TestDecisionsRefuse(t *testing.T) {
	require.NoRace(t, "TestDecisionsTrain runs the same goroutines")
	table := Table{Dataset: "synthetic-adult"}
	for _, tc := range []struct {
		task Decisions
		want string
	}{
		{Decisions{Confidence: 0.9}, "confidence promises bounds, and the run has none"},
		{Decisions{SubjectTo: subject(t, "gap(tpr, rase) <= 0.1")}, `did you mean "race"?`},
		{Decisions{SubjectTo: subject(t, "fpr[Femal] <= 0.1")}, "there is no class or group"},
		{Decisions{SubjectTo: subject(t, "fpr[sex=Femal] <= 0.1")}, "did you mean Female?"},
		{Decisions{SubjectTo: subject(t, "gap(precision, sex) <= 0.1")}, "not linear"},
		{Decisions{SubjectTo: subject(t, "churn(none.csv) <= 0.1")}, "none.csv"},
	} {
		_, err := New(context.Background(), onTable(tc.task, table, nil))
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v, want %q", tc.task, err, tc.want)
		}
	}
}

// TestChurn reads earlier decisions from a file.
func TestChurn(t *testing.T) {
	notUnderRace(t)
	tables := require.Value(datasets.LoadTable("", "synthetic-adult", tabular.TableOptions{Seed: 1}))(t)
	file := filepath.Join(t.TempDir(), "old.csv")
	text := []byte("row,score,decision\n")
	kept := 0
	for _, part := range tables.Parts() {
		for i, row := range part.Source {
			if part.Name == "training" && i%3 == 0 {
				continue // the row has no earlier decision
			}
			decision := part.Classes[0]
			if i%5 == 0 {
				decision = part.Classes[1]
			}
			text = fmt.Appendf(text, "%d,0,%s\n", row+1, decision)
			if part.Name == "training" {
				kept++
			}
		}
	}
	require.NoError(t, os.WriteFile(file, text, 0o600))
	task := Decisions{SubjectTo: []constraints.Constraint{constraints.Churn(file).AtMost(0.1)}}
	e := buildOptions(t, onTable(task, Table{Dataset: "synthetic-adult"}, nil))
	sample := require.Value(e.builder.statement.decided().sampleOf(e.splits[0]))(t)
	if n := sample.Rows()[1]; n != kept { // rate 0 is the objective's
		t.Errorf("%d training rows have an earlier decision, want %d", n, kept)
	}
	for _, tc := range []struct{ text, want string }{
		{"a,b\n1,2\n", "want the columns row and decision"},
		{"row,decision\nx,y\n", `row is "x"`},
		{"row,decision\n1,perhaps\n", `decision is "perhaps"`},
		{"row,decision\n1," + tables.Train.Classes[0] + "\n1," + tables.Train.Classes[0] + "\n", "has a decision already"},
		{"row,decision\n99999999," + tables.Train.Classes[0] + "\n", "no decision is of a training row"},
	} {
		require.NoError(t, os.WriteFile(file, []byte(tc.text), 0o600))
		if _, err := New(context.Background(), onTable(task, Table{Dataset: "synthetic-adult"}, nil)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %q", tc.text, err, tc.want)
		}
	}
}

// TestChurnOfPictures reads earlier decisions by the rows of the training set. The test rows of
// pictures have no earlier decisions.
func TestChurnOfPictures(t *testing.T) {
	notUnderRace(t)
	images := Images{Dataset: "synthetic", RowsPerClass: 20, Classes: []int{1, 0, 2}, Split: tabular.Split{Train: 80, Validation: 20}}
	first := buildOptions(t, onTable(NeymanPearson{}, images, nil)).data
	text, names := "row,class,score\n", first.Splits[0].Classes
	for k, s := range first.Splits[:2] {
		for i, row := range s.Source {
			if k == 1 || i%4 > 0 { // a quarter of the training rows has no earlier decision
				text += fmt.Sprintf("%d,%s,0\n", row+1, names[i%3].Name)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "old.csv")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	e := buildOptions(t, onTable(Decisions{SubjectTo: []constraints.Constraint{constraints.Churn(file).AtMost(0.1)}}, images, func(o *Options) { o.BatchSize = 30 }))
	n := first.Splits[0].Len()
	sample := require.Value(e.builder.statement.decided().sampleOf(e.splits[0]))(t)
	if got := sample.Rows()[1]; got != n*3/4 {
		t.Errorf("%d of %d training rows have an earlier decision", got, n)
	}
	for k, s := range e.splits {
		scores := make([]float64, 3*s.Len())
		for i := range s.Len() {
			scores[3*i+i%3] = 1 // the earlier decision
		}
		counted := countOn(t, e, s, scores)
		if v := counted.Values[0]; v.Defined != (k < 2) || v.Value != 0 {
			t.Errorf("%s: %+v, want the churn 0", s.Name, v)
		}
	}
}

// countOn counts the decisions of scores on a split.
func countOn(t *testing.T, a *assembly, s *split, scores []float64) constraints.Counted {
	t.Helper()
	sample := require.Value(a.decided().sampleOf(s))(t)
	decided := require.Value(sample.Decide(scores))(t)
	_, smooth, err := sample.Smooth(scores)
	require.NoError(t, err)
	return require.Value(sample.CountWith(decided, smooth))(t)
}

// onDecisions returns a published problem with bounds on decisions.
func onDecisions(t Task) Task {
	switch t := t.(type) {
	case NeymanPearson:
		t.BoundsOn = constraints.OnDecisions
		return t
	case DemographicParity:
		t.BoundsOn = constraints.OnDecisions
		return t
	case EqualizedOdds:
		t.BoundsOn = constraints.OnDecisions
		return t
	case Intersectional:
		t.BoundsOn = constraints.OnDecisions
		return t
	}
	return t
}

// TestPublishedOnDecisions states the published problems as constraints on decisions.
func TestPublishedOnDecisions(t *testing.T) {
	notUnderRace(t)
	adult := Table{Dataset: "synthetic-adult"}
	for _, tc := range []struct {
		task Task
		data Source
		want []string
	}{
		{DemographicParity{}, adult, []string{"gap(positive_rate, sex) <= 0.01"}},
		{EqualizedOdds{Epsilon: []float64{0.1, 0.2}}, adult, []string{"gap(tpr, sex) <= 0.1", "gap(fpr, sex) <= 0.2"}},
		{DemographicParity{Epsilon: []float64{0.05}}, Table{Dataset: "synthetic-compas"}, []string{`gap(positive_rate, "race=African-American") <= 0.05`}},
		{NeymanPearson{Kappa: []float64{0.1, 0.2}}, Images{Dataset: "synthetic", Classes: []int{2, 0, 3}, RowsPerClass: 40},
			[]string{"error[%s] <= 0.1", "error[%s] <= 0.2"}},
	} {
		o := onTable(onDecisions(tc.task), tc.data, nil)
		o.Model = &models.Spec{Hidden: []int{4}}
		e := buildOptions(t, o)
		classes := e.splits[0].Classes
		for k, c := range e.builder.statement.system.Subject {
			want := tc.want[k]
			if before, after, found := strings.Cut(want, "%s"); found {
				want = before + classes[1+k].Name + after
			}
			if c.String() != want {
				t.Errorf("%v: %s, want %s", tc.task, c, want)
			}
		}
		if n := len(e.builder.statement.system.Subject); n != len(tc.want) {
			t.Errorf("%v: %d constraints, want %d", tc.task, n, len(tc.want))
		}
		d, _ := (&Options{Data: tc.data, Task: tc.task}).description()
		if name := e.builder.statement.Name; name != d.Name {
			t.Errorf("the name is %s, want %s", name, d.Name)
		}
	}
	communities := Table{Dataset: "synthetic-communities"}
	for want, task := range map[string]Task{
		"bounds-on": Decisions{BoundsOn: constraints.OnDecisions, Margins: &constraints.Margins{Objective: constraints.Hinge, Constraints: constraints.Hinge}},
		"if-form":   Intersectional{Form: AverageGroup, BoundsOn: constraints.OnDecisions},
		"epsilon":   Intersectional{Epsilon: []float64{0.1, 0.2}, BoundsOn: constraints.OnDecisions},
	} {
		if _, err := New(context.Background(), onTable(task, communities, nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want a refusal of %s", err, want)
		}
	}
	none := onTable(Intersectional{BoundsOn: constraints.OnDecisions}, Matrices{Train: &Matrix{Features: &matrix.Dense{Rows: 2, Cols: 1, Data: make([]float64, 2)}, Labels: []int{-1, 1}}}, nil)
	if _, err := New(context.Background(), none); err == nil || !strings.Contains(err.Error(), "no groups") {
		t.Errorf("%v, want a refusal", err)
	}
}

// TestBatchesKeepTheWeights checks that every mini-batch has its labels, attributes, groups and
// earlier decisions at the same positions. The rates of the built task are then the rates of the
// batch.
func TestBatchesKeepTheWeights(t *testing.T) {
	const n = 90
	m := &Matrix{Features: &matrix.Dense{Rows: n, Cols: 1, Data: make([]float64, n)}, Earlier: map[string][]int{"old": nil},
		Attributes: []constraints.Attribute{{Name: "u", Values: []string{"x", "y"}}}, Groups: []constraints.Group{{Name: "a"}, {Name: "b"}}}
	for i := range n {
		m.Labels = append(m.Labels, 2*(i%2)-1)
		m.Attributes[0].Of = append(m.Attributes[0].Of, i/2%3-1)
		m.Earlier["old"] = append(m.Earlier["old"], i/5%3-1)
		m.Groups[i/7%2].Rows = append(m.Groups[i/7%2].Rows, i)
	}
	sameWeights(t, m, "gap(tpr, u) <= 0.1", "gap(fpr, a) <= 0.1", "churn(old) <= 0.5")
	for i := range n { // b overlaps a
		if i%5 == 0 {
			m.Groups[1].Rows = append(m.Groups[1].Rows, i)
		}
	}
	slices.Sort(m.Groups[1].Rows)
	m.Groups[1].Rows = slices.Compact(m.Groups[1].Rows)
	sameWeights(t, m, "excess(fpr, groups) <= 0.1")
}

// sameWeights checks that a mini-batch has the labels, attributes, groups and earlier decisions of
// the first batch.
func sameWeights(t *testing.T, m *Matrix, texts ...string) {
	t.Helper()
	task := Decisions{SubjectTo: subject(t, texts...)}
	e := buildOptions(t, onTable(task, Matrices{Train: m}, func(o *Options) { o.BatchSize = 40 }))
	b := e.batches
	picked := func(batch int) Rows {
		r := rowsOf(e.splits[0].Pick(b.List(batch), nil))
		for _, g := range r.Groups {
			slices.Sort(g.Rows)
		}
		return r
	}
	for batch := 1; batch < int(b.PerPass()); batch++ {
		if diff := cmp.Diff(picked(0), picked(batch), cmpopts.IgnoreUnexported(Rows{})); diff != "" {
			t.Errorf("batch %d: %s", batch, diff)
		}
	}
}
