package session

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/datasets/picture"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// kinds lists all normalisations.
var kinds = []models.NormalizationKind{models.NormalizeNone, models.NormalizeCenter, models.NormalizeStandardize}

// f, g and every gradient in blocks of rows equal f, g and the gradient of all rows at once.
func TestExactEqualsTheWhole(t *testing.T) {
	for _, kind := range kinds {
		e := assembled(t, small(func(c *setup) { c.Normalize = kind }))
		p := exactInBlocks(t, e, 23) // of 120 rows: the last block overlaps the block before
		n, m := p.Dims()
		g, want := make([]float64, m), make([]float64, m)
		f := require.Value(p.Forward(g))(t)
		whole := require.Value(e.problem.Forward(want))(t)
		nearly(t, string(kind)+": f, g", append(g, f), append(want, whole))
		a, b := p.Space().New(), e.problem.Space().New()
		x, y := make([]float64, n), make([]float64, n)
		var all [][]float64 // the coefficients of each term, for one pass
		var each []problem.Vector
		for term := range 1 + m {
			weights := make([]float64, 1+m)
			weights[term] = 1
			require.NoError(t, p.Backward(weights, a))
			require.NoError(t, e.problem.Backward(weights, b))
			p.Space().Read(x, a)
			e.problem.Space().Read(y, b)
			nearly(t, string(kind)+": gradient", x, y)
			all, each = append(all, weights), append(each, p.Space().New())
			p.Space().Combine(each[term], -1, a, 0, a)
		}
		several := make([]problem.Vector, len(all))
		for i := range several {
			several[i] = p.Space().New()
		}
		require.NoError(t, p.BackwardSeveral(all, several))
		for i, v := range several {
			if p.Space().Combine(v, 1, v, 1, each[i]); p.Space().Dot(v, v) != 0 {
				t.Errorf("%s: gradient %d of several differs from that of a single pass", kind, i)
			}
		}
	}
}

func nearly(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12*(1+math.Abs(want[i])) {
			t.Fatalf("%s: number %d is %.17g, want %.17g", what, i, got[i], want[i])
		}
	}
}

// The saved weights act on raw pixels. They give the same scores as training, which computes the
// scores from standardised pixels.
func TestSavedWeightsActOnRawRows(t *testing.T) {
	require.NoRace(t, "TestRunsAreDeterministic runs the same goroutines")
	for _, heads := range []models.Heads{models.Shared, models.Separate} {
		e := assembled(t, small(func(c *setup) { c.Heads = heads }))
		require.Value(e.Optimize(context.Background(), trainer.Settings{Iterations: 3}))(t)
		path := filepath.Join(t.TempDir(), "model.safetensors")
		require.NoError(t, e.SaveModel(path))
		m := require.Value(models.LoadFile(path, nil))(t)
		train, _, err := datasets.LoadImages("", "synthetic", 1)
		require.NoError(t, err)
		s := require.Value(picture.Select(train, []int{2, 0, 3}, 40))(t)
		rows, cols := s.Pixels.Dims()
		raw := make([]float64, rows*cols)
		s.Pixels.Float64(raw, 0, rows)
		got := require.Value(m.Predict(raw))(t)
		require.Value(e.problem.Forward(make([]float64, 2)))(t)
		scores := require.Value(e.splits[0].problem.Watched(0))(t)
		nearly(t, string(heads), got, scores.Data().([]float64))
	}
}

// A run that starts from the weights of another run starts at the other run's end, with any
// normalisation.
func TestInitContinuesAnotherModel(t *testing.T) {
	first := assembled(t, small(nil))
	require.Value(first.Optimize(context.Background(), trainer.Settings{Iterations: 4}))(t)
	path := filepath.Join(t.TempDir(), "model.safetensors")
	require.NoError(t, first.SaveModel(path))
	g, want := make([]float64, 2), make([]float64, 2)
	f := require.Value(first.problem.Forward(want))(t)
	for _, kind := range kinds {
		second := assembled(t, small(func(c *setup) { c.Init, c.Normalize = path, kind }))
		value := require.Value(second.problem.Forward(g))(t)
		nearly(t, string(kind), append(append([]float64{}, g...), value), append(append([]float64{}, want...), f))
	}
}

// The same seed gives the same run. Another seed gives another run.
func TestRunsAreDeterministic(t *testing.T) {
	run := func(seed uint64) []float64 {
		e := assembled(t, small(func(c *setup) { c.Seed, c.Dtype = seed, tensor.Float32 }))
		require.Value(e.Optimize(context.Background(), trainer.Settings{Iterations: 6}))(t)
		return e.iterate()
	}
	a, b, c := run(1), run(1), run(2)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("two runs of one seed differ: %s", diff)
	}
	if cmp.Equal(a, c) {
		t.Error("two seeds gave one run")
	}
}

