package verify

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// weighed returns the rows with weights factor times 1, 2 or 3.
func weighed(m *session.Matrix, seed uint64, factor float64) *session.Matrix {
	if m == nil {
		return nil
	}
	r, own := rand.New(rand.NewPCG(seed, 7)), *m
	own.Weights = make([]float64, len(m.Labels))
	for i := range own.Weights {
		own.Weights[i] = factor * float64(1+r.IntN(3))
	}
	return &own
}

// repeated returns rows without weights, each as often as its weight says.
func repeated(m *session.Matrix) *session.Matrix {
	if m == nil {
		return nil
	}
	x := m.Features.(*matrix.Dense)
	own, out := &matrix.Dense{Cols: x.Cols}, &session.Matrix{}
	places := make([][]int, x.Rows)
	for i, w := range m.Weights {
		for range int(w) {
			places[i] = append(places[i], own.Rows)
			own.Rows, own.Data = own.Rows+1, append(own.Data, x.Data[i*x.Cols:(i+1)*x.Cols]...)
			out.Labels = append(out.Labels, m.Labels[i])
		}
	}
	for _, g := range m.Groups {
		o := constraints.Group{Name: g.Name}
		for _, i := range g.Rows {
			o.Rows = append(o.Rows, places[i]...)
		}
		slices.Sort(o.Rows)
		out.Groups = append(out.Groups, o)
	}
	for _, a := range m.Attributes {
		o := constraints.Attribute{Name: a.Name, Values: a.Values, Of: make([]int, own.Rows)}
		for i, list := range places {
			for _, k := range list {
				o.Of[k] = a.Of[i]
			}
		}
		out.Attributes = append(out.Attributes, o)
	}
	out.Features = own
	return out
}

// ofEach applies change to the splits.
func ofEach(s session.Matrices, change func(m *session.Matrix, seed uint64) *session.Matrix) session.Matrices {
	s.Train, s.Validation, s.Test = change(s.Train, 1), change(s.Validation, 2), change(s.Test, 3)
	return s
}

// TestWeights trains every task and kind of model on rows with whole weights: the run is verified,
// its values are those of weights that are all multiplied by a number and, with bounds on
// surrogates, those of the table in which each row stands as often as its weight says. Bounds on
// decisions have the tolerance of a row, which is that of the heaviest row, so that the rounds may
// end at other weights: there, decide.TestWeights compares the exact steps.
func TestWeights(t *testing.T) {
	require.NoRace(t, "it trains many runs")
	count := 0
	for name, options := range runs(t) {
		o := options()
		data, matrices := o.Data.(session.Matrices)
		if d, ok := o.Task.(session.Decisions); !matrices || data.Train.Queries != nil || ok && (d.Confidence > 0 || d.Objective != nil) || strings.HasPrefix(name, "impossible") || name == "best" {
			continue
		}
		count++
		t.Run(name, func(t *testing.T) {
			run := func(s session.Matrices, verify bool) results.Summary {
				with := func() session.Options {
					own := options()
					own.Data, own.Device.Dtype = s, tensor.Float64
					own.Settings.RecordEvery = own.Settings.Iterations // TestRuns verifies the records
					return own
				}
				dir := trained(t, with())
				if verify {
					if r := verified(t, dir, with()); !r.Verified || len(r.Comparisons) < 20 {
						t.Errorf("%d comparisons, %s", len(r.Comparisons), strings.Join(r.Problems, "\n"))
					}
				}
				return require.Value(rundir.ReadSummary(dir.Summary()))(t)
			}
			whole := ofEach(data, func(m *session.Matrix, seed uint64) *session.Matrix { return weighed(m, seed, 1) })
			weights := run(whole, true)
			same(t, "scaled weights", weights, run(ofEach(data, func(m *session.Matrix, seed uint64) *session.Matrix { return weighed(m, seed, 0.37) }), false), 1e-6)
			if o.BatchSize > 0 {
				return // batches draw the rows by their weights
			}
			if weights.Outcome == nil || weights.Outcome.BoundsOn != constraints.OnDecisions {
				equal := ofEach(whole, func(m *session.Matrix, _ uint64) *session.Matrix { return repeated(m) })
				same(t, "repeated rows", weights, run(equal, false), 1e-6)
			}
			if plain := run(data, false); math.Abs(plain.Objective-weights.Objective) < 1e-4 {
				t.Errorf("the weights change nothing: the objective is %v", plain.Objective)
			}
		})
	}
	if count < 25 {
		t.Errorf("%d runs", count)
	}
}

