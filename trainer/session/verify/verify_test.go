package verify

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session"
	"ppal/trainer/step"
)

// rowsOf returns random rows with labels, two groups that overlap or not, and an attribute.
func rowsOf(n, classes int, overlap bool, seed uint64) *session.Matrix {
	const cols = 4
	r := rand.New(rand.NewPCG(seed, 0))
	d := &matrix.Dense{Rows: n, Cols: cols, Data: make([]float64, n*cols)}
	m := &session.Matrix{Features: d, Groups: []constraints.Group{{Name: "a=0"}, {Name: "a=1"}}}
	sex := constraints.Attribute{Name: "sex", Values: []string{"f", "m"}}
	for i := range n {
		y := r.IntN(classes)
		group := r.IntN(2)
		for j := range cols {
			d.Data[i*cols+j] = r.NormFloat64()
		}
		d.Data[i*cols] += 1.5*float64(y) + 0.5*float64(group)
		if classes == 2 {
			y = 2*y - 1
		}
		m.Labels = append(m.Labels, y)
		m.Groups[group].Rows = append(m.Groups[group].Rows, i)
		if overlap && r.IntN(3) == 0 {
			m.Groups[1-group].Rows = append(m.Groups[1-group].Rows, i)
		}
		sex.Of = append(sex.Of, r.IntN(2))
	}
	m.Attributes = []constraints.Attribute{sex}
	return m
}

// table returns a source of random rows.
func table(classes int, overlap bool) session.Matrices {
	s := session.Matrices{Train: rowsOf(120, classes, overlap, 1), Validation: rowsOf(60, classes, overlap, 2), Test: rowsOf(60, classes, overlap, 3)}
	if classes > 2 {
		s.Classes = []string{"red", "green", "blue"}
	}
	return s
}

// words returns a task with constraints in words.
func words(t *testing.T, on constraints.BoundsOn, texts ...string) session.Decisions {
	t.Helper()
	d := session.Decisions{BoundsOn: on}
	for _, text := range texts {
		c := require.Value(constraints.Parse(text))(t)
		d.SubjectTo = append(d.SubjectTo, c)
	}
	return d
}

// confident returns the task with promises for new rows.
func confident(d session.Decisions, confidence float64) session.Decisions {
	d.Confidence = confidence
	return d
}

