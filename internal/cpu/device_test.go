package cpu_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// network is a Neyman-Pearson problem on random rows.
type network struct {
	spec   models.Spec
	phi    constraints.Phi // "": sigmoid
	counts []int           // rows of each class
	center bool
	seed   uint64
}

func (n network) surrogate() constraints.Phi { return cmp.Or(n.phi, constraints.Sigmoid) }

func (n network) problem(t testing.TB, dtype tensor.Dtype, engine graph.Engine) *graph.Problem {
	t.Helper()
	c := graphcases.Network(n.spec, n.counts, n.surrogate(), n.center, graphcases.Values)
	c.Seed = n.seed
	return compile(t, c, dtype, engine)
}

func compile(t testing.TB, c graphcases.Case, dtype tensor.Dtype, engine graph.Engine) *graph.Problem {
	t.Helper()
	return require.Value(c.Problem(dtype, engine))(t)
}

// numbers returns f, g, the gradient for some weights, and the scores.
func numbers(t testing.TB, p *graph.Problem) [][]float64 {
	t.Helper()
	n, m := p.Dims()
	g, d := make([]float64, m), make([]float64, n)
	f := require.Value(p.Forward(g))(t)
	weights := []float64{1}
	for j := range m {
		weights = append(weights, 0.5+float64(j))
	}
	v := p.Space().New()
	require.NoError(t, p.Backward(weights, v))
	p.Space().Read(d, v)
	// The last constraint alone has zeros on most rows, where the buffers have other numbers.
	clear(weights[:m])
	require.NoError(t, p.Backward(weights, v))
	last := make([]float64, n)
	p.Space().Read(last, v)
	scores := require.Value(p.Watched(0))(t)
	var s []float64
	switch x := scores.Data().(type) {
	case []float64:
		s = x
	case []float32:
		for _, v := range x {
			s = append(s, float64(v))
		}
	}
	return [][]float64{append(g, f), append(d, last...), s}
}

// distance returns ||a - b||/||b||.
func distance(a, b []float64) float64 {
	num, den := 0.0, 0.0
	for i := range b {
		num += (a[i] - b[i]) * (a[i] - b[i])
		den += b[i] * b[i]
	}
	return math.Sqrt(num / max(den, 1e-300))
}

// agree checks that two problems have the same numbers up to the relative bound.
func agree(t testing.TB, what string, got, want [][]float64, bound float64) {
	t.Helper()
	for i, part := range []string{"f and g", "gradient", "scores"}[:len(want)] {
		if d := distance(got[i], want[i]); !(d <= bound) {
			t.Errorf("%s: %s differ by %.2g", what, part, d)
		}
	}
}

// On every level and for any number of threads, the device agrees with Gorgonia's machine in
// float64.
func TestDeviceAgreesWithGorgonia(t *testing.T) {
	several := []int{1, 3}
	if require.Racing {
		several = []int{3}
	}
	for _, c := range graphcases.Networks([]int{1, 1}, []int{3, 1, 2}, []int{100, 13, 200, 1}, []int{301, 270, 190, 250}) {
		want := numbers(t, compile(t, c, tensor.Float64, graph.Tape{}))
		for _, level := range levels() {
			for _, threads := range several {
				for dtype, bound := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 2e-5} {
					got := numbers(t, compile(t, c, dtype, engine(t, level, threads)))
					agree(t, fmt.Sprintf("%s, %v, %d threads, %v", c.Name, level, threads, dtype), got, want, bound)
				}
			}
		}
	}
}

// levels returns the levels of kernels that a test compares. The race detector does not see
// assembly, and the goroutines are the same at every level.
func levels() []kernel.Level {
	if require.Racing {
		return []kernel.Level{kernel.Best()}
	}
	return kernel.Levels()
}

func engine(t testing.TB, level kernel.Level, threads int) graph.Engine {
	t.Helper()
	d := require.Value(cpu.New(level, threads))(t)
	return graph.On(d)
}

// Two runs give the same bits. The widest level gives the same bits as the next level.
func TestRunsRepeatToTheBit(t *testing.T) {
	n := network{spec: models.Spec{Inputs: 13, Hidden: []int{33}, Outputs: 4}, counts: []int{301, 270, 190, 250}, center: true, seed: 5}
	p := n.problem(t, tensor.Float32, engine(t, kernel.Best(), 2))
	first := numbers(t, p)
	for _, again := range [][][]float64{numbers(t, p), numbers(t, n.problem(t, tensor.Float32, engine(t, kernel.Best(), 2)))} {
		for i := range first {
			if distance(again[i], first[i]) != 0 {
				t.Errorf("part %d changed between runs", i)
			}
		}
	}
}

// After 200 iterations of PPALA in float64 both engines have the same weights. With gradient steps
// of a fixed size the weights agree up to rounding. Momentum and the curvature rule amplify
// rounding, so these cases have a larger tolerance.
func TestTrainingAgreesWithGorgonia(t *testing.T) {
	require.NoRace(t, "TestDeviceAgreesWithGorgonia runs the same goroutines")
	n := network{spec: models.Spec{Inputs: 12, Hidden: []int{9}, Outputs: 3}, counts: []int{120, 90, 101}, center: true, seed: 3}
	for _, c := range []struct {
		name   string
		primal step.Settings
		most   float64
	}{
		{"gradient", step.Settings{Kind: step.Gradient, Fixed: true, Eta: 0.02}, 1e-12},
		{"nesterov", step.Settings{Kind: step.Nesterov}, 1e-5},
	} {
		run := func(e graph.Engine) []float64 {
			p := n.problem(t, tensor.Float64, e)
			method := &method.PPALA{Primal: c.primal}
			require.Value(trainer.Train(context.Background(), p, method, trainer.Settings{Iterations: 200, IgnoreConflict: true}))(t)
			size, _ := p.Dims()
			x := make([]float64, size)
			p.Space().Read(x, problem.Iterate)
			return x
		}
		d := distance(run(engine(t, kernel.Best(), 2)), run(graph.Tape{}))
		t.Logf("%s: %.2g", c.name, d)
		if d > c.most {
			t.Errorf("%s: after 200 iterations the weights differ by %.2g, at most %g", c.name, d, c.most)
		}
	}
}