func TestFinishCertifiesInFloat64(t *testing.T) {
	require.NoRace(t, "TestRunsAreDeterministic runs the same goroutines")
	e := assembled(t, small(func(c *setup) { c.Dtype = tensor.Float32 }))
	if e.dtype != tensor.Float32 {
		t.Fatal("not a float32 run")
	}
	r := require.Value(e.Optimize(context.Background(), trainer.Settings{Iterations: 10}))(t)
	final := require.Value(e.Certify(r))(t)
	if math.Abs(final.Objective-r.Objective) > 1e-5 ||
		math.Abs(final.Certificate.Epsilon-r.Certificate.Epsilon) > 1e-4*(1+r.Certificate.Epsilon) {
		t.Errorf("float64: objective %v, epsilon %v; the run's float32: %v, %v",
			final.Objective, final.Certificate.Epsilon, r.Objective, r.Certificate.Epsilon)
	}
	own := final.Certificate.Own
	if own == nil || !(final.Certificate.Epsilon < own.Epsilon) {
		t.Fatalf("the certificate is not better than PPALA's own: %+v", final.Certificate)
	}
	r.Certificate.Own, r.Certificate.Nu = &certify.Own{Nu: r.Certificate.Nu}, own.Nu // the worse multiplier as the result of the search
	if swapped, err := e.Certify(r); err != nil || swapped.Certificate.Own != nil || swapped.Certificate.Epsilon != final.Certificate.Epsilon {
		t.Errorf("float64 did not keep the better multiplier: %+v, %v", swapped.Certificate, err)
	}
	for _, k := range []string{"error", "error_2", "error_0", "loss_3", "max_violation"} {
		if _, ok := final.Splits[1].Named[k]; !ok {
			t.Errorf("no test measure %q in %v", k, final.Splits[1].Named)
		}
	}
	if len(final.Values) != 3 || math.Abs(final.Values[0]-final.Objective) > 1e-5 {
		t.Errorf("class losses %v, objective %v", final.Values, final.Objective)
	}
}

// The default settings solve Fashion-MNIST in a tenth of the usual iterations.
func TestRealFashionMNISTIsSolved(t *testing.T) {
	dir := os.Getenv(datasets.EnvData)
	if dir == "" {
		t.Skipf("%s is not set: real files are not tested", datasets.EnvData)
	}
	e := assembled(t, small(func(c *setup) {
		c.Dataset, c.Dir, c.Classes, c.RowsPerClass = "fashion-mnist", dir, []int{0, 1, 2, 3}, 500
		c.Kappa, c.Hidden, c.Dtype = []float64{0.2}, []int{32}, tensor.Float32
	}))
	r := require.Value(e.Optimize(context.Background(), trainer.Settings{Iterations: 100}))(t)
	if r.Objective > 0.02 || r.BestFeasible == nil {
		t.Errorf("after 100 iterations f = %v, feasible %v, want at most 0.02 and a feasible record", r.Objective, r.BestFeasible)
	}
}

// A batch of all rows is full-batch training. Smaller batches use every row once in a pass.
func TestMiniBatches(t *testing.T) {
	whole := assembled(t, small(nil))
	full := assembled(t, small(func(c *setup) { c.BatchSize = 120 }))
	if full.sampler != nil || full.Describe().Notes[0] != "batch-size 120: all 120 rows" {
		t.Errorf("a batch of all rows is sampled; notes %q", full.Describe().Notes)
	}
	run := func(e *assembly, iterations int) *trainer.Result {
		return require.Value(e.Optimize(context.Background(), trainer.Settings{Iterations: iterations}))(t)
	}
	a, b := run(whole, 5), run(full, 5)
	if a.Objective != b.Objective {
		t.Errorf("objective %v on all rows, %v on batches of all rows", a.Objective, b.Objective)
	}

	part := assembled(t, small(func(c *setup) { c.BatchSize = 31 }))
	batches, orders := part.batches, map[string]bool{}
	counts := make([]int, 3)
	for _, i := range batches.List(0) {
		counts[part.splits[0].Labels[i]]++
	}
	if !cmp.Equal(counts, []int{10, 10, 10}) {
		t.Fatalf("rows of a batch: %v, want 10 of each class", counts)
	}
	for pass := range 6 {
		seen, order := map[int]bool{}, []int{}
		for k := range 4 {
			batch, _ := batches.Block(4*pass + k)
			order = append(order, batch)
			for _, i := range batches.List(batch) {
				seen[i] = true
			}
		}
		if len(seen) != 120 {
			t.Errorf("pass %d has %d different rows, want all 120", pass, len(seen))
		}
		orders[fmt.Sprint(order)] = true
	}
	if len(orders) < 3 {
		t.Errorf("6 passes took the batches in %d different orders", len(orders))
	}
	start, end := run(part, 0), run(assembled(t, small(func(c *setup) { c.BatchSize = 31 })), 60)
	if end.Objective+end.Certificate.Infeasibility > 0.8*(start.Objective+start.Certificate.Infeasibility) {
		t.Errorf("60 mini-batches took f = %v, violation %v to %v, %v",
			start.Objective, start.Certificate.Infeasibility, end.Objective, end.Certificate.Infeasibility)
	}
}

