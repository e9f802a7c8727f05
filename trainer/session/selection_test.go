package session

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/session/results"
)

// records keeps the records of a run.
type records []trainer.Record

func (r *records) Record(record *trainer.Record) error {
	*r = append(*r, *record)
	return nil
}

// withValidation returns the options of a small run on pictures with validation rows.
func withValidation(output trainer.Output, patience int, recorder trainer.Recorder) Options {
	o := small(func(c *setup) { c.Split = tabular.Split{Train: 75, Validation: 25} }).options()
	o.Settings.Iterations, o.Settings.RecordEvery, o.Settings.CheckEvery = 60, 3, 3
	o.Settings.Output, o.Settings.Patience, o.Settings.Recorder = output, patience, recorder
	return o
}

// trained trains and certifies a run.
func trained(t *testing.T, o Options) *Result {
	t.Helper()
	s := require.Value(New(context.Background(), o))(t)
	defer s.Close()
	return require.Value(s.Train(context.Background()))(t)
}

// TestSelectBestValidation checks that the selected record is the best record on the validation
// rows: its measures are the measures of the result, and no other record is better. The records
// equal those of a run that keeps its last iterate.
func TestSelectBestValidation(t *testing.T) {
	require.NoRace(t, "TestResume runs the same goroutines")
	var plain, l records
	trained(t, withValidation(trainer.OutputLast, 0, &plain))
	r := trained(t, withValidation(trainer.OutputBestValidation, 0, &l))
	if len(plain) != len(l) {
		t.Fatalf("%d records, want %d", len(l), len(plain))
	}
	const bound, tolerance = 0.3, 0.1 // 10 validation rows in each class
	var chosen *trainer.Record
	merit := func(r *trainer.Record) trainer.Merit {
		m := r.Measures
		return trainer.MeritOf(m["validation_loss_2"], []float64{m["validation_loss_0"] - bound, m["validation_loss_3"] - bound}, tolerance)
	}
	for i := range l {
		if l[i].Objective != plain[i].Objective || l[i].MaxViolation != plain[i].MaxViolation {
			t.Errorf("record %d differs from that of a run without a selection", i)
		}
		if i > 0 && (chosen == nil || merit(&l[i]).Better(merit(chosen))) {
			chosen = &l[i]
		}
	}
	if r.Training.Output != chosen.Iteration || chosen.Iteration == 60 {
		t.Errorf("output %d, want record %d, and not the last one", r.Training.Output, chosen.Iteration)
	}
	for _, s := range r.Splits {
		if s.Name == results.Validation && s.Named["loss_2"] != chosen.Measures["validation_loss_2"] {
			t.Errorf("the loss on the validation rows is %v, of the record %v", s.Named["loss_2"], chosen.Measures["validation_loss_2"])
		}
	}
}

// TestPatienceOfSession checks that early stopping ends the run and returns the best record.
func TestPatienceOfSession(t *testing.T) {
	var l records
	o := withValidation("", 4, &l)
	o.Settings.Iterations = 3000
	r := trained(t, o)
	if r.Training.Status != trainer.NoImprovement || r.Training.Output != r.Training.Iterations-4*3 {
		t.Errorf("%s after %d iterations, output %d; want an output 4 records before the end", r.Training.Status, r.Training.Iterations, r.Training.Output)
	}
}

// TestSelectionWithoutValidation checks that a session without validation rows refuses a choice by
// validation rows. The error says how to get such rows.
func TestSelectionWithoutValidation(t *testing.T) {
	for name, settings := range map[string]trainer.Settings{
		"select": {Output: trainer.OutputBestValidation}, "patience": {Patience: 3},
	} {
		o := small(nil).options()
		o.Settings.Output, o.Settings.Patience = settings.Output, settings.Patience
		_, err := New(context.Background(), o)
		var refused *OptionError
		if !errors.As(err, &refused) || refused.Option != name || !strings.Contains(err.Error(), "--split") {
			t.Errorf("%s: %v, want an *OptionError that names --split", name, err)
		}
	}
}

