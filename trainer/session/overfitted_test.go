package session

import (
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/racing"
	"ppal/models"
	"ppal/trainer"
)

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
	racing.Skip(t, "TestConfidenceOfRates runs the same goroutines")
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