// runs returns the options of runs with every task and kind of model, by name. Each call of a
// function returns options for one session.
func runs(t *testing.T) map[string]func() session.Options {
	two, three, overlapping := table(2, false), table(3, false), table(2, true)
	balanced := require.Value(constraints.ParseRate("balanced_error"))(t)
	list := map[string]func() session.Options{}
	add := func(name string, data session.Source, task session.Task, change func(o *session.Options)) {
		list[name] = func() session.Options {
			o := session.Options{Data: data, Task: task, Model: &models.Spec{}, Settings: trainer.Settings{Iterations: 30, RecordEvery: 5},
				Device: session.Device{Kind: session.CPU, Threads: 1}}
			if change != nil {
				change(&o)
			}
			return o
		}
	}
	ranked(t, add)
	network := func(s models.Spec) func(o *session.Options) {
		return func(o *session.Options) { o.Model = &s }
	}
	regularized := func(r problem.Regularizer) func(o *session.Options) {
		return func(o *session.Options) { o.Model, o.Regularizer = &models.Spec{Hidden: []int{3}}, &r }
	}
	add("mnpc", three, session.NeymanPearson{}, network(models.Spec{Hidden: []int{5}}))
	add("mnpc separate hinge", three, session.NeymanPearson{Phi: constraints.Hinge, Kappa: []float64{0.5, 2}}, network(models.Spec{Hidden: []int{4, 3}, Heads: models.Separate, Activation: models.Tanh}))
	add("mnpc l1", three, session.NeymanPearson{Phi: constraints.Logistic}, regularized(problem.Regularizer{Kind: problem.L1, Weight: 0.02}))
	add("mnpc group-l1", three, session.NeymanPearson{}, regularized(problem.Regularizer{Kind: problem.GroupL1, Weight: 0.1}))
	add("mnpc box", three, session.NeymanPearson{}, regularized(problem.Regularizer{Kind: problem.Box, Lower: -0.3, Upper: 1}))
	add("mnpc ball", three, session.NeymanPearson{}, regularized(problem.Regularizer{Kind: problem.Ball, Radius: 0.5}))
	add("mnpc decisions", three, session.NeymanPearson{BoundsOn: constraints.OnDecisions}, nil)
	add("pictures", session.Images{Dataset: "synthetic", RowsPerClass: 10}, session.NeymanPearson{}, network(models.Spec{Hidden: []int{4}}))
	add("dp", two, session.DemographicParity{Epsilon: []float64{0.2}}, nil)
	add("dp float64", two, session.DemographicParity{}, func(o *session.Options) { o.Device.Dtype = tensor.Float64 })
	add("dp absolute", two, session.DemographicParity{}, func(o *session.Options) { o.Method = &method.SSG{} })
	add("eo", two, session.EqualizedOdds{}, network(models.Spec{Hidden: []int{4}, Activation: models.ReLU}))
	add("eo max", two, session.EqualizedOdds{Gaps: constraints.Maximum}, func(o *session.Options) { o.Method = &method.SSG{} })
	add("if", overlapping, session.Intersectional{}, nil)
	add("if bounds of groups", overlapping, session.Intersectional{Epsilon: []float64{0.01, 0.02}}, nil)
	add("if expectation", overlapping, session.Intersectional{Form: session.AverageGroup}, nil)
	add("gap", two, words(t, constraints.OnDecisions, "gap(tpr, sex) <= 0.2", "precision >= 0.6"), nil)
	add("gap of a network", two, words(t, constraints.OnDecisions, "gap(tpr, sex) <= 0.2"), network(models.Spec{Hidden: []int{4}}))
	add("round of the loss alone", two, words(t, constraints.OnDecisions, "gap(tpr, sex) <= 0.2"), func(o *session.Options) {
		o.Settings = trainer.Settings{Iterations: 1, RecordEvery: 1}
	})
	add("promise", two, confident(words(t, constraints.OnDecisions, "gap(tpr, sex) <= 0.7", "fpr <= 0.8"), 0.9), nil)
	add("surrogate", two, words(t, constraints.OnSurrogate, "ratio(positive_rate, sex) >= 0.8", "loss <= 0.7"), nil)
	add("rate of two cells", two, words(t, constraints.OnDecisions, "balanced_error <= 0.3", "gap(balanced_error, sex) <= 0.01", "gap(balanced_error, sex) <= 0.2"), nil)
	add("minimised rate of two cells", two, session.Decisions{Minimize: balanced, SubjectTo: words(t, "", "balanced_error[sex=*] <= 0.3").SubjectTo}, nil)
	for _, text := range []string{"5*fnr + fpr", "2*loss[+1] + 0.5*loss[sex=m]"} {
		sum := require.Value(constraints.ParseObjective(text))(t)
		add("sum "+text, two, session.Decisions{Minimize: sum, SubjectTo: words(t, "", "gap(error, sex) <= 0.1").SubjectTo}, nil)
	}
	exponential := func(scores *gorgonia.Node, rows session.Rows) (*gorgonia.Node, error) {
		var signs []float64
		for _, y := range rows.Labels {
			signs = append(signs, -float64(y))
		}
		return gorgonia.Mean(gorgonia.Must(gorgonia.Exp(gorgonia.Must(gorgonia.HadamardProd(scores, session.Column(scores, "signs", signs))))))
	}
	add("own objective", two, session.Decisions{Objective: exponential, SubjectTo: words(t, "", "fpr <= 0.2").SubjectTo}, nil)
	add("own objective, bounds on surrogates", two, session.Decisions{Objective: exponential, BoundsOn: constraints.OnSurrogate,
		SubjectTo: words(t, "", "gap(tpr, sex) <= 0.2").SubjectTo}, nil)
	add("own objective alone", two, session.Decisions{Objective: exponential}, nil)
	own := func(o *session.Options) { o.Model = quadratic{Rank: 2} }
	add("own model", two, words(t, constraints.OnDecisions, "gap(tpr, sex) <= 0.2"), own)
	add("own model l1", two, words(t, constraints.OnDecisions, "fpr <= 0.2", "l1(weights) <= 5"), own)
	add("own model of pictures", session.Images{Dataset: "synthetic", RowsPerClass: 10, Normalize: models.NormalizeStandardize}, session.NeymanPearson{}, own)
	add("conv", session.Images{Dataset: "synthetic", RowsPerClass: 90, Normalize: models.NormalizeStandardize}, session.NeymanPearson{}, func(o *session.Options) {
		o.Model, o.BatchSize, o.Settings.Iterations = models.Conv{Channels: []int{1}, Stride: 4, Pool: models.NoPool}, 90, 6
	})
	add("own model on batches", two, session.DemographicParity{}, func(o *session.Options) { o.Model, o.BatchSize = quadratic{Rank: 3}, 64 })
	add("l1", two, words(t, constraints.OnDecisions, "fpr <= 0.2", "l1(weights) <= 5"), nil)
	add("l1 missed", three, words(t, constraints.OnDecisions, "error[*] <= 0.01", "l1(weights) <= 0.05"), func(o *session.Options) {
		o.Method, o.Regularizer = &method.Penalty{Primal: step.Settings{Kind: step.Adam, Eta: 0.1}}, &problem.Regularizer{Kind: problem.Ball, Radius: 40}
	})
	add("classes", three, words(t, constraints.OnDecisions, "recall[*] >= 0.6"), nil)
	add("batches", two, session.DemographicParity{}, func(o *session.Options) { o.BatchSize = 30 })
	add("impossible", two, words(t, constraints.OnSurrogate, "positive_rate <= 0.1", "tpr >= 0.9"), func(o *session.Options) { o.Settings.Iterations = 600 })
	add("impossible decisions", two, words(t, constraints.OnDecisions, "positive_rate <= 0.1", "tpr >= 0.9"), func(o *session.Options) { o.Settings.Iterations = 900 })
	add("impossible network", two, words(t, constraints.OnSurrogate, "error <= 0.01", "positive_rate <= 0.1"), func(o *session.Options) {
		o.Model, o.Settings.Iterations = &models.Spec{Hidden: []int{3}}, 1000
		o.Regularizer = &problem.Regularizer{Kind: problem.Ball, Radius: 4}
	})
	add("impossible classes", three, session.NeymanPearson{Kappa: []float64{0.02}}, func(o *session.Options) { o.Settings.Iterations = 1000 })
	add("best", two, session.DemographicParity{Epsilon: []float64{0.2}}, func(o *session.Options) {
		o.Settings.Output, o.Settings.RecordEvery = trainer.OutputBest, 16 // the best iterate has no record
	})
	return list
}

