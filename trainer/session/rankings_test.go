package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/require"
	"ppal/internal/rundir"
	"ppal/internal/vec"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// documents returns documents of queries whose relevance grows with the first feature, less in the
// second group. The last feature tells the groups apart, if grouped is true.
func documents(queries int, seed uint64, grouped bool) *Matrix {
	rng := rand.New(rand.NewPCG(8, seed))
	m := &Matrix{Queries: &tabular.Queries{}}
	groups := []constraints.Group{{Name: "site=low"}, {Name: "site=high"}}
	var rows [][]float32
	for q := range queries {
		m.Queries.Names = append(m.Queries.Names, fmt.Sprint(seed, "-", q))
		for range 8 + rng.IntN(10) {
			group := rng.IntN(2)
			x := rng.NormFloat64()
			label, noise := 0, rng.NormFloat64()*(0.5+float64(1-group))
			if x+noise+0.8*float64(group) > 0.7 {
				label = 1
			}
			groups[group].Rows = append(groups[group].Rows, len(rows))
			m.Labels, m.Queries.Of, m.Queries.Grades = append(m.Labels, 2*label-1), append(m.Queries.Of, int32(q)), append(m.Queries.Grades, uint8(label))
			row := []float32{float32(x), float32(rng.NormFloat64() + 0.3*float64(group)), float32(x * float64(group))}
			if grouped {
				row = append(row, float32(group))
			}
			rows = append(rows, row)
		}
	}
	x := matrix.NewSingles(len(rows), len(rows[0]))
	for i, row := range rows {
		copy(x.Row(i), row)
	}
	m.Features, m.Groups = x, groups
	return m
}

// crossErrors counts the pairs across the groups one by one: the share of wrong pairs whose
// relevant document is in each group, and the share of all pairs. query restricts the pairs; -1:
// all.
func crossErrors(m *Matrix, scores []float64, query int32) (cross [2]float64, pairs [2]int, all float64) {
	group := make([]int, len(m.Labels))
	for _, i := range m.Groups[1].Rows {
		group[i] = 1
	}
	total := 0
	for i := range m.Labels {
		for j := range m.Labels {
			if m.Queries.Of[i] != m.Queries.Of[j] || m.Labels[i] <= m.Labels[j] || query >= 0 && m.Queries.Of[i] != query {
				continue
			}
			wrong := 0.0
			switch {
			case scores[i] < scores[j]:
				wrong = 1
			case scores[i] == scores[j]:
				wrong = 0.5
			}
			total++
			if all += wrong; group[i] != group[j] {
				pairs[group[i]]++
				cross[group[i]] += wrong
			}
		}
	}
	for k, n := range pairs {
		cross[k] /= float64(n)
	}
	return cross, pairs, all / float64(total)
}

// ranked trains on the documents, and returns the result and the scores of the training rows.
func ranked(t *testing.T, o Options) (*Result, []float64, *assembly) {
	t.Helper()
	s := require.Value(New(context.Background(), o))(t)
	t.Cleanup(func() { _ = s.Close() })
	r := require.Value(s.Train(context.Background()))(t)
	a := s.pipeline.(*assembly)
	scores := require.Value(a.scores64(a.splits[0]))(t)
	return r, scores, a
}

// The bound on the gap of the pair errors holds on the counted pairs of the training rows, with the
// group as a feature and without, and with few iterations, after which the exact step alone does
// it.
func TestRankingBounds(t *testing.T) {
	const bound = 0.01
	for _, c := range []struct {
		name       string
		grouped    bool
		iterations int
		hidden     []int
	}{{"group", true, 300, nil}, {"no group", false, 300, nil}, {"few iterations", true, 8, nil}, {"network", true, 60, []int{8}}} {
		train, test := documents(60, 1, c.grouped), documents(30, 2, c.grouped)
		o := Options{Data: Matrices{Train: train, Test: test}, Settings: trainer.Settings{Seed: 1, Iterations: c.iterations},
			Task: Decisions{Minimize: constraints.PairError(), SubjectTo: subject(t, fmt.Sprintf("gap(cross_pair_error, site) <= %v", bound))}}
		if c.hidden != nil {
			o.Model = models.Spec{Hidden: c.hidden, Activation: models.ReLU}
		}
		r, scores, a := ranked(t, o)
		cross, pairs, all := crossErrors(train, scores, -1)
		gap, row := math.Abs(cross[0]-cross[1]), 1/float64(min(pairs[0], pairs[1]))
		k := &r.Outcome.Constraints[0]
		if gap > bound+row+1e-12 || !k.Met {
			t.Errorf("%s: the gap is %v, met: %t", c.name, gap, k.Met)
		}
		if math.Abs(*k.Train-gap) > 1e-12 || math.Abs(*r.Outcome.Objective.Train-all) > 1e-12 {
			t.Errorf("%s: the gap is %v and the error %v, by loops %v and %v", c.name, *k.Train, *r.Outcome.Objective.Train, gap, all)
		}
		if k.Interval == nil || k.Test == nil || r.Outcome.AcceptanceRate != nil || r.Splits[0].Rates != nil || r.Outcome.Probability != nil {
			t.Errorf("%s: the outcome is %+v", c.name, r.Outcome)
		}
		if moved := a.solved.Exact.Moved; c.name == "few iterations" && !moved {
			t.Error("the exact step did not shift the scores of a group")
		}
	}
}