// By default, a run ends once its objective and its residual are below the rounding of 1 in the
// dtype. A tolerance below 0 lets the run go on.
func TestSolvedRunsEnd(t *testing.T) {
	for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		for tolerance, want := range map[float64]trainer.Status{0: trainer.Converged, -1: trainer.IterationLimit} {
			e := assembled(t, small(func(c *setup) {
				c.Kappa, c.Hidden, c.Dtype, c.method = []float64{5}, []int{20}, dtype, &method.ALM{Primal: step.Settings{Kind: step.LBFGS}}
			}))
			r := require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: 120, Tolerance: tolerance}))(t)
			least := e.problem.Space().Roundoff()
			if r.Status != want || want == trainer.Converged && max(r.Objective, r.Certificate.Epsilon) > least {
				t.Errorf("%v, tolerance %v: %v after %d, f = %v, epsilon %v", dtype, tolerance, r.Status, r.Iterations, r.Objective, r.Certificate.Epsilon)
			}
		}
	}
}

// The scores of blocks of rows equal the scores of all rows at once, also in the last block.
func TestBlocksEqualTheWhole(t *testing.T) {
	for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		for _, block := range []int{1, 23, 120} {
			e := assembled(t, small(func(c *setup) { c.Dtype = dtype }))
			s := require.Value(e.builder.BlocksOf(e.splits[0].Data, block, e.dtype, e.weights(t)))(t)
			x := e.iterate()
			for range 2 { // the second pass reuses the memory of the first
				got := require.Value(s.Scores(x))(t)
				require.Value(e.problem.Forward(make([]float64, len(e.builder.statement.bounds()))))(t)
				v := require.Value(e.splits[0].problem.Watched(0))(t)
				if diff := cmp.Diff(graph.Float64s(v), got); diff != "" {
					t.Errorf("%v, %d rows at a time: %s", dtype, block, diff)
				}
				for i := range x {
					x[i] *= 0.5
				}
				e.problem.Space().Write(0, x)
			}
		}
	}
}

// weights returns the initial weights.
func (e *assembly) weights(t *testing.T) models.Weights {
	t.Helper()
	return require.Value(e.start())(t)
}

// deadlines is a pipeline that keeps the deadline of the training.
type deadlines struct {
	*assembly
	deadline time.Time
}

func (d *deadlines) Optimize(_ context.Context, s trainer.Settings) (*trainer.Result, error) {
	d.deadline = s.Deadline
	return &trainer.Result{}, nil
}

// The training ends before the time limit by the estimated time of the certificate, but has at
// least a quarter of the limit.
func TestTimeLimitHasTheCertificate(t *testing.T) {
	a := assembled(t, small(nil))
	if took, err := a.certifyTime(); err != nil || took <= 0 {
		t.Errorf("estimate %v, %v", took, err)
	}
	p, o, earlier := &deadlines{assembly: a}, a.options, false
	o.TimeLimit = time.Hour
	for try := 0; try < 100 && !earlier; try++ { // the estimate may be shorter than a pause of this test
		s := Run(p, o)
		s.own = a
		began := time.Now()
		if _, err := s.Optimize(t.Context()); err != nil {
			t.Fatal(err)
		}
		earlier = p.deadline.Before(began.Add(o.TimeLimit))
	}
	if !earlier {
		t.Error("the training has the time of the certificate, too")
	}
	const limit = 1000
	for certifying, want := range map[time.Duration]time.Duration{300: 700, 0: limit, 999: 250, 5000: 250} {
		if got := beforeCertificate(limit, certifying); got != want {
			t.Errorf("certificate %v: %v for the training, want %v", certifying, got, want)
		}
	}
}

// The estimate leaves the certificate's blocks as they were: equal scores before and after.
func TestClosingLeavesTheScores(t *testing.T) {
	a := assembled(t, small(nil))
	s := a.splits[0]
	b := require.Value(a.builder.exactBlocks(s, a.iterate()))(t)
	before := require.Value(b.Scores(a.iterate()))(t)
	require.Value(a.certifyTime())(t)
	after, err := b.Scores(a.iterate())
	if err != nil || len(after) != len(before) {
		t.Fatalf("%d and %d scores, %v", len(before), len(after), err)
	}
	for i := range before {
		if before[i] != after[i] {
			t.Fatalf("score %d is %v, was %v", i, after[i], before[i])
		}
	}
}
