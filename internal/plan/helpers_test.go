package plan_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
)

// capture is the tape engine. It also keeps the definition that it compiles.
type capture struct {
	graph.Tape
	halves **graph.Lagrangian
}

func (c capture) Compile(h *graph.Lagrangian) (graph.Compiled, error) {
	if *c.halves == nil { // graph.New compiles the operations that it compares later
		*c.halves = h
	}
	return c.Tape.Compile(h)
}

// lower builds a problem and returns it with its plan.
func lower(t testing.TB, build func(g *gorgonia.ExprGraph) (graph.Definition, error)) (*graph.Problem, *plan.Plan) {
	t.Helper()
	var h *graph.Lagrangian
	problem := require.Value(graph.New(build, capture{halves: &h}))(t)
	p := require.Value(graphcases.Lower(h))(t)
	if err := p.Check(); err != nil {
		t.Fatalf("%v\n%v", err, p)
	}
	return problem, p
}

// network is a model with a Neyman-Pearson problem over random rows.
type network struct {
	spec     models.Spec
	phi      constraints.Phi
	centered bool
	labels   []int
}

func (c network) String() string {
	s := c.spec.WithDefaults()
	return fmt.Sprintf("%d-%v-%d/%s/%s/%v/centered=%v/n=%d", s.Inputs, s.Hidden, s.Outputs, s.Activation, s.Heads, c.phi, c.centered, len(c.labels))
}

func matrix(g *gorgonia.ExprGraph, dtype tensor.Dtype, name string, rows, cols int, data []float64) *gorgonia.Node {
	var backing any = data
	if dtype == tensor.Float32 {
		narrow := make([]float32, len(data))
		for i, x := range data {
			narrow[i] = float32(x)
		}
		backing = narrow
	}
	return gorgonia.NewMatrix(g, dtype, gorgonia.WithName(name), gorgonia.WithShape(rows, cols),
		gorgonia.WithValue(tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(backing))))
}

func normals(rng *rand.Rand, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(float32(rng.NormFloat64()))
	}
	return list
}

// build draws data and weights that float32 represents exactly, so that both dtypes get the same
// numbers.
func (c network) build(dtype tensor.Dtype, seed uint64) func(g *gorgonia.ExprGraph) (graph.Definition, error) {
	return func(g *gorgonia.ExprGraph) (d graph.Definition, err error) {
		rng := rand.New(rand.NewPCG(seed, 1))
		weights, err := models.Init(c.spec, rng)
		if err != nil {
			return d, err
		}
		for _, w := range weights {
			for i, x := range w.Data {
				w.Data[i] = float64(float32(x))
			}
		}
		net, err := models.New(g, c.spec, dtype, weights)
		if err != nil {
			return d, err
		}
		x := matrix(g, dtype, "x", len(c.labels), c.spec.Inputs, normals(rng, len(c.labels)*c.spec.Inputs))
		var center *gorgonia.Node
		if c.centered {
			center = matrix(g, dtype, "center", 1, c.spec.Inputs, normals(rng, c.spec.Inputs))
		}
		scores, err := net.Scores(x, center)
		if err != nil {
			return d, err
		}
		var names []string
		for k := range c.spec.Outputs {
			names = append(names, fmt.Sprint("class", k))
		}
		f, gs, err := graphcases.NeymanPearson(0.25, c.phi).Nodes(scores, &constraints.Population{Labels: c.labels, Classes: names})
		return graph.Definition{Objective: f, Constraints: gorgonia.Nodes{gs}, Parameters: net.Parameters(),
			Inputs: gorgonia.Nodes{x}, Watch: gorgonia.Nodes{scores}}, err
	}
}