// trained trains a run and returns its directory.
func trained(t *testing.T, o session.Options) rundir.Dir {
	t.Helper()
	s := require.Value(session.New(context.Background(), o))(t)
	defer s.Close()
	require.Value(s.Train(context.Background()))(t)
	dir := t.TempDir() + "/run"
	require.NoError(t, s.Save(dir))
	return rundir.Dir(dir)
}

// verified checks a run with the options.
func verified(t *testing.T, dir rundir.Dir, o session.Options) *Report {
	t.Helper()
	return require.Value(RunConfig(string(dir), reading(o)))(t)
}

// Runs of every task and kind of model are verified. The numbers agree much better than the
// tolerances demand, so that a correct run of another machine is verified, too.
func TestRuns(t *testing.T) {
	require.NoRace(t, "it trains many runs")
	for name, options := range runs(t) {
		t.Run(name, func(t *testing.T) {
			dir := trained(t, options())
			r := verified(t, dir, options())
			if !r.Verified || len(r.Comparisons) < 20 {
				t.Fatalf("%d comparisons, %s", len(r.Comparisons), strings.Join(r.Problems, "\n"))
			}
			if sampled := strings.Contains(strings.Join(r.Skipped, "\n"), "by plain loops: 256 of 360 rows"); sampled != (name == "conv") {
				t.Errorf("not checked: %q", r.Skipped)
			}
			s := require.Value(rundir.ReadSummary(dir.Summary()))(t)
			if name == "round of the loss alone" && (s.BestFeasible != nil || s.BoundShifts[0] != 0) {
				t.Errorf("the best feasible record is %+v, the shifts %v", s.BestFeasible, s.BoundShifts)
			}
			for _, c := range r.Comparisons {
				if c.Difference > 0.3*c.Tolerance && c.Difference > 1e-15 {
					t.Errorf("%s differs by %.2g with the tolerance %.2g", c.Quantity, c.Difference, c.Tolerance)
				}
				if c.Tolerance > 0.03*(1+math.Abs(c.Reported)) && c.Section != sectionRecords && !strings.Contains(c.Section, "rates") {
					t.Errorf("%s: the tolerance %.2g means nothing", c.Quantity, c.Tolerance)
				}
			}
		})
	}
}

