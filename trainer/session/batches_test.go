package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/session/internal/build"
	"ppal/trainer/step"
)

// kept are runs on mini-batches with rows in every form.
func kept() map[string]Options {
	pictures := func(p Products, dtype tensor.Dtype) Options {
		return small(func(c *setup) { c.BatchSize, c.Products, c.Dtype, c.inGo = 31, p, dtype, p == BF16x3 || p == BF16x2 }).options()
	}
	return map[string]Options{
		"digits":  pictures(Int8x3, tensor.Float32),
		"bf16x3":  pictures(BF16x3, tensor.Float32),
		"bf16x2":  pictures(BF16x2, tensor.Float32),
		"float32": pictures(Float32, tensor.Float32),
		"float64": pictures("", tensor.Float64),
		"sparse":  onTable(DemographicParity{}, Table{Dataset: "synthetic-adult"}, func(o *Options) { o.BatchSize = 300 }),
		"table":   onTable(DemographicParity{}, Table{Dataset: "synthetic-compas"}, func(o *Options) { o.BatchSize = 300 }),
	}
}

// Batches that the device keeps cost what their packed rows need, and a run whose batches do not
// fit is refused.
func TestKeptBytes(t *testing.T) {
	require.NoRace(t, "TestBatchesResume runs the same goroutines")
	for name, o := range kept() {
		if name == "digits" && hasDigits(t) != nil {
			continue
		}
		a := buildOptions(t, o)
		b := a.batches
		rows, entries := 0, 0
		data := a.splits[0].Data
		for k := range int(b.PerPass()) {
			list := b.List(k)
			rows += len(list)
			if s, ok := build.PickData(data, list).(matrix.Sparse); ok {
				_, columns, _ := s.Entries()
				entries += len(columns)
			}
		}
		_, cols := data.Dims()
		want := map[string]int{"digits": 2 * rows * cols, "bf16x3": 12 * rows * cols, "bf16x2": 8 * rows * cols, "float32": 4 * rows * cols, "float64": 8 * rows * cols,
			"sparse": 8*rows + 4*entries, "table": int(a.dtype.Size()) * rows * cols}[name]
		got := int(b.KeptBytes(a.dtype.Size(), false))
		if name == "sparse" && (entries == 0 || got < want*99/100 || got > want*101/100) || name != "sparse" && got != want {
			t.Errorf("%s: %d bytes, want %d", name, got, want)
		}
		if got := b.KeptBytes(a.dtype.Size(), true); got != 0 {
			t.Errorf("%s: %d bytes outside the pages", name, got)
		}
		a.devices.Options.MemoryLimit = 1
		err := a.buildSampler(a.splits[0].Rows, 1, a.weights(t))
		if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "--batch-size") {
			t.Errorf("%s: the batches do not fit: %v", name, err)
		}
	}
}

// A pass over batches that the device keeps copies no rows and allocates nothing.
func TestBatchesAllocateNothing(t *testing.T) {
	require.NoRace(t, "TestBatchesResume runs the same goroutines")
	for name, o := range kept() {
		if name == "digits" && hasDigits(t) != nil {
			continue
		}
		a := buildOptions(t, o)
		at := 0
		pass := func() {
			for range int(a.batches.PerPass()) {
				require.NoError(t, a.sampler.Sample(at))
				at++
			}
		}
		pass()
		// a new order of the batches needs a source of random numbers
		if got := testing.AllocsPerRun(3, pass); got > 2 {
			t.Errorf("%s: %v allocations in a pass over %d batches", name, got, int(a.batches.PerPass()))
		}
	}
}

// The certificates of runs on mini-batches of equalized odds, with two gaps: 11 batches in a pass
// over synthetic-compas and 86 over synthetic-adult. The bounds lie between what the runs reach and
// what they reach without a part of the method, which is in brackets:
//   - the last iterations on all rows: at most 6e-6 (9e-4 to 4e-2)
//   - two smooth constraints for each gap: at most 7e-3 (2e-2 and 8e-2, plada)
//   - the running estimate of the constraints: at most 2e-3 on batches alone (2e-2, ppala)
func TestBatchQuality(t *testing.T) {
	require.NoRace(t, "TestBatchesResume runs the same goroutines")
	ppala := func() trainer.Method { return &method.PPALA{} }
	plada := func() trainer.Method { return &method.PLADA{} }
	for _, c := range []struct {
		dataset string
		method  func() trainer.Method
		alone   bool // no last iterations on all rows
		bound   float64
	}{
		{"synthetic-compas", ppala, false, 1e-4},
		{"synthetic-compas", plada, false, 1e-4},
		{"synthetic-compas", ppala, true, 6e-3},
		{"synthetic-adult", ppala, false, 1.1e-2},
		{"synthetic-adult", plada, false, 1.1e-2},
	} {
		for _, seed := range []uint64{1, 2} {
			const iterations = 440
			e := buildOptions(t, onTable(EqualizedOdds{}, Table{Dataset: c.dataset}, func(o *Options) {
				o.Method, o.BatchSize, o.Settings.Seed, o.Settings.Iterations = c.method(), 400, seed, iterations
				if c.alone {
					o.Settings.Iterations = 1
				}
			}))
			r := require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: iterations}))(t)
			if epsilon := r.Certificate.Epsilon; !(epsilon <= c.bound) {
				t.Errorf("%s by %s, seed %d, batches alone %v: epsilon is %.2g, want at most %v",
					c.dataset, e.options.Method.Name(), seed, c.alone, epsilon, c.bound)
			}
		}
	}
}

