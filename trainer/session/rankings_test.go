package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/models"
	"ppal/trainer"
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
	s, err := New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r, err := s.Train(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	a := s.pipeline.(*assembly)
	scores, err := a.scores64(a.splits[0])
	if err != nil {
		t.Fatal(err)
	}
	return r, scores, a
}

func pairBounds(t *testing.T, texts ...string) (list []constraints.Constraint) {
	t.Helper()
	for _, text := range texts {
		c, err := constraints.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
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
			Task: Decisions{Minimize: constraints.PairError(), SubjectTo: pairBounds(t, fmt.Sprintf("gap(cross_pair_error, site) <= %v", bound))}}
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
	pooled := pairBounds(t, "gap(cross_pair_error, site) <= 0.1")
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