// TestClassWeight trains a plain model with weights of classes and, to the same values, with these
// weights as the weights of the rows. With a bound, the objective changes and the bound does not.
func TestClassWeight(t *testing.T) {
	for _, classes := range []int{2, 3} {
		data := table(classes, false)
		text, weightOf := []string{"+1=3"}, map[int]float64{-1: 1, 1: 3}
		if classes > 2 {
			text, weightOf = []string{"green=3", "blue=0.5"}, map[int]float64{0: 1, 1: 3, 2: 0.5}
		}
		byRow := ofEach(data, func(m *session.Matrix, _ uint64) *session.Matrix {
			own := *m
			for _, y := range m.Labels {
				own.Weights = append(own.Weights, weightOf[y])
			}
			return &own
		})
		run := func(s session.Matrices, task session.Decisions) results.Summary {
			with := func() session.Options {
				o := runs(t)["own objective alone"]()
				o.Data, o.Task, o.Device.Dtype = s, task, tensor.Float64
				return o
			}
			dir := trained(t, with())
			if r := verified(t, dir, with()); !r.Verified {
				t.Errorf("%d classes: %s", classes, strings.Join(r.Problems, "\n"))
			}
			return require.Value(rundir.ReadSummary(dir.Summary()))(t)
		}
		a, b := run(data, session.Decisions{ClassWeight: text}), run(byRow, session.Decisions{})
		if math.Abs(a.Objective-b.Objective) > 1e-6 {
			t.Errorf("%d classes: the objective is %v, with weights of rows %v", classes, a.Objective, b.Objective)
		}
		bounded := words(t, constraints.OnDecisions, "gap(error, sex) <= 0.1")
		bounded.ClassWeight = []string{session.ClassWeightBalanced}
		c := run(data, bounded)
		recall, n := 0.0, float64(classes)
		for name, r := range c.Rates[results.Training].Overall {
			switch {
			case strings.HasPrefix(name, "recall"), name == results.TruePositiveRate:
				recall += r.Value / n
			case name == results.FalsePositiveRate:
				recall += (1 - r.Value) / n
			}
		}
		if got := *c.Outcome.Objective.Of(results.Training); math.Abs(got-(1-recall)) > 1e-6 {
			t.Errorf("%d classes: the balanced error is %v, want %v", classes, got, 1-recall)
		}
	}
	for _, bad := range [][]string{{"red=2"}, {"+1=0"}, {"+1=x"}, {"+1"}, {"+1=2", "+1=3"}, {"balanced", "+1=2"}} {
		o := runs(t)["own objective alone"]()
		o.Task = session.Decisions{ClassWeight: bad}
		if _, err := session.New(t.Context(), o); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// same compares the values of two runs.
func same(t *testing.T, what string, a, b results.Summary, tolerance float64) {
	t.Helper()
	near := func(name string, x, y float64) {
		t.Helper()
		if !(math.Abs(x-y) <= tolerance*(1+math.Abs(x))) {
			t.Errorf("%s: %s is %v, want %v", what, name, y, x)
		}
	}
	near("objective", a.Objective, b.Objective)
	for split, list := range map[string][2]map[string]float64{"train": {a.Train, b.Train}, "validation": {a.Validation, b.Validation}, "test": {a.Test, b.Test}} {
		if len(list[0]) != len(list[1]) {
			t.Errorf("%s: %s has %d measures, want %d", what, split, len(list[1]), len(list[0]))
		}
		for _, name := range slices.Sorted(maps.Keys(list[0])) {
			near(split+" "+name, list[0][name], list[1][name])
		}
	}
	for split, table := range a.Rates {
		other := b.Rates[split]
		for name, r := range table.Overall {
			near(string(split)+" rate "+name, r.Value, other.Overall[name].Value)
		}
		for k, g := range table.ByGroup {
			for name, r := range g.Rates {
				near(string(split)+" rate "+name+" of "+g.Group, r.Value, other.ByGroup[k].Rates[name].Value)
			}
		}
	}
	if a.Outcome == nil {
		return
	}
	for j := range a.Outcome.Constraints {
		x, y := &a.Outcome.Constraints[j], &b.Outcome.Constraints[j]
		for _, split := range []results.Split{results.Training, results.Validation, results.Test} {
			if v, w := x.Of(split), y.Of(split); v != nil && w != nil {
				near(string(split)+" "+x.Constraint, *v, *w)
			}
		}
	}
}

// TestWeightSteps checks that a run whose exact step changes the weights is verified, and that a
// change that is not the run's is found.
func TestWeightSteps(t *testing.T) {
	options := runs(t)["round of the loss alone"]
	dir := trained(t, options())
	s := require.Value(rundir.ReadSummary(dir.Summary()))(t)
	if s.Outcome.WeightStep == nil {
		t.Fatal("the exact step changed no weights")
	}
	if r := verified(t, dir, options()); !r.Verified {
		t.Errorf("not verified: %s", strings.Join(r.Problems, "\n"))
	}
	s.Outcome.WeightStep[0] += 0.01
	require.NoError(t, dir.WriteSummary(&s))
	if r := verified(t, dir, options()); r.Verified {
		t.Error("another change of the weights is verified")
	}
}
