package models

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
)

// specs are all kinds of models at small, unequal sizes.
func specs() []Spec {
	var all []Spec
	all = append(all, Spec{Inputs: 5, Outputs: 3}, Spec{Inputs: 5, Outputs: 1})
	for _, activation := range activations {
		for _, heads := range []Heads{Shared, Separate} {
			for _, hidden := range [][]int{{4}, {4, 2, 3}} {
				all = append(all, Spec{5, hidden, 3, activation, heads})
			}
		}
	}
	// Gorgonia treats matrices with a side of 1 as vectors in some places.
	return append(all, Spec{1, []int{1}, 1, Tanh, Shared}, Spec{1, []int{1}, 2, Tanh, Separate},
		Spec{2, []int{1}, 1, Sigmoid, Separate}, Spec{Inputs: 1, Outputs: 1}, Spec{1, []int{3}, 2, Sigmoid, Shared})
}

func (s Spec) testName() string {
	s = s.WithDefaults()
	return fmt.Sprintf("%d-%v-%d/%s/%s", s.Inputs, s.Hidden, s.Outputs, s.Activation, s.Heads)
}

// forCases calls f for every spec, with and without a center, for several rows and for one row.
func forCases(t *testing.T, f func(t *testing.T, spec Spec, weights Weights, rows, center, d []float64)) {
	for _, spec := range specs() {
		for _, n := range []int{7, 1} {
			for _, centered := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/n=%d/centered=%v", spec.testName(), n, centered), func(t *testing.T) {
					rng := generator(3)
					weights := require.Value(Init(spec, rng))(t)
					rows, d := normals(rng, n*spec.Inputs, 1), normals(rng, n*spec.Outputs, 1)
					center := normals(rng, spec.Inputs, 1)
					if !centered {
						center = nil
					}
					f(t, spec, weights, rows, center, d)
				})
			}
		}
	}
}

// reference returns the scores of Predict with the center folded into the weights.
func reference(t *testing.T, spec Spec, weights Weights, rows, center []float64) []float64 {
	t.Helper()
	var norm Normalization
	if center != nil {
		norm = Normalization{Kind: NormalizeCenter, Center: center}
	}
	folded := require.Value(norm.Fold(spec, weights))(t)
	return require.Value(Predict(spec, folded, rows))(t)
}

func TestScoresAgreeWithPredict(t *testing.T) {
	forCases(t, func(t *testing.T, spec Spec, weights Weights, rows, center, d []float64) {
		want := reference(t, spec, weights, rows, center)
		for dtype, tolerance := range map[tensor.Dtype]float64{tensor.Float64: 1e-14, tensor.Float32: 1e-6} {
			p := compile(t, spec, dtype, weights, rows, center, d)
			for range 3 { // later runs use the first one's memory
				run(t, p.forward)
				run(t, p.backward)
			}
			run(t, p.forward)
			if e := distance(values(p.scores), want, 1e-2); e > tolerance {
				t.Errorf("%v: relative difference %.2g", dtype, e)
			}
		}
	})
}

func TestGradientsAreCentralDifferences(t *testing.T) {
	const step = 1e-5
	forCases(t, func(t *testing.T, spec Spec, weights Weights, rows, center, d []float64) {
		p := compile(t, spec, tensor.Float64, weights, rows, center, d)
		single := compile(t, spec, tensor.Float32, weights, rows, center, d)
		for range 2 {
			run(t, p.backward)
			run(t, single.backward)
		}
		for i, parameter := range spec.Parameters() {
			// The node is the transpose of the host's tensor.
			grad := make([]float64, len(weights[i].Data))
			fromGraph(grad, values(p.grads[i]), parameter.Shape)
			want := make([]float64, len(grad))
			for k := range want {
				var side [2]float64
				for s, h := range []float64{step, -step} {
					moved := weights.Clone()
					moved[i].Data[k] += h
					require.NoError(t, p.net.SetWeights(moved))
					side[s] = p.inner(t, d)
				}
				want[k] = (side[0] - side[1]) / (2 * step)
			}
			if e := distance(grad, want, 1e-2); e > 1e-7 {
				t.Errorf("%s: gradient off by %.2g relative\n got %v\nwant %v", parameter.Name, e, grad, want)
			}
			if e := distance(values(single.grads[i]), values(p.grads[i]), 1e-2); e > 2e-5 {
				t.Errorf("%s: float32 gradient off by %.2g relative", parameter.Name, e)
			}
			if got := p.grads[i].Shape(); !got.Eq(p.net.nodes[i].Shape()) {
				t.Errorf("%s: gradient of shape %v, parameter of %v", parameter.Name, got, p.net.nodes[i].Shape())
			}
		}
	})
}