// Bounds on each query are two for each query with pairs of both kinds, and the task "ranking"
// states them.
func TestRankingQueries(t *testing.T) {
	train := documents(25, 1, true)
	task := &Ranking{Epsilon: []float64{0.3}}
	r, scores, a := ranked(t, Options{Data: Matrices{Train: train}, Task: task, Settings: trainer.Settings{Seed: 1, Iterations: 400}})
	if a.builder.statement.Name != NameRanking || a.builder.statement.Objective != "pair_loss" || a.builder.statement.boundsOn != constraints.OnSurrogate {
		t.Errorf("the task is %s: %s on %s", a.builder.statement.Name, a.builder.statement.Objective, a.builder.statement.boundsOn)
	}
	both, worst := 0, 0.0
	for q := range int32(25) {
		cross, pairs, _ := crossErrors(train, scores, q)
		if min(pairs[0], pairs[1]) > 0 {
			both++
			worst = max(worst, math.Abs(cross[0]-cross[1]))
		}
	}
	k := r.Outcome.Constraints[0]
	if len(r.Constraints) != 2*both || math.Abs(*k.Train-worst) > 1e-12 || k.Interval != nil {
		t.Errorf("%d constraints of %d queries, the largest gap is %v, by loops %v", len(r.Constraints), both, *k.Train, worst)
	}
	if *k.Surrogate > 0.3+2e-3 {
		t.Errorf("the smooth gap is %v", *k.Surrogate)
	}
}

// TestRankingRefusals checks what rates of pairs do not have.
func TestRankingRefusals(t *testing.T) {
	train := documents(10, 1, true)
	pooled := subject(t, "gap(cross_pair_error, site) <= 0.1")
	plain := documents(10, 1, true)
	plain.Queries = nil
	oneGroup := documents(10, 1, true)
	oneGroup.Groups = oneGroup.Groups[:1]
	for _, c := range []struct {
		rows   *Matrix
		task   Task
		batch  int
		option string
	}{
		{train, Decisions{Minimize: constraints.PairError(), SubjectTo: pooled, Confidence: 0.95}, 0, "confidence"},
		{train, Ranking{}, 20, "batch-size"},
		{plain, Ranking{}, 0, "problem"},
		{oneGroup, Ranking{}, 0, "group"},
		{train, Ranking{Epsilon: []float64{0.1, 0.2}}, 0, "epsilon"},
		{plain, Decisions{Minimize: constraints.PairError()}, 0, "minimize"},
	} {
		_, err := New(context.Background(), Options{Data: Matrices{Train: c.rows, Validation: c.rows}, Task: c.task, BatchSize: c.batch})
		var o *OptionError
		if !errors.As(err, &o) || o.Option != c.option || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.option, err)
		}
	}
}

// With one query in each batch, a step sees one query: the objective and the gaps of its pairs,
// smooth and counted, and the means of its features. All other batches are in the pass too.
func TestOneQueryEachStep(t *testing.T) {
	m := documents(12, 3, true)
	bounds := subject(t, "gap(cross_pair_error, site) <= 0.25")
	s := require.Value(New(context.Background(), Options{Data: Matrices{Train: m}, BatchSize: 1, Method: &method.MultiplierModel{}, Model: models.Spec{Hidden: []int{4}},
		Task:     Decisions{SubjectTo: bounds, Minimize: constraints.PairLoss(), BoundsOn: constraints.OnSurrogate},
		Settings: trainer.Settings{Seed: 3, Iterations: 30}}))(t)
	defer s.Close()
	a := s.pipeline.(*assembly)
	drawn := a.sampler.(problem.DrawnGroup)
	lists := m.Queries.Lists()
	if a.sampler.PerPass() != float64(len(lists)) || a.finishes != nil {
		t.Fatalf("%v steps in a pass over %d queries; %v", a.sampler.PerPass(), len(lists), a.finishes)
	}
	x := a.iterate()
	for i := range x {
		x[i] = math.Sin(float64(7 * i))
	}
	a.problem.Space().Write(problem.Iterate, x)
	a.sampler.Space().Write(problem.Iterate, x)
	require.Value(a.problem.Forward(nil))(t)
	scores := require.Value(a.scores(a.splits[0]))(t)
	seen := map[int]bool{}
	for k := range lists {
		require.NoError(t, drawn.Sample(k))
		g := make([]float64, 2)
		f := require.Value(drawn.Forward(g))(t)
		counted := require.Value(drawn.DecisionViolations())(t)
		q := slices.IndexFunc(lists, func(rows []int) bool {
			mean, row := 0.0, make([]float64, 4)
			for _, i := range rows {
				m.Features.Float64(row, i, i+1)
				mean += row[0] / float64(len(rows))
			}
			return math.Abs(mean-drawn.GroupFeatures()[0]) < 1e-12
		})
		if q < 0 {
			t.Fatalf("step %d: the features %v are of no query", k, drawn.GroupFeatures())
		}
		seen[q] = true
		// the sums of the pairs whose relevant document is in a group and the other one is not, then of
		// all pairs
		var loss, smooth, wrong, n [3]float64
		for _, i := range lists[q] {
			for _, j := range lists[q] {
				if m.Labels[i] <= m.Labels[j] {
					continue
				}
				d := scores[i] - scores[j]
				a, b := slices.Contains(m.Groups[1].Rows, i), slices.Contains(m.Groups[1].Rows, j)
				for _, k := range []int{vec.Indicator(a), 2} {
					if k == 2 || a != b {
						loss[k], smooth[k], wrong[k], n[k] = loss[k]+math.Log1p(math.Exp(-d)), smooth[k]+1/(1+math.Exp(d)), wrong[k]+float64(vec.Indicator(d < 0)), n[k]+1
					}
				}
			}
		}
		share := func(sums [3]float64, k int) float64 {
			if n[k] == 0 {
				k = 2
			}
			return sums[k] / n[k]
		}
		for j, sign := range []float64{1, -1} {
			want, decided := sign*(share(smooth, 0)-share(smooth, 1))-0.25, sign*(share(wrong, 0)-share(wrong, 1))-0.25
			if math.Abs(g[j]-want) > 1e-5 || math.Abs(counted[j]-decided) > 1e-12 {
				t.Errorf("query %d, constraint %d: %v and counted %v, want %v and %v", q, j, g[j], counted[j], want, decided)
			}
		}
		if want := share(loss, 2); math.Abs(f-want) > 1e-5 {
			t.Errorf("query %d: f = %v, want %v", q, f, want)
		}
	}
	if len(seen) != len(lists) {
		t.Errorf("%d of %d queries in a pass", len(seen), len(lists))
	}
	require.Value(s.Train(context.Background()))(t)
}

