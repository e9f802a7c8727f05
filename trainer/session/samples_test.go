package session

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
	"ppal/trainer/step"
)

// The measures and the graphs of a split of a table share one sample. Another split and the rows of
// a mini-batch have their own samples.
func TestSamplesAreShared(t *testing.T) {
	table := func() Rows {
		return Rows{Labels: []int{-1, 1, 1}, Classes: []Class{{Name: "no", Label: -1}, {Name: "yes", Label: 1}}, Tabular: true}
	}
	r := table()
	p := require.Value(r.population())(t)
	system := require.Value(constraints.NewSystem(constraints.Error(), nil, p))(t)
	shared := &samples{system: system, samples: map[*int]*constraints.Sample{}}
	of := func(r Rows) *constraints.Sample {
		return require.Value(shared.sample(r))(t)
	}
	first := of(r)
	if of(r) != first {
		t.Error("the second use makes a sample")
	}
	if of(table()) == first {
		t.Error("another split gets the sample of the first")
	}
	r.Tabular = false
	if of(r) == first {
		t.Error("rows of a mini-batch get the sample of a split")
	}
}

// large is a run on as many rows as samples need, with a rule for fewer rows and less work: 160
// rows of each of three classes, whose pixels are noise and a stripe of the class.
func large(change func(c *setup)) Options {
	const classes, each, cols = 3, 160, 48
	r := rand.New(rand.NewPCG(1, 2))
	set := &picture.Selection{Classes: []int{2, 0, 3}, Names: []string{"two", "zero", "three"}, Offsets: []int{0, each, 2 * each, 3 * each}}
	set.Pixels = &matrix.Bytes{Rows: classes * each, Cols: cols, Data: make([]byte, classes*each*cols), Scale: picture.PixelScale}
	for i := range set.Pixels.Data {
		set.Pixels.Data[i] = byte(r.IntN(200))
		if row, col := i/cols, i%cols; col/6 == row/each {
			set.Pixels.Data[i] += 55
		}
	}
	o := small(func(c *setup) {
		c.source = ImagesAtHand{Train: set, Test: set}
		c.Spec, c.method = models.Spec{Hidden: []int{16}, Activation: models.Sigmoid}, &method.ALM{}
		c.Device = Device{Kind: CPU, Threads: 2}
		if change != nil {
			change(c)
		}
	}).options()
	o.samplesPay = sampleRule{least: 20, work: 2e4}
	return o
}