// The reverse pass gives the derivatives of the scores, for every activation and kind of heads.
func TestGradient(t *testing.T) {
	for _, spec := range []models.Spec{
		{Inputs: 4, Outputs: 2}, {Inputs: 4, Outputs: 3, Hidden: []int{5, 3}, Activation: models.Tanh},
		{Inputs: 4, Outputs: 2, Hidden: []int{6}, Activation: models.ReLU}, {Inputs: 4, Outputs: 3, Hidden: []int{3}, Heads: models.Separate},
		{Inputs: 4, Outputs: 2, Hidden: []int{6}, Activation: models.LeakyReLU}, {Inputs: 4, Outputs: 3, Hidden: []int{5, 3}, Activation: models.Softplus},
	} {
		random := rand.New(rand.NewPCG(5, 0))
		w := require.Value(models.Init(spec, random))(t)
		center := []float64{0.5, -1, 2, 0}
		n := newNetwork(spec, w, center)
		x := rowsOf(7, 2, false, 9).Features
		d := make([]float64, 7*spec.Outputs)
		for i := range d {
			d[i] = random.NormFloat64()
		}
		inner := func() float64 {
			sum := 0.0
			for i, s := range n.scores(x) {
				sum += d[i] * s
			}
			return sum
		}
		got, at := n.gradient(x, d), 0
		for _, h := range n.heads {
			for _, l := range h {
				for _, part := range [][]float64{l.w, l.b} {
					for i := range part {
						const step = 1e-6
						part[i] += step
						up := inner()
						part[i] -= 2 * step
						down := inner()
						part[i] += step
						if want := (up - down) / (2 * step); math.Abs(got[at]-want) > 1e-6*(1+math.Abs(want)) {
							t.Fatalf("%+v: derivative %d is %v, want %v", spec, at, got[at], want)
						}
						at++
					}
				}
			}
		}
	}
}

// The derivatives of every task by the scores are those of f + nu.g.
func TestDirection(t *testing.T) {
	for name, options := range runs(t) {
		in := require.Value(session.ReadInputs(context.Background(), options()))(t)
		e := require.Value(newEvaluator(in, &in.Parts[0]))(t)
		random := rand.New(rand.NewPCG(6, 0))
		scores, nu := make([]float64, len(in.Parts[0].Classes)*in.Outputs()), make([]float64, len(in.Constraints))
		for i := range scores {
			scores[i] = random.NormFloat64()
		}
		for j := range nu {
			nu[j] = random.Float64()
		}
		value := func() float64 {
			f, g := e.smooth(scores)
			for j := range g {
				f += nu[j] * g[j]
			}
			return f
		}
		d, _ := e.direction(scores, nu)
		for i := 0; i < len(scores); i += 7 {
			const step = 1e-5
			scores[i] += step
			up := value()
			scores[i] -= 2 * step
			down := value()
			scores[i] += step
			if want := (up - down) / (2 * step); math.Abs(d[i]-want) > 1e-7 {
				t.Fatalf("%s: derivative %d is %v, want %v", name, i, d[i], want)
			}
		}
	}
}

// reading returns the function that reads the data of the options.
func reading(o session.Options) func([]byte) (*session.Inputs, error) {
	return func([]byte) (*session.Inputs, error) { return session.ReadInputs(context.Background(), o) }
}

// TestEveryRate verifies runs with every rate in every measure, from both sides, on rows with a
// rare group. The held-out rows lack classes and groups.
func TestEveryRate(t *testing.T) {
	require.NoRace(t, "it trains many runs")
	for _, classes := range []int{2, 3} {
		data := table(classes, false)
		data.Validation, data.Test = rowsOf(9, classes, false, 2), rowsOf(5, classes, false, 3)
		for _, m := range []*session.Matrix{data.Train, data.Validation, data.Test} {
			m.Attributes[0].Values = append(m.Attributes[0].Values, `a, "quoted" one`)
			for i := range 4 {
				m.Attributes[0].Of[i] = 2
			}
		}
		for _, rate := range constraints.RateNames() {
			of, groups := "", "[sex=*]"
			switch {
			case strings.Contains(rate, "pair_"): // of queries
				continue
			case classes > 2:
				of, groups = "[green]", "[green, sex=*]"
			}
			texts := []string{rate + of + " >= 0.02", rate + groups + " >= 0.9", rate + groups + " <= 0.1"}
			for _, form := range []string{"gap(%s, sex) <= 0.05", "ratio(%s, sex) >= 0.9", "excess(%s, sex) <= 0.05", "distance(%s, sex) <= 0.05"} {
				if rate != "precision" {
					texts = append(texts, fmt.Sprintf(form, rate+of))
				}
			}
			t.Run(fmt.Sprint(rate, classes), func(t *testing.T) {
				options := func() session.Options {
					return session.Options{Data: data, Task: words(t, constraints.OnDecisions, texts...), Model: &models.Spec{},
						Settings: trainer.Settings{Iterations: 10, RecordEvery: 5}, Device: session.Device{Kind: session.CPU, Threads: 1}}
				}
				if r := verified(t, trained(t, options()), options()); !r.Verified {
					t.Error(strings.Join(r.Problems, "\n"))
				}
			})
		}
	}
}
