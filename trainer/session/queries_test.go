package session

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// documentFile returns the path of a LIBSVM file of 60 queries of 5 to 24 documents, whose
// documents are not consecutive.
func documentFile(t *testing.T) string {
	rng := rand.New(rand.NewPCG(8, 1))
	var lines []string
	for q := range 60 {
		for range 5 + rng.IntN(20) {
			x := rng.NormFloat64()
			grade := 0
			if x+rng.NormFloat64() > 0.5 {
				grade = 1 + rng.IntN(2)
			}
			lines = append(lines, fmt.Sprintf("%d qid:%d 1:%.4f 2:%.4f 3:%d", grade, q, x, rng.NormFloat64(), 1+rng.IntN(3)))
		}
	}
	rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return datatest.Write(t, t.TempDir(), "documents.txt", []byte(strings.Join(lines, "\n")+"\n"))
}

// Mini-batches of rows with queries have whole queries and their own labels: a pass over them is a
// pass over all rows, and the run repeats.
func TestBatchesOfQueries(t *testing.T) {
	file := documentFile(t)
	options := func() Options {
		source := LIBSVM(file)
		source.Query, source.Relevant = tabular.QueryID, "0"
		return Options{Data: source, Task: Decisions{Minimize: constraints.Loss()}, BatchSize: 100, Settings: trainer.Settings{Seed: 3, Iterations: 40}}
	}
	s := require.Value(New(context.Background(), options()))(t)
	defer s.Close()
	a := s.pipeline.(*assembly)
	train := a.splits[0].Rows
	n, _ := a.problem.Dims()
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i+1) / 3
	}
	a.problem.Space().Write(problem.Iterate, x)
	a.sampler.Space().Write(problem.Iterate, x)
	want := require.Value(a.problem.Forward(nil))(t)
	passes := int(a.sampler.PerPass())
	if rows := train.Len(); passes < rows/130 || passes > rows/75 {
		t.Errorf("%d batches of %d rows", passes, rows)
	}
	var all []int
	got, gradient, d := 0.0, make([]float64, n), a.sampler.Space().New()
	for k := range 2 * passes {
		require.NoError(t, a.sampler.Sample(k))
		f := require.Value(a.sampler.Forward(nil))(t)
		require.NoError(t, a.sampler.Backward([]float64{1}, d))
		block, _ := a.batches.Block(k)
		list := a.batches.List(block)
		share := float64(len(list)) / float64(train.Len())
		got, all = got+f*share, append(all, list...)
		own := make([]float64, n)
		a.sampler.Space().Read(own, d)
		for i, v := range own {
			gradient[i] += v * share
		}
		for _, i := range list {
			for j, q := range train.Queries.Of {
				if q == train.Queries.Of[i] && !slices.Contains(list, j) {
					t.Fatalf("batch %d has a part of the query %d", block, q)
				}
			}
		}
	}
	if slices.Sort(all); len(all) != 2*train.Len() || len(slices.Compact(all)) != train.Len() {
		t.Errorf("two passes have %d rows of %d", len(all), train.Len())
	}
	if math.Abs(got/2-want) > 1e-5 {
		t.Errorf("the batches have the mean objective %v, all rows %v", got/2, want)
	}
	whole := a.problem.Space().New()
	require.NoError(t, a.problem.Backward([]float64{1}, whole))
	own := make([]float64, n)
	a.problem.Space().Read(own, whole)
	for i, v := range own {
		if math.Abs(gradient[i]/2-v) > 1e-5 {
			t.Errorf("gradient %d: %v in batches, %v on all rows", i, gradient[i]/2, v)
		}
	}
	var objectives [2]float64
	for k := range objectives {
		s := require.Value(New(context.Background(), options()))(t)
		r := require.Value(s.Train(context.Background()))(t)
		objectives[k] = r.Objective
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if objectives[0] != objectives[1] || !(objectives[0] < 0.6) {
		t.Errorf("objectives %v", objectives)
	}
}
