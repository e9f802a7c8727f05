package cuda_test

import (
	"errors"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/internal/graphcases"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// The GPU has kernels for all steps of the operations that users want, or refuses the operation and
// names the step and the CPU.
func TestOperations(t *testing.T) {
	for _, o := range graphcases.Operations() {
		for _, dtype := range []tensor.Dtype{tensor.Float32} {
			d, _ := recorded(t, cuda.Options{}, 0)
			p, err := o.Problem(dtype, graph.On(d))
			switch {
			case o.Refused != "":
				if err == nil || !strings.Contains(err.Error(), o.Refused) {
					t.Errorf("%s: error %v, want %q", o.Name, err, o.Refused)
				}
			case o.OneCore:
				if !errors.As(err, new(*plan.UnsupportedError)) || !strings.Contains(err.Error(), "train with --device cpu") {
					t.Errorf("%s: error %v, want the advice to use the CPU", o.Name, err)
				}
			case err != nil:
				t.Errorf("%s: %v", o.Name, err)
			default:
				iterate(t, p, 1, p.Space().New())
			}
		}
	}
}

// The GPU runs a user's op that has a description, and refuses an op without a description.
func TestUsersOp(t *testing.T) {
	for _, plain := range []bool{false, true} {
		d, _ := recorded(t, cuda.Options{}, 0)
		p, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			w := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(5, 4), gorgonia.WithName("w"),
				gorgonia.WithValue(tensor.New(tensor.WithShape(5, 4), tensor.Of(tensor.Float64))))
			a, err := graphcases.NewSwish(w, plain)
			if err != nil {
				return graph.Definition{}, err
			}
			return graph.Definition{Objective: gorgonia.Must(gorgonia.Sum(a)), Parameters: gorgonia.Nodes{w}}, nil
		}, graph.On(d))
		if !plain {
			require.NoError(t, err)
			iterate(t, p, 3, p.Space().New())
		} else if !errors.As(err, new(*plan.UnsupportedError)) || !strings.Contains(err.Error(), "the op swish") {
			t.Errorf("an op without a description: error %v", err)
		}
	}
}

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
