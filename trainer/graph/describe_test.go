package graph_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// swish is a network of one layer whose activation is a user's own op.
func swish(plain bool) func(g *gorgonia.ExprGraph) (graph.Definition, error) {
	return func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		rng := rand.New(rand.NewPCG(3, 0))
		x, w, v := input(g, tensor.Float64, rng, "x", 300, 3), input(g, tensor.Float64, rng, "w", 3, 4), input(g, tensor.Float64, rng, "v", 4, 1)
		a, err := graphcases.NewSwish(gorgonia.Must(gorgonia.Mul(x, w)), plain)
		if err != nil {
			return graph.Definition{}, err
		}
		y := gorgonia.Must(gorgonia.Mul(a, v))
		return graph.Definition{Objective: gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(y)))),
			Parameters: gorgonia.Nodes{w, v}, Inputs: gorgonia.Nodes{x}}, nil
	}
}

// An op of the user with a description runs as steps of the plan, with the values of its Do. An op
// without a description runs through its Do.
func TestDescribedOp(t *testing.T) {
	engine := require.Value(graph.CPU(2))(t)
	var want []float64
	for _, c := range []struct {
		name          string
		plain, opaque bool
		engine        graph.Engine
	}{{"tape", false, false, graph.Tape{}}, {"described", false, false, engine}, {"plain", true, true, engine}} {
		p := require.Value(graph.New(swish(c.plain), c.engine))(t)
		f := require.Value(p.Forward(nil))(t)
		d := p.Space().New()
		require.NoError(t, p.Backward([]float64{1}, d))
		got := make([]float64, p.Space().Len())
		p.Space().Read(got, d)
		got = append(got, f)
		if want == nil {
			want = got
		}
		for i, x := range want {
			if math.Abs(got[i]-x) > 1e-13*(1+math.Abs(x)) {
				t.Errorf("%s: number %d is %v, want %v", c.name, i, got[i], x)
			}
		}
		if opaque := strings.Contains(p.Explain(), "swish"); opaque != c.opaque {
			t.Errorf("%s: the plan runs the op through its Do: %t\n%s", c.name, opaque, p.Explain())
		}
	}
}

// Store writes the iterate into the nodes, and the problem goes on from the iterate.
func TestStore(t *testing.T) {
	cpu := require.Value(graph.CPU(1))(t)
	for name, engine := range map[string]graph.Engine{"cpu": cpu, "tape": graph.Tape{}} {
		for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			var parameters gorgonia.Nodes
			p := require.Value(graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
				def := definition(g, dtype)
				parameters = def.Parameters
				return def, nil
			}, engine))(t)
			x := make([]float64, p.Space().Len())
			for i := range x {
				x[i] = float64(i) / 8
			}
			p.Space().Write(problem.Iterate, x)
			require.NoError(t, p.Store(parameters))
			at := 0
			for _, n := range parameters {
				for k := range n.Shape().TotalSize() {
					got := math.NaN()
					switch data := n.Value().Data().(type) {
					case []float64:
						got = data[k]
					case []float32:
						got = float64(data[k])
					}
					if got != x[at] {
						t.Errorf("%s, %v: element %d of %s is %v, want %v", name, dtype, k, n.Name(), got, x[at])
					}
					at++
				}
			}
			now := make([]float64, len(x))
			if p.Space().Read(now, problem.Iterate); now[5] != x[5] {
				t.Errorf("%s, %v: Store changed the iterate", name, dtype)
			}
			if err := p.Store(parameters[:1]); !errors.Is(err, problem.ErrSettings) {
				t.Errorf("%s, %v: one of two parameters: %v", name, dtype, err)
			}
		}
	}
}