// Two blocks of rows in one graph share the parameters: their gradients add up.
func TestBlocksShareParameters(t *testing.T) {
	for _, heads := range []Heads{Shared, Separate} {
		spec := Spec{Inputs: 4, Hidden: []int{3}, Outputs: 2, Heads: heads}
		rng := generator(2)
		weights, _ := Init(spec, rng)
		rows, center, d := normals(rng, 9*4, 1), normals(rng, 4, 1), normals(rng, 9*2, 1)
		whole := compile(t, spec, tensor.Float64, weights, rows, center, d)
		run(t, whole.backward)

		g := gorgonia.NewGraph()
		net := require.Value(New(g, spec, tensor.Float64, weights))(t)
		matrix := func(name string, rows, cols int, values []float64) *gorgonia.Node {
			return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName(name), gorgonia.WithShape(rows, cols),
				gorgonia.WithValue(dense(tensor.Float64, rows, cols, values)))
		}
		c := matrix("center", 1, 4, center)
		xs := gorgonia.Nodes{matrix("x0", 6, 4, rows[:24]), matrix("x1", 3, 4, rows[24:])}
		ds := gorgonia.Nodes{matrix("d0", 6, 2, d[:12]), matrix("d1", 3, 2, d[12:])}
		var scores gorgonia.Nodes
		for _, x := range xs {
			f := require.Value(net.Scores(x, c))(t)
			scores = append(scores, f)
		}
		grads := require.Value(gorgonia.Backpropagate(scores, ds, net.Parameters()))(t)
		inputs := append(append(gorgonia.Nodes{c}, xs...), ds...)
		for i, p := range net.Parameters() {
			if weights[i].Name != "output.bias" && !strings.HasSuffix(weights[i].Name, ".output.bias") {
				inputs = append(inputs, p) // the last bias enters no gradient
			}
		}
		run(t, compileFunction(t, g, inputs, grads))
		for i, got := range grads {
			if e := distance(values(got), values(whole.grads[i]), 0); e > 1e-13 {
				t.Errorf("%s %s: gradients differ by %.2g", heads, weights[i].Name, e)
			}
		}
	}
}

// Saturated units give finite scores and gradients in float32.
func TestExtremesStayFinite(t *testing.T) {
	for _, activation := range activations {
		spec := Spec{Inputs: 1, Hidden: []int{2}, Outputs: 1, Activation: activation}
		weights := Weights{
			{"hidden.weight", []int{2, 1}, []float64{1, -1}}, {"hidden.bias", []int{2}, []float64{0, 0}},
			{"output.weight", []int{1, 2}, []float64{1, 1}}, {"output.bias", []int{1}, []float64{0}},
		}
		var rows []float64
		for _, z := range []float64{0, 1e-40, 14.9, 15.1, 19.1, 87, 88.1, 103.5, 104, 710, 1e4, 1e30} {
			rows = append(rows, z, -z)
		}
		for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			p := compile(t, spec, dtype, weights, rows, nil, normals(generator(1), len(rows), 1))
			run(t, p.forward)
			run(t, p.backward)
			for _, n := range append(gorgonia.Nodes{p.scores}, p.grads...) {
				for i, v := range values(n) {
					if math.IsNaN(v) || math.IsInf(v, 0) {
						t.Errorf("%s %v: value %d of %v is %v", activation, dtype, i, n, v)
					}
				}
			}
		}
	}
}

// The bias's gradient keeps float32's digits over many rows.
func TestBiasGradientAccumulatesInFloat64(t *testing.T) {
	const n = 1 << 20
	spec := Spec{Inputs: 1, Outputs: 2}
	weights, _ := Init(spec, generator(1))
	d := make([]float64, 2*n)
	for i := range d {
		d[i] = 0.1
	}
	p := compile(t, spec, tensor.Float32, weights, make([]float64, n), nil, d)
	run(t, p.backward)
	want := n * float64(float32(0.1))
	for _, got := range values(p.grads[1]) {
		if math.Abs(got-want) > 1e-7*want {
			t.Errorf("sum %v, want %v", got, want)
		}
	}
}

func TestWeightsRoundTrip(t *testing.T) {
	for _, spec := range specs() {
		for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			weights := require.Value(Init(spec, generator(5)))(t)
			net := require.Value(New(gorgonia.NewGraph(), spec, dtype, weights))(t)
			next, _ := Init(spec, generator(6))
			before := net.nodes[0].Value()
			require.NoError(t, net.SetWeights(next))
			if net.nodes[0].Value() != before {
				t.Error("SetWeights replaced a value instead of filling it")
			}
			got := require.Value(net.Weights())(t)
			for i, want := range next {
				if dtype == tensor.Float32 {
					for k, v := range want.Data {
						want.Data[k] = float64(float32(v))
					}
				}
				if distance(got[i].Data, want.Data, 1) != 0 || got[i].Name != want.Name {
					t.Errorf("%s: %s comes back as %v, want %v", spec.testName(), want.Name, got[i], want)
				}
			}
			for i, n := range net.Parameters() {
				if n.Name() != next[i].Name {
					t.Errorf("node %d is %q, want %q", i, n.Name(), next[i].Name)
				}
			}
		}
	}
}

