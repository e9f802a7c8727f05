package models

import (
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
)

func generator(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// dense returns values as a matrix of dtype.
func dense(dtype tensor.Dtype, rows, cols int, values []float64) *tensor.Dense {
	d := tensor.New(tensor.Of(dtype), tensor.WithShape(rows, cols))
	for i, v := range values {
		if dtype == tensor.Float32 {
			d.Float32s()[i] = float32(v)
		} else {
			d.Float64s()[i] = v
		}
	}
	return d
}

// values returns a matrix node's value in float64.
func values(n *gorgonia.Node) []float64 {
	d := n.Value().(*tensor.Dense)
	if d.Dtype() == tensor.Float64 {
		return append([]float64(nil), d.Float64s()...)
	}
	var vs []float64
	for _, v := range d.Float32s() {
		vs = append(vs, float64(v))
	}
	return vs
}

// program is a network whose forward and backward passes are compiled separately, as in a training
// loop: D, the derivative with respect to the scores, is an input of the backward pass.
type program struct {
	net               *Network
	scores, d         *gorgonia.Node
	grads             gorgonia.Nodes
	forward, backward gorgonia.VM
}

func compile(t testing.TB, spec Spec, dtype tensor.Dtype, weights Weights, rows, center, d []float64) *program {
	t.Helper()
	g := gorgonia.NewGraph()
	p := &program{}
	var err error
	if p.net, err = New(g, spec, dtype, weights); err != nil {
		t.Fatal(err)
	}
	n := len(rows) / spec.Inputs
	matrix := func(name string, rows, cols int, values []float64) *gorgonia.Node {
		return gorgonia.NewMatrix(g, dtype, gorgonia.WithName(name), gorgonia.WithShape(rows, cols),
			gorgonia.WithValue(dense(dtype, rows, cols, values)))
	}
	x := matrix("x", n, spec.Inputs, rows)
	inputs := append(gorgonia.Nodes{x}, p.net.Parameters()...)
	var c *gorgonia.Node
	if center != nil {
		c = matrix("center", 1, spec.Inputs, center)
		inputs = append(inputs, c)
	}
	if p.scores, err = p.net.Scores(x, c); err != nil {
		t.Fatal(err)
	}
	p.forward = compileFunction(t, g, inputs, gorgonia.Nodes{p.scores})
	p.d = matrix("d", n, spec.Outputs, d)
	if p.grads, err = gorgonia.Backpropagate(gorgonia.Nodes{p.scores}, gorgonia.Nodes{p.d}, p.net.Parameters()); err != nil {
		t.Fatal(err)
	}
	subgraph := g.SubgraphRoots(p.grads...)
	var used gorgonia.Nodes
	for _, in := range append(inputs, p.d) {
		if subgraph.AllNodes().Contains(in) {
			used = append(used, in)
		}
	}
	p.backward = compileFunction(t, g, used, p.grads)
	return p
}

func compileFunction(t testing.TB, g *gorgonia.ExprGraph, inputs, outputs gorgonia.Nodes) gorgonia.VM {
	t.Helper()
	prog, locations, err := gorgonia.CompileFunction(g, inputs, outputs)
	require.NoError(t, err)
	return gorgonia.NewTapeMachine(g, gorgonia.WithPrecompiled(prog, locations))
}

func run(t testing.TB, vm gorgonia.VM) {
	t.Helper()
	vm.Reset()
	require.NoError(t, vm.RunAll())
}

// inner returns <D, f> at the network's current weights.
func (p *program) inner(t testing.TB, d []float64) float64 {
	run(t, p.forward)
	var sum float64
	for i, f := range values(p.scores) {
		sum += d[i] * f
	}
	return sum
}

func normals(rng *rand.Rand, n int, scale float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = scale * rng.NormFloat64()
	}
	return v
}

// distance returns ||a - b|| / max(||b||, floor).
func distance(a, b []float64, floor float64) float64 {
	var difference, norm float64
	for i := range b {
		difference += (a[i] - b[i]) * (a[i] - b[i])
		norm += b[i] * b[i]
	}
	return math.Sqrt(difference) / max(math.Sqrt(norm), floor)
}