// Bind packs the new rows.
func TestBindExchangesTheRows(t *testing.T) {
	n := network{spec: models.Spec{Inputs: 6, Hidden: []int{5}, Outputs: 2}, counts: []int{20, 30}, seed: 9}
	plan, tape := n.problem(t, tensor.Float64, engine(t, kernel.Best(), 2)), n.problem(t, tensor.Float64, graph.Tape{})
	rows := make([]float64, 300)
	for i := range rows {
		rows[i] = math.Sin(float64(i))
	}
	v := &matrix.Dense{Rows: 50, Cols: 6, Data: rows}
	for _, p := range []*graph.Problem{plan, tape} {
		require.NoError(t, p.Bind(0, v))
	}
	got, want := numbers(t, plan), numbers(t, tape)
	agree(t, "after Bind", got, want, 1e-12)
	if err := plan.Bind(0, &matrix.Dense{Rows: 2, Cols: 6, Data: make([]float64, 12)}); err == nil {
		t.Error("Bind of another shape gave no error")
	}
}

// table is a data matrix of float64 rows that counts the rows that an engine reads.
type table struct {
	rows, cols int
	values     []float64
	widened    *atomic.Int64 // rows read, by all workers
}

func (t table) Dims() (rows, cols int) { return t.rows, t.cols }

func (t table) Float32(dst []float32, from, to int) {
	t.widened.Add(int64(to - from))
	for i, v := range t.values[from*t.cols : to*t.cols] {
		dst[i] = float32(v)
	}
}

func (t table) Float64(dst []float64, from, to int) {
	t.widened.Add(int64(to - from))
	copy(dst, t.values[from*t.cols:to*t.cols])
}

// Every engine reads a data matrix once, while it packs the rows, and gives the same numbers. If
// another op also reads the matrix, the engine widens a second copy.
func TestDataMatrices(t *testing.T) {
	build := func(e graph.Engine, watchRows bool) (*graph.Problem, int) {
		var widened atomic.Int64
		data := table{rows: 700, cols: 9, values: make([]float64, 6300), widened: &widened}
		for i := range data.values {
			data.values[i] = math.Cos(float64(i * i))
		}
		p := require.Value(graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			spec := models.Spec{Inputs: 9, Hidden: []int{5}, Outputs: 2}
			weights, err := models.Init(spec, rand.New(rand.NewPCG(4, 4)))
			if err != nil {
				return graph.Definition{}, err
			}
			net, err := models.New(g, spec, tensor.Float64, weights)
			if err != nil {
				return graph.Definition{}, err
			}
			x := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("rows"), gorgonia.WithShape(700, 9))
			scores, err := net.Scores(x, nil)
			if err != nil {
				return graph.Definition{}, err
			}
			f := gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(scores))))
			watch := gorgonia.Nodes{scores}
			if watchRows {
				watch = append(watch, gorgonia.Must(gorgonia.Square(x)))
			}
			return graph.Definition{Objective: f, Parameters: net.Parameters(), Inputs: gorgonia.Nodes{x}, Data: []matrix.Matrix{data}, Watch: watch}, nil
		}, e))(t)
		return p, int(widened.Load())
	}
	want, _ := build(graph.Tape{}, false)
	for _, watchRows := range []bool{false, true} {
		p, widened := build(engine(t, kernel.Best(), 2), watchRows)
		if widened != 700 {
			t.Errorf("%d rows were widened, want each of the 700 once", widened)
		}
		got, reference := numbers(t, p), numbers(t, want)
		agree(t, fmt.Sprintf("rows watched too: %t", watchRows), got, reference, 1e-12)
	}
}

// A program of float32 with narrow products reads rows of float32 in place, and every program has
// the bits of rows of float64 that are equal. Bind leaves the rows alone.
func TestSinglesInPlace(t *testing.T) {
	const rows, cols = 300, 24
	x, other := floats(rows, cols, 1), floats(rows, cols, 2)
	for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		for _, hidden := range [][]int{nil, {40}} {
			same := matrix.NewSingles(rows, cols)
			x.Float32(same.Data, 0, rows)
			spec := models.Spec{Inputs: cols, Hidden: hidden}
			want, got := compile(t, onFloats(spec, x), dtype, engine(t, kernel.Best(), 2)), compile(t, onFloats(spec, same), dtype, engine(t, kernel.Best(), 2))
			before := numbers(t, want)
			if !reflect.DeepEqual(before, numbers(t, got)) {
				t.Errorf("%v, hidden %v: other numbers", dtype, hidden)
			}
			clear(same.Data)
			if inPlace := !reflect.DeepEqual(before, numbers(t, got)); inPlace != (dtype == tensor.Float32 && hidden == nil) {
				t.Errorf("%v, hidden %v: in place %t", dtype, hidden, inPlace)
			}
			for _, p := range []*graph.Problem{want, got} {
				require.NoError(t, p.Bind(0, other))
			}
			if !reflect.DeepEqual(numbers(t, want), numbers(t, got)) {
				t.Errorf("%v, hidden %v: other numbers after Bind", dtype, hidden)
			}
			if slices.ContainsFunc(same.Data, func(v float32) bool { return v != 0 }) {
				t.Errorf("%v, hidden %v: Bind wrote to the rows", dtype, hidden)
			}
		}
	}
}