// TestMeritOnDecisions checks that counted decisions determine the merit of bounds on decisions,
// with a tolerance of one row of each bound's smallest cell. A group without validation rows does
// not count.
func TestMeritOnDecisions(t *testing.T) {
	rows := three(600, 200, 0)
	rows.Test = nil
	group := &rows.Train.Attributes[0]
	group.Values = append(group.Values, "Other")
	rows.Validation.Attributes[0].Values = group.Values
	for i := range 30 {
		group.Of[i] = 2 // no validation row has this value
	}
	o := confident(t, rows, "gap(positive_rate, sex) <= 0.05", "fpr <= 0.01")
	d := o.Task.(Decisions)
	d.Confidence = 0
	o.Task = d
	a := buildOptions(t, o)
	x := make([]float64, a.parameters)
	x[0], x[1], x[2] = 1, 1, 0.3
	a.problem.Space().Write(problem.Iterate, x)
	require.Value(a.problem.Forward(make([]float64, len(a.builder.statement.Constraints))))(t)
	require.Value(a.measure())(t)
	var s trainer.Settings
	require.NoError(t, a.setMerits(&s))
	for part, merit := range map[*split]func() trainer.Merit{a.splits[0]: s.TrainMerit, a.validation(): s.ValidationMerit} {
		name := part.Name
		scores := require.Value(a.scores(part))(t)
		counted := countOn(t, a, part, scores)
		gap, fpr := counted.Values[0], counted.Values[1]
		smallest := len(part.Labels)
		for _, r := range gap.Rates {
			if r.Rows > 0 {
				smallest = min(smallest, r.Rows)
			}
		}
		want := max(0, gap.Value-0.05-1/float64(smallest), fpr.Value-0.01-1/float64(fpr.Rates[0].Rows))
		if got := merit(); math.Abs(got.Violation-want) > 1e-12 || got.Objective != counted.Objective.Value || want == 0 {
			t.Errorf("%s: %+v, want the violation %v and the objective %v", name, got, want, counted.Objective.Value)
		}
	}
}

// noisy returns n rows of 2 informative and 38 useless features, and two groups.
func noisy(n int, seed uint64) *Matrix {
	const columns = 40
	random := rand.New(rand.NewPCG(seed, 0x6e6f69))
	x := &matrix.Dense{Rows: n, Cols: columns, Data: make([]float64, n*columns)}
	m := &Matrix{Features: x, Attributes: []constraints.Attribute{{Name: "sex", Values: []string{"Female", "Male"}}}}
	for i := range n {
		row := x.Data[i*columns : (i+1)*columns]
		for k := range row {
			row[k] = random.NormFloat64()
		}
		sex, y := random.IntN(2), -1
		row[1] += 0.5 * float64(sex)
		if row[0]+row[1]+1.5*random.NormFloat64() > 0.2 {
			y = 1
		}
		m.Labels, m.Attributes[0].Of = append(m.Labels, y), append(m.Attributes[0].Of, sex)
	}
	return m
}

// TestPatienceOnAnOverfittedTable checks that --patience and --select best-validation save the
// weights that they judged: the violation and the error on the validation rows, counted with the
// saved threshold, are those of the merit, which is the best of the run. Training on overfits.
func TestPatienceOnAnOverfittedTable(t *testing.T) {
	require.NoRace(t, "TestConfidenceOfRates runs the same goroutines")
	run := func(patience int, output trainer.Output) *Result {
		return trained(t, Options{Data: Matrices{Train: noisy(150, 1), Validation: noisy(1000, 2), Test: noisy(2000, 3)},
			Task:  Decisions{SubjectTo: subject(t, "gap(positive_rate, sex) <= 0.3")},
			Model: &models.Spec{Hidden: []int{16}, Activation: models.Tanh}, Device: Device{Kind: CPU, Dtype: tensor.Float64, Threads: 2},
			Settings: trainer.Settings{Iterations: 400, Patience: patience, Output: output, Seed: 1}})
	}
	on := run(0, "")
	for name, r := range map[string]*Result{"patience": run(8, ""), "select": run(0, trainer.OutputBestValidation)} {
		o, m := r.Outcome, r.Training.Merit
		if m == nil {
			t.Fatalf("%s: no merit", name)
		}
		if got := *o.Objective.Validation; math.Abs(got-m.Objective) > 1e-12 {
			t.Errorf("%s: a validation error of %v, and of %v by the merit", name, got, m.Objective)
		}
		if excess := *o.Constraints[0].Validation - 0.3; excess > 0.01 && m.Violation == 0 {
			t.Errorf("%s: the bound is exceeded by %v on validation rows, the merit says %+v", name, excess, m)
		}
		if *o.Objective.Validation > *on.Outcome.Objective.Validation-0.02 || *o.Objective.Test > *on.Outcome.Objective.Test {
			t.Errorf("%s: errors of %v and %v on validation and test rows, without it %v and %v", name,
				*o.Objective.Validation, *o.Objective.Test, *on.Outcome.Objective.Validation, *on.Outcome.Objective.Test)
		}
		if name == "patience" && (r.Training.Status != trainer.NoImprovement || r.Training.Iterations > 60) {
			t.Errorf("%s after %d iterations", r.Training.Status, r.Training.Iterations)
		}
	}
}