// A ranking that stops and continues, in the round of the loss, in the rounds of the counted pairs,
// and among batches of queries, ends with the bits of a run without a stop.
func TestRankingResumes(t *testing.T) {
	for _, c := range []struct {
		name   string
		batch  int
		method trainer.Method
		hidden []int
		stops  []int
	}{
		{"all rows", 0, nil, nil, []int{3, 20, 31}},
		{"batches of queries", 200, &method.PLADA{}, []int{6}, []int{5, 50, 88}},
		{"a query a step", 1, &method.PLADA{}, nil, []int{33}},
	} {
		train := func(dir string, stop int) *Result {
			o := Options{Data: Matrices{Train: documents(60, 1, true), Test: documents(20, 2, true)}, BatchSize: c.batch, Method: c.method,
				Task:            Decisions{Minimize: constraints.PairError(), SubjectTo: subject(t, "gap(cross_pair_error, site) <= 0.01")},
				CheckpointEvery: time.Hour, Device: Device{Kind: CPU, Threads: 1}, Settings: trainer.Settings{Seed: 1, Iterations: 90, RecordEvery: 5}}
			if c.hidden != nil {
				o.Model = models.Spec{Hidden: c.hidden, Activation: models.ReLU}
			}
			if c.batch == 1 {
				o.Task = Decisions{Minimize: constraints.PairLoss(), SubjectTo: subject(t, "gap(cross_pair_error, site) <= 0.25"), BoundsOn: constraints.OnSurrogate}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o.Settings.Recorder = observer(func(iteration int) {
				if iteration == stop {
					cancel()
				}
			})
			s, err := New(t.Context(), o)
			require.NoError(t, err)
			defer s.Close()
			if stop < 0 {
				_, err = s.Resume(dir)
			} else {
				err = s.Open(dir)
			}
			require.NoError(t, err)
			r, err := s.Train(ctx)
			if err == nil {
				err = s.Save("")
			}
			require.NoError(t, err)
			return r
		}
		whole := filepath.Join(t.TempDir(), "whole")
		want := train(whole, math.MaxInt)
		for _, stop := range c.stops {
			torn := filepath.Join(t.TempDir(), "torn")
			if train(torn, stop); want.Training.Iterations <= stop {
				t.Fatalf("%s: the run ends after %d iterations, before the stop", c.name, want.Training.Iterations)
			}
			got := train(torn, -1)
			if !slices.Equal(bytesOf(t, rundir.Dir(whole).Model()), bytesOf(t, rundir.Dir(torn).Model())) {
				t.Errorf("%s, stopped after %d iterations: other weights", c.name, stop)
			}
			if diff := cmp.Diff(recordsOf(t, whole), recordsOf(t, torn)); diff != "" {
				t.Errorf("%s, stopped after %d iterations: the records differ (-whole +resumed):\n%s", c.name, stop, diff)
			}
			if diff := cmp.Diff(want.Outcome, got.Outcome); diff != "" {
				t.Errorf("%s, stopped after %d iterations: the outcomes differ (-whole +resumed):\n%s", c.name, stop, diff)
			}
		}
	}
}
