package constraints

import (
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
)

// dense makes a tensor of dtype dt from float64 data.
func dense(dt tensor.Dtype, data []float64, shape ...int) *tensor.Dense {
	if dt == tensor.Float64 {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(append([]float64(nil), data...)))
	}
	narrow := make([]float32, len(data))
	for i, v := range data {
		narrow[i] = float32(v)
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(narrow))
}

// widened returns a value's elements as float64.
func widened(t testing.TB, v gorgonia.Value) []float64 {
	t.Helper()
	switch x := v.Data().(type) {
	case float64:
		return []float64{x}
	case float32:
		return []float64{float64(x)}
	case []float64:
		return append([]float64(nil), x...)
	case []float32:
		out := make([]float64, len(x))
		for i, e := range x {
			out[i] = float64(e)
		}
		return out
	}
	t.Fatalf("unexpected value %T", v)
	return nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// compiled returns a machine that computes the outputs from the inputs.
func compiled(t testing.TB, inputs, outputs gorgonia.Nodes) gorgonia.VM {
	t.Helper()
	g := inputs[0].Graph()
	prog, loc, err := gorgonia.CompileFunction(g, inputs, outputs)
	require.NoError(t, err)
	m := gorgonia.NewTapeMachine(g, gorgonia.WithPrecompiled(prog, loc))
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func runVM(t testing.TB, m gorgonia.VM) {
	t.Helper()
	m.Reset()
	require.NoError(t, m.RunAll())
}

func let(t testing.TB, n *gorgonia.Node, v any) {
	t.Helper()
	require.NoError(t, gorgonia.Let(n, v))
}

func randoms(rng *rand.Rand, n int, scale float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = scale * rng.NormFloat64()
	}
	return out
}

// network is a two-layer network with a problem on its scores. The two passes are compiled
// separately: f and g from x; w0 grad f + J^T w from x, w0 and w.
type network struct {
	dt                tensor.Dtype
	params            gorgonia.Nodes
	f, g, w0, w       *gorgonia.Node
	grads             gorgonia.Nodes
	forward, backward gorgonia.VM
}

const features, hidden = 3, 4

func newNetwork(t testing.TB, dt tensor.Dtype, s *Sample, data, start []float64) *network {
	t.Helper()
	graph := gorgonia.NewGraph()
	n, c := s.p.Len(), len(s.p.Classes)
	x := gorgonia.NewMatrix(graph, dt, gorgonia.WithShape(n, features), gorgonia.WithName("x"))
	w1 := gorgonia.NewMatrix(graph, dt, gorgonia.WithShape(features, hidden), gorgonia.WithName("w1"))
	b1 := gorgonia.NewVector(graph, dt, gorgonia.WithShape(hidden), gorgonia.WithName("b1"))
	w2 := gorgonia.NewMatrix(graph, dt, gorgonia.WithShape(hidden, c), gorgonia.WithName("w2"))
	h := must(gorgonia.Sigmoid(must(gorgonia.BroadcastAdd(must(gorgonia.Mul(x, w1)), b1, nil, []byte{0}))))
	scores := must(gorgonia.Mul(h, w2))

	nw := &network{dt: dt, params: gorgonia.Nodes{w1, b1, w2}}
	var err error
	if nw.f, nw.g, err = s.Nodes(scores); err != nil {
		t.Fatal(err)
	}
	nw.w0 = gorgonia.NewScalar(graph, dt, gorgonia.WithName("w0"))
	nw.w = gorgonia.NewVector(graph, dt, gorgonia.WithShape(c-1), gorgonia.WithName("w"))
	nw.grads, err = gorgonia.Backpropagate(gorgonia.Nodes{nw.f, nw.g}, gorgonia.Nodes{nw.w0, nw.w}, nw.params)
	require.NoError(t, err)
	let(t, x, dense(dt, data, n, features))
	nw.set(t, start)
	in := append(gorgonia.Nodes{x}, nw.params...)
	nw.forward = compiled(t, in, gorgonia.Nodes{nw.f, nw.g})
	nw.backward = compiled(t, append(in, nw.w0, nw.w), nw.grads)
	return nw
}

// set sets the parameters to the stacked vector v.
func (nw *network) set(t testing.TB, v []float64) {
	t.Helper()
	for _, p := range nw.params {
		size := p.Shape().TotalSize()
		let(t, p, dense(nw.dt, v[:size], p.Shape()...))
		v = v[size:]
	}
}

// values returns f and g.
func (nw *network) values(t testing.TB) []float64 {
	t.Helper()
	runVM(t, nw.forward)
	return append(widened(t, nw.f.Value()), widened(t, nw.g.Value())...)
}

// gradient returns w[0] grad f + J^T w[1:], stacked.
func (nw *network) gradient(t testing.TB, w []float64) []float64 {
	t.Helper()
	if nw.dt == tensor.Float64 {
		let(t, nw.w0, w[0])
	} else {
		let(t, nw.w0, float32(w[0]))
	}
	let(t, nw.w, dense(nw.dt, w[1:], len(w)-1))
	runVM(t, nw.backward)
	var out []float64
	for _, g := range nw.grads {
		out = append(out, widened(t, g.Value())...)
	}
	return out
}

func norm(v []float64) float64 {
	var s float64
	for _, x := range v {
		s += x * x
	}
	return math.Sqrt(s)
}

// distance returns ||a-b|| / ||b||.
func distance(a, b []float64) float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return norm(d) / norm(b)
}