// finishing are runs on mini-batches whose last iterations use all rows: with quasi-Newton steps on
// smooth constraints and on pieces, and with the steps of the batches.
func finishing(iterations int) map[string]func() Options {
	parity := func(task Task, m func() trainer.Method) func() Options {
		return func() Options {
			return onTable(task, Table{Dataset: "synthetic-compas"}, func(o *Options) {
				o.Method, o.BatchSize, o.Settings.Iterations = m(), 400, iterations
			})
		}
	}
	return map[string]func() Options{
		"ppala":    parity(DemographicParity{}, func() trainer.Method { return &method.PPALA{} }),
		"plada":    parity(EqualizedOdds{}, func() trainer.Method { return &method.PLADA{} }),
		"pieces":   parity(EqualizedOdds{}, func() trainer.Method { return &method.PLADA{XStep: method.ProxLinear} }),
		"alm":      parity(DemographicParity{}, func() trainer.Method { return &method.ALM{} }),
		"gda":      parity(DemographicParity{}, func() trainer.Method { return &method.GDA{} }),
		"momentum": parity(DemographicParity{}, func() trainer.Method { return &method.PPALA{Primal: step.Settings{Kind: step.Nesterov}} }),
		"gradient": parity(EqualizedOdds{}, func() trainer.Method {
			return &method.PLADA{Primal: step.Settings{Kind: step.Gradient}, XStep: method.Subgradient}
		}),
		"network": func() Options {
			o := small(func(c *setup) { c.BatchSize, c.method = 31, &method.PPALA{} }).options()
			o.Settings.Iterations = iterations
			return o
		},
	}
}

// The last iterations use all rows, and count as passes. They end with a better certificate than
// batches alone.
func TestLastIterationsUseAllRows(t *testing.T) {
	require.NoRace(t, "TestBatchesResume runs the same goroutines")
	const iterations = 120
	for name, options := range finishing(iterations) {
		var epsilon [2]float64
		for k := range epsilon {
			o := options()
			if k == 0 { // batches to the end
				o.Settings.Iterations = 1
			}
			e := buildOptions(t, o)
			b := e.batches
			last := 2 * o.Settings.Iterations / int(b.PerPass()) // linear models
			if name == "network" {
				last /= 2
			}
			if k == 0 != (last == 0) || k == 1 && b.From != iterations-last {
				t.Fatalf("%s: all rows from iteration %d on, want the last %d of %d", name, b.From, last, o.Settings.Iterations)
			}
			quasi := fmt.Sprintf("The last %d of the %d iterations use all rows, with quasi-Newton steps.", last, iterations)
			if has := slices.Contains(e.finishes, quasi); has != (k == 1 && name != "gda" && name != "gradient" && name != "pieces") {
				t.Errorf("%s: the notes are %q", name, e.finishes)
			}
			want := iterations / b.PerPass()
			if k == 1 {
				want = float64(b.From)/b.PerPass() + float64(last)
			}
			records := &trace{}
			r := require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: iterations, Recorder: records}))(t)
			if got := records.Records[len(records.Records)-1].Epoch; got != want {
				t.Errorf("%s: the run ends after %v epochs, want %v", name, got, want)
			}
			epsilon[k] = r.Certificate.Epsilon
		}
		if name != "gda" && name != "gradient" && epsilon[1] > epsilon[0]/2 {
			t.Errorf("%s: epsilon is %v with all rows in the last iterations, %v without", name, epsilon[1], epsilon[0])
		}
	}
}

// A run that stops among the batches, before the last iterations or among them, and continues, ends
// with the weights of a run without a stop.
func TestBatchesResume(t *testing.T) {
	const iterations = 120
	for name, options := range finishing(iterations) {
		if require.Racing && name != "plada" && name != "network" {
			continue // the same goroutines
		}
		whole := buildOptions(t, options())
		from := whole.batches.From
		weights := func(e *assembly, s trainer.Settings) (models.Weights, *trainer.Result) {
			r := require.Value(e.Optimize(t.Context(), s))(t)
			return e.weights(t), r
		}
		want, _ := weights(whole, trainer.Settings{Iterations: iterations})
		stops := []int{from}
		if name == "pieces" || name == "momentum" { // the rule of the last iterations knows no method
			stops = []int{from - 1, from, from + 1}
		}
		for _, stop := range stops {
			_, half := weights(buildOptions(t, options()), trainer.Settings{Iterations: stop})
			o := options()
			if m, ok := o.Method.(*method.PPALA); ok { // as config.yaml names the step
				m.Primal.Kind = step.Nesterov
			}
			got, _ := weights(buildOptions(t, o), trainer.Settings{Iterations: iterations, Resume: half.State,
				ResumeAt: problem.Point{Iteration: stop, GradientEvaluations: half.Point.GradientEvaluations}})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: stopped after %d of %d iterations, all rows from %d on: other weights", name, stop, iterations, from)
			}
		}
	}
}

// On batches, PLADA has two smooth constraints for each gap, unless its x-step needs pieces.
func TestBatchesSplitGaps(t *testing.T) {
	for _, c := range []struct {
		step        method.XStep
		batch, want int
	}{{method.XStepAuto, 0, 2}, {method.XStepAuto, 1 << 20, 2}, {method.XStepAuto, 400, 4}, {method.ProxLinear, 400, 2}} {
		a := buildOptions(t, onTable(EqualizedOdds{}, Table{Dataset: "synthetic-compas"}, func(o *Options) {
			o.Method, o.BatchSize = &method.PLADA{XStep: c.step}, c.batch
		}))
		if _, m := a.Problem().Dims(); m != c.want {
			t.Errorf("x-step %d, batches of %d: %d constraints, want %d", c.step, c.batch, m, c.want)
		}
	}
}

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