// specs returns models of all kinds, some with a single input, hidden unit or output.
func specs() []models.Spec {
	list := []models.Spec{{Inputs: 5, Outputs: 3}, {Inputs: 1, Outputs: 2}}
	for _, a := range []models.Activation{models.Sigmoid, models.ReLU, models.Tanh} {
		for _, h := range []models.Heads{models.Shared, models.Separate} {
			for _, hidden := range [][]int{{7}, {4, 2, 3}, {1}} {
				list = append(list, models.Spec{Inputs: 5, Hidden: hidden, Outputs: 3, Activation: a, Heads: h})
			}
		}
	}
	return append(list, models.Spec{Inputs: 1, Hidden: []int{1}, Outputs: 2, Heads: models.Separate})
}

// networks calls f for every model, phi and centring, with classes of one row, with rows in order
// and with shuffled rows.
func networks(t *testing.T, f func(t *testing.T, c network)) {
	for _, spec := range specs() {
		for _, phi := range constraints.Phis() {
			for _, centered := range []bool{false, true} {
				for k, counts := range [][]int{{1, 1, 1}, {6, 1, 4}, {3, 9, 5}} {
					c := network{spec: spec, phi: phi, centered: centered}
					for class, n := range counts[:spec.Outputs] {
						for range n {
							c.labels = append(c.labels, class)
						}
					}
					if k == 2 {
						rand.New(rand.NewPCG(5, 5)).Shuffle(len(c.labels), func(i, j int) { c.labels[i], c.labels[j] = c.labels[j], c.labels[i] })
					}
					t.Run(c.String(), func(t *testing.T) { f(t, c) })
				}
			}
		}
	}
}

// outcome holds the results of the forward and the backward half.
type outcome struct {
	values   []float64 // f, then g, then the watched values
	gradient []float64
}

func tape(t testing.TB, problem *graph.Problem, weights []float64) outcome {
	t.Helper()
	n, m := problem.Dims()
	g := make([]float64, m)
	f := require.Value(problem.Forward(g))(t)
	d := problem.Space().New()
	require.NoError(t, problem.Backward(weights, d))
	o := outcome{append([]float64{f}, g...), make([]float64, n)}
	problem.Space().Read(o.gradient, d)
	for i := 0; ; i++ {
		v, err := problem.Watched(i)
		if err != nil {
			return o
		}
		o.values = append(o.values, v.Data().([]float64)...)
	}
}

func reference[T plan.Float](t testing.TB, p *plan.Plan, block int, weights []float64) outcome {
	t.Helper()
	r := require.Value(plan.NewReference[T](p, block))(t)
	var o outcome
	for range 2 { // the second run starts with the memory that the first run left
		require.NoError(t, r.Forward())
		for range 2 {
			require.NoError(t, r.Backward(weights))
		}
	}
	for _, v := range slices.Concat([]plan.View{p.Objective}, p.Constraints, p.Watched) {
		for _, x := range r.Contents(v) {
			o.values = append(o.values, float64(x))
		}
	}
	for _, v := range p.Gradients {
		for _, x := range r.Contents(v) {
			o.gradient = append(o.gradient, float64(x))
		}
	}
	return o
}

// distance returns ||a - b|| / ||b||, or ||a - b|| if b is tiny.
func distance(a, b []float64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	var d, n float64
	for i := range a {
		d += (a[i] - b[i]) * (a[i] - b[i])
		n += b[i] * b[i]
	}
	return math.Sqrt(d) / math.Max(math.Sqrt(n), 1e-3)
}

func compare(t testing.TB, got, want outcome, tolerance float64, p *plan.Plan) {
	t.Helper()
	if d := distance(got.values, want.values); !(d <= tolerance) {
		t.Errorf("f and g differ by %.2g: %v, want %v\n%v", d, got.values, want.values, p)
	}
	if d := distance(got.gradient, want.gradient); !(d <= tolerance) {
		t.Errorf("the gradient differs by %.2g: %v, want %v\n%v", d, got.gradient, want.gradient, p)
	}
}

// weightsOf returns weights for the objective and m constraints.
func weightsOf(m int) []float64 {
	rng := rand.New(rand.NewPCG(9, 9))
	w := make([]float64, m+1)
	for i := range w {
		w[i] = float64(float32(0.2 + rng.Float64()))
	}
	return w
}