// weighted returns sum_k w_k v_k.
func weighted(w, v []float64) (s float64) {
	for k := range w {
		s += w[k] * v[k]
	}
	return s
}

// cases returns problems of 2 and 4 classes with sorted rows, mixed rows and single rows.
var cases = []struct {
	name    string
	classes []string
	labels  []int
}{
	{"two classes", []string{"a", "b"}, []int{0, 0, 0, 1, 1}},
	{"two rows", []string{"a", "b"}, []int{0, 1}},
	{"one row each", []string{"a", "b", "c", "d"}, []int{0, 1, 2, 3}},
	{"grouped", []string{"a", "b", "c", "d"}, []int{0, 0, 0, 1, 2, 2, 3, 3, 3, 3}},
	{"mixed", []string{"a", "b", "c", "d"}, []int{3, 0, 1, 2, 2, 0, 3, 1, 0, 2, 2}},
}

func TestGradientEqualsCentralDifferences(t *testing.T) {
	for _, tc := range cases {
		for _, phi := range Phis() {
			t.Run(tc.name+"/"+phi.String(), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, 2))
				c := len(tc.classes)
				size := features*hidden + hidden + hidden*c
				data, x := randoms(rng, len(tc.labels)*features, 1), randoms(rng, size, 1)
				p := &Population{Labels: tc.labels, Classes: tc.classes}
				s := must(must(neymanPearson(p, 0.2, phi)).On(p))
				nw := newNetwork(t, tensor.Float64, s, data, x)
				w := []float64{0.8}
				for k := 1; k < c; k++ {
					w = append(w, 0.3+float64(k))
				}
				got := nw.gradient(t, w)

				const h = 1e-5
				want := make([]float64, size)
				for i := range x {
					step := func(d float64) float64 {
						y := append([]float64(nil), x...)
						y[i] += d
						nw.set(t, y)
						return weighted(w, nw.values(t))
					}
					// The difference quotient has fourth order: at this h its error is below rounding.
					want[i] = (8*(step(h)-step(-h)) - (step(2*h) - step(-2*h))) / (12 * h)
				}
				if d := distance(got, want); !(d <= 1e-8) {
					t.Errorf("gradient is off by %g", d)
				}

				narrow := newNetwork(t, tensor.Float32, s, data, x)
				if d := distance(narrow.gradient(t, w), got); !(d <= 2e-6) {
					t.Errorf("float32 gradient is off by %g", d)
				}
				nw.set(t, x)
				if d := distance(narrow.values(t), nw.values(t)); !(d <= 1e-6) {
					t.Errorf("float32 values are off by %g", d)
				}
			})
		}
	}
}

// A run with changed weights and parameters does not depend on earlier runs, and does not change
// the results of earlier runs.
func TestRepeatedRunsKeepNoState(t *testing.T) {
	tc := cases[4]
	rng := rand.New(rand.NewPCG(5, 6))
	c := len(tc.classes)
	size := features*hidden + hidden + hidden*c
	data := randoms(rng, len(tc.labels)*features, 1)
	p := &Population{Labels: tc.labels, Classes: tc.classes}
	s := must(must(neymanPearson(p, 0.2, Sigmoid)).On(p))
	nw := newNetwork(t, tensor.Float64, s, data, make([]float64, size))
	var kept []gorgonia.Value
	var copies [][]float64
	for range 4 {
		x, w := randoms(rng, size, 1), randoms(rng, c, 1)
		nw.set(t, x)
		grad, vals := nw.gradient(t, w), nw.values(t)
		kept = append(kept, nw.g.Value(), nw.f.Value())
		copies = append(copies, widened(t, nw.g.Value()), widened(t, nw.f.Value()))

		fresh := newNetwork(t, tensor.Float64, s, data, x)
		if d := distance(fresh.gradient(t, w), grad); d != 0 {
			t.Errorf("gradient of a reused graph is off by %g", d)
		}
		if d := distance(fresh.values(t), vals); d != 0 {
			t.Errorf("values of a reused graph are off by %g", d)
		}
	}
	for i, v := range kept {
		if d := distance(widened(t, v), copies[i]); d != 0 {
			t.Errorf("result %d changed after it was read", i)
		}
	}
}