// Samples are for quasi-Newton steps on one CPU, on many rows of each class, if an iteration has
// enough work.
func TestSamplesWhereTheyPay(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(c *setup)
		allRows bool
		want    int // grades
	}{
		"large":           {nil, false, 3},
		"PLADA":           {func(c *setup) { c.method = &method.PLADA{} }, false, 1},
		"--samples none":  {nil, true, 1},
		"little work":     {func(c *setup) { c.Hidden = []int{8} }, false, 1},
		"no hidden layer": {func(c *setup) { c.Spec = models.Spec{} }, false, 1},
		"nesterov":        {func(c *setup) { c.method = &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}} }, false, 1},
		"batches":         {func(c *setup) { c.BatchSize = 100 }, false, 1},
		"memory":          {func(c *setup) { c.Memory = 256 << 20 }, false, 1},
		"Gorgonia":        {func(c *setup) { c.Engine = Gorgonia }, false, 0},
	} {
		o := large(c.change)
		o.AllRows = c.allRows
		a := buildOptions(t, o)
		g, ok := a.problem.(problem.Graded)
		if f := problem.FeaturesOf(a.problem).Graded; f != nil {
			g, ok = f, true
		}
		grades := 0
		if ok {
			grades = len(g.Grades())
		} else if c.want == 1 {
			grades = 1
		}
		note := "The first iterations see 60, then 120 of the 480 training rows, until the sampling error is larger than the gain of a step. --samples none shows them all rows."
		if grades != c.want && !(c.want == 0 && !ok) || a.sampled != (c.want == 3) || slices.Contains(a.notes, note) != a.sampled {
			t.Errorf("%s: %d grades, want %d; notes %q", name, grades, c.want, a.notes)
		}
		if a.sampled && (g.Grades()[0].Share != 1./8 || g.Grades()[1].Share != 1./4 || g.Grade() != 2) {
			t.Errorf("%s: the grades are %v, the present one %d", name, g.Grades(), g.Grade())
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A stratum with too few rows in the smallest sample leaves all rows to every step.
func TestFewRowsHaveNoSamples(t *testing.T) {
	for least, want := range map[float64]bool{20: true, 20.1: false} {
		o := large(nil)
		o.samplesPay.least = least
		if a := buildOptions(t, o); a.sampled != want {
			t.Errorf("20 rows of each class in the smallest sample, want at least %v: sampled %v", least, a.sampled)
		}
	}
}

// A sample has the share of each stratum, rounded up, and the rows of the smaller samples. Its
// order is that of the rows, and another seed draws other rows.
func TestSampleOf(t *testing.T) {
	strata := [][]int{{0, 2, 4, 6, 8, 10, 12, 14, 16}, {1, 3, 5, 7}}
	quarter, half := build.SampleOf(strata, 0.25, 1), build.SampleOf(strata, 0.5, 1)
	for _, c := range []struct {
		rows       []int
		even, odds int
	}{{quarter, 3, 1}, {half, 5, 2}} {
		odd := 0
		for _, i := range c.rows {
			odd += i % 2
		}
		if odd != c.odds || len(c.rows)-odd != c.even || !slices.IsSorted(c.rows) {
			t.Errorf("%v, want %d even and %d odd rows in order", c.rows, c.even, c.odds)
		}
	}
	for _, i := range quarter {
		if !slices.Contains(half, i) {
			t.Errorf("row %d of %v is not in %v", i, quarter, half)
		}
	}
	different := false
	for seed := range uint64(8) {
		different = different || !slices.Equal(quarter, build.SampleOf(strata, 0.25, seed))
	}
	if !different || !slices.Equal(quarter, build.SampleOf(strata, 0.25, 1)) {
		t.Error("samples of one seed differ, or those of all seeds are equal")
	}
}

// f, g and the gradient on a sample are those of the problem whose rows are the sample's, to the
// bit.
func TestSampleHasItsRows(t *testing.T) {
	a := buildOptions(t, large(nil))
	g := problem.FeaturesOf(a.problem).Graded
	weights := require.Value(a.start())(t)
	r := a.splits[0].Rows
	n, m := a.problem.Dims()
	d := a.problem.Space().New()
	values := func(p problem.Problem, d problem.Vector) (v []float64) {
		own, x := make([]float64, m), make([]float64, n)
		f := require.Value(p.Forward(own))(t)
		require.NoError(t, p.Backward([]float64{1, 0.5, 2}, d))
		p.Space().Read(x, d)
		return append(append(v, f), append(own, x...)...)
	}
	whole := values(a.problem, d)
	for k, share := range build.SampleShares() {
		list := build.SampleOf(r.Stratified(), share, 1)
		alone := require.Value(a.builder.Problem(a.builder.rows(r.Pick(list, build.PickData(r.Data, list))), a.dtype, weights))(t)
		g.SetGrade(k)
		got := values(a.problem, d)
		if !slices.Equal(got, values(alone, alone.Space().New())) {
			t.Errorf("share %v: the sample's values are not those of its rows", share)
		}
		if got[0] == whole[0] {
			t.Errorf("share %v: f is that of all rows", share)
		}
	}
	g.SetGrade(2)
	if !slices.Equal(whole, values(a.problem, d)) {
		t.Error("all rows have other values after the samples")
	}
}

// A run that sees samples first ends with the same bits for any number of threads, and if it is
// resumed on a sample or on all rows. Its records are of all rows, and count gradients by shares.
func TestSampledRun(t *testing.T) {
	const iterations = 28
	run := func(change func(s *trainer.Settings), threads int) ([]float64, *testkit.Checkpoints, *assembly) {
		a := buildOptions(t, large(func(c *setup) { c.Threads = threads }))
		kept := &testkit.Checkpoints{}
		s := trainer.Settings{Iterations: iterations, RecordEvery: 2, Recorder: kept, Checkpointer: kept, Seed: 1}
		change(&s)
		require.Value(a.Optimize(context.Background(), s))(t)
		n, _ := a.problem.Dims()
		x := make([]float64, n)
		a.problem.Space().Read(x, problem.Iterate)
		return x, kept, a
	}
	want, kept, a := run(func(s *trainer.Settings) {
		s.Checkpointer.(*testkit.Checkpoints).Asked = []int{4, 28}
	}, 2)
	one, _, _ := run(func(*trainer.Settings) {}, 1)
	if !slices.Equal(want, one) {
		t.Error("one thread gives other weights than two")
	}
	stages := map[float64]bool{}
	for i, state := range kept.States {
		stages[state.Numbers["quasi.stage"][0]] = true
		got, again, _ := run(func(s *trainer.Settings) { s.Resume, s.ResumeAt = state, kept.Points[i] }, 1)
		if !slices.Equal(want, got) || !cmp.Equal(again.Records, kept.After(i)) {
			t.Errorf("the run that is resumed at iteration %d in stage %v ends elsewhere", kept.Points[i].Iteration, state.Numbers["quasi.stage"])
		}
	}
	if !stages[1] || !stages[3] {
		t.Errorf("checkpoints in the stages %v, want a sample and all rows", stages)
	}
	last := kept.Records[len(kept.Records)-1]
	if last.GradientEvaluations >= iterations || last.GradientEvaluations < 2 {
		t.Errorf("%d gradients in %d iterations on samples", last.GradientEvaluations, iterations)
	}
	g := make([]float64, len(last.Constraints))
	f, err := a.problem.Forward(g)
	if err != nil || math.Abs(f-last.Objective) > 1e-12 || problem.Coarse(problem.FeaturesOf(a.problem).Graded) {
		t.Errorf("the last record has f = %v, all rows %v (%v)", last.Objective, f, err)
	}
}
