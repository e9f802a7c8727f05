package cuda_test

import (
	"errors"
	"testing"

	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/internal/require"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// With many vectors, such as the gradients of many constraints, every gradient after the first ones
// is a launch of one graph and a copy. Nothing is allocated any more.
func TestManyVectors(t *testing.T) {
	d, r := recorded(t, cuda.Options{}, 0)
	p := require.Value(small(t).Problem(tensor.Float32, graph.On(d)))(t)
	require.Value(p.Forward(make([]float64, 2)))(t)
	var list []problem.Vector
	for range 20 {
		list = append(list, p.Space().New())
	}
	backward := func(v problem.Vector) {
		require.NoError(t, p.Backward([]float64{1, 1, 1}, v))
	}
	for _, v := range list[:9] { // seven vectors, then the common gradient's first run and its capture
		backward(v)
	}
	from, graphs := len(r.Calls()), 0
	for _, v := range list[9:] {
		backward(v)
	}
	for _, call := range r.Calls()[from:] {
		switch call.Kind {
		case "LaunchGraph":
			graphs++
		case "Launch", "Multiply", "Allocate", "BeginCapture":
			t.Errorf("a late vector has the call %s %s", call.Kind, call.Name)
		}
	}
	if graphs != 11 {
		t.Errorf("%d launches of graphs, want 11", graphs)
	}
	backward(list[0])
	if n := r.Count("BeginCapture"); n != 2 {
		t.Errorf("%d captures, want the common gradient's and the first vector's", n)
	}
}

// Options.NoGraphs launches every kernel by itself.
func TestNoGraphs(t *testing.T) {
	d, r := recorded(t, cuda.Options{NoGraphs: true}, 0)
	p := require.Value(small(t).Problem(tensor.Float32, graph.On(d)))(t)
	iterate(t, p, 3, p.Space().New())
	if r.Count("BeginCapture") != 0 || r.Count("LaunchGraph") != 0 {
		t.Error("there are graphs")
	}
}

// If a pass fails during a capture, the graph of the other passes is freed.
func TestFailedCapture(t *testing.T) {
	d, r := recorded(t, cuda.Options{}, 0)
	p := require.Value(small(t).Problem(tensor.Float32, graph.On(d)))(t)
	g := make([]float64, 2)
	require.Value(p.Forward(g))(t)
	lost := errors.New("lost")
	r.FailAt("Launch", 3, lost)
	if _, err := p.Forward(g); !errors.Is(err, lost) {
		t.Errorf("error %v, want %v", err, lost)
	}
	if r.Count("EndCapture") != 1 || r.Count("FreeGraph") != 1 {
		t.Errorf("%d captures ended, %d graphs freed, want 1 and 1", r.Count("EndCapture"), r.Count("FreeGraph"))
	}
}