func TestNetworkRefuses(t *testing.T) {
	spec := Spec{Inputs: 2, Hidden: []int{3}, Outputs: 2}
	weights, _ := Init(spec, generator(1))
	g := gorgonia.NewGraph()
	if _, err := New(g, spec, tensor.Int, weights); err == nil || !strings.Contains(err.Error(), "int") {
		t.Errorf("dtype int: %v", err)
	}
	if _, err := New(g, spec, tensor.Float64, weights[:3]); !errors.Is(err, ErrWeights) {
		t.Errorf("missing tensor: %v", err)
	}
	huge := weights.Clone()
	huge[0].Data[0] = 1e300
	_, err := New(gorgonia.NewGraph(), spec, tensor.Float32, huge)
	if !errors.Is(err, ErrWeights) || !strings.Contains(err.Error(), "overflows float32") {
		t.Errorf("1e300 in float32: %v", err)
	}
	net := require.Value(New(g, spec, tensor.Float64, weights))(t)
	if _, err := New(g, spec, tensor.Float64, weights); err == nil || !strings.Contains(err.Error(), `"hidden.weight" already`) {
		t.Errorf("second network in the graph: %v", err)
	}
	matrix := func(g *gorgonia.ExprGraph, dtype tensor.Dtype, rows, cols int) *gorgonia.Node {
		return gorgonia.NewMatrix(g, dtype, gorgonia.WithName("m"), gorgonia.WithShape(rows, cols))
	}
	x := matrix(g, tensor.Float64, 4, 2)
	for _, test := range []struct {
		x, center *gorgonia.Node
		detail    string
	}{
		{nil, nil, "x is nil"},
		{matrix(gorgonia.NewGraph(), tensor.Float64, 4, 2), nil, "different graphs"},
		{matrix(g, tensor.Float64, 4, 3), nil, "x has shape (4, 3), expected [n, 2]"},
		{gorgonia.NewVector(g, tensor.Float64, gorgonia.WithName("v"), gorgonia.WithShape(2)), nil, "expected [n, 2]"},
		{matrix(g, tensor.Float32, 4, 2), nil, "float32"},
		{x, x, "center has shape (4, 2), expected [1, 2]"},
	} {
		if _, err := net.Scores(test.x, test.center); err == nil || !strings.Contains(err.Error(), test.detail) {
			t.Errorf("got %v, want %q", err, test.detail)
		}
	}
}

// With a center and a scale, the scores and the first layer's gradients equal the scores and
// gradients of the rows (x - c) o a.
func TestScaledScores(t *testing.T) {
	forCases(t, func(t *testing.T, spec Spec, weights Weights, rows, center, d []float64) {
		if spec.Inputs == 1 {
			return // Gorgonia takes matrices with a side of 1 for vectors when it repeats them
		}
		n := len(rows) / spec.Inputs
		scale, scaled := make([]float64, spec.Inputs), make([]float64, len(rows))
		for j := range scale {
			scale[j] = 0.5 + float64(j)
		}
		for i, x := range rows {
			j := i % spec.Inputs
			if center != nil {
				x -= center[j]
			}
			scaled[i] = x * scale[j]
		}
		got, want := scaledPass(t, spec, weights, n, rows, center, scale, d), scaledPass(t, spec, weights, n, scaled, nil, nil, d)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-12*(1+math.Abs(want[i])) {
				t.Fatalf("number %d is %v, want %v", i, got[i], want[i])
			}
		}
	})
}

// scaledPass returns the scores and the gradients of sum_ij D_ij S_ij.
func scaledPass(t *testing.T, spec Spec, weights Weights, n int, rows, center, scale, d []float64) []float64 {
	t.Helper()
	g := gorgonia.NewGraph()
	net := require.Value(New(g, spec, tensor.Float64, weights))(t)
	node := func(name string, data []float64, rows, cols int) *gorgonia.Node {
		if data == nil {
			return nil
		}
		return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName(name), gorgonia.WithShape(rows, cols),
			gorgonia.WithValue(tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(append([]float64{}, data...)))))
	}
	s := require.Value(net.ScaledScores(node("x", rows, n, spec.Inputs), node("c", center, 1, spec.Inputs), node("a", scale, spec.Inputs, 1)))(t)
	gradients := require.Value(gorgonia.Backpropagate(gorgonia.Nodes{s}, gorgonia.Nodes{node("d", d, n, spec.Outputs)}, net.Parameters()))(t)
	values := make([]gorgonia.Value, len(gradients)+1)
	gorgonia.Read(s, &values[0])
	for i, v := range gradients {
		gorgonia.Read(v, &values[1+i])
	}
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	require.NoError(t, vm.RunAll())
	var list []float64
	for _, v := range values {
		switch data := v.Data().(type) {
		case []float64:
			list = append(list, data...)
		case float64:
			list = append(list, data)
		}
	}
	return list
}

func TestScaledScoresRefuses(t *testing.T) {
	spec := Spec{Inputs: 5, Outputs: 2}
	weights := require.Value(Init(spec, generator(1)))(t)
	g := gorgonia.NewGraph()
	net := require.Value(New(g, spec, tensor.Float64, weights))(t)
	x := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(3, 5), gorgonia.WithName("x"))
	wrong := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(1, 5), gorgonia.WithName("a"))
	if _, err := net.ScaledScores(x, nil, wrong); err == nil {
		t.Error("a scale of one row is accepted")
	}
}
