package graph_test

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/datasets/picture"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// The gradient of each operation is right on the CPU and on Gorgonia's machine, or the operation is
// refused with the reason. Kinks and depth are those of the graph, and Explain names what runs on
// one core.
func TestOperations(t *testing.T) {
	engine := require.Value(graph.CPU(2))(t)
	for _, o := range graphcases.Operations() {
		for name, e := range map[string]graph.Engine{"cpu": engine, "tape": graph.Tape{}} {
			for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
				p, err := o.Problem(dtype, e)
				if o.Refused != "" {
					if err == nil || !strings.Contains(err.Error(), o.Refused) || !errors.Is(err, problem.ErrSettings) {
						t.Errorf("%s, %s: error %v, want %q", o.Name, name, err, o.Refused)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s, %s, %v: %v", o.Name, name, dtype, err)
					continue
				}
				if err := problem.CheckGradients(p); err != nil {
					t.Errorf("%s, %s, %v: %v", o.Name, name, dtype, err)
				}
				if p.NonSmooth() != o.Kinks || p.Shallow() == o.Deep {
					t.Errorf("%s: kinks %t, want %t; shallow %t, want %t", o.Name, p.NonSmooth(), o.Kinks, p.Shallow(), !o.Deep)
				}
				if slow := strings.Contains(p.Explain(), "one core"); name == "cpu" && slow != o.OneCore {
					t.Errorf("%s: a step on one core: %t, want %t", o.Name, slow, o.OneCore)
				}
			}
		}
	}
}

// own is a user's op y = factor x^2/2 of a vector, with the derivative slope x.
type own struct {
	factor, slope float64
	smooth        bool
}

func (own) Arity() int { return 1 }
func (own) Type() hm.Type {
	v := gorgonia.TensorType{Dims: 1, Of: hm.TypeVariable('a')}
	return hm.NewFnType(v, v)
}
func (own) ReturnsPtr() bool        { return false }
func (own) CallsExtern() bool       { return false }
func (own) OverwritesInput() int    { return -1 }
func (o own) String() string        { return fmt.Sprintf("own%v", o.factor) }
func (o own) WriteHash(h hash.Hash) { fmt.Fprint(h, o) }
func (o own) Hashcode() uint32      { return uint32(1000*o.factor + 10*o.slope) }
func (own) DiffWRT(int) []bool      { return []bool{true} }
func (o own) NonSmooth() bool       { return !o.smooth }
func (own) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	return in[0].(tensor.Shape).Clone(), nil
}

func (o own) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	if x, ok := in[0].Data().([]float32); ok {
		out := make([]float32, len(x))
		for i, v := range x {
			out[i] = float32(o.factor) * v * v / 2
		}
		return tensor.New(tensor.WithShape(len(out)), tensor.WithBacking(out)), nil
	}
	x := in[0].Data().([]float64)
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = o.factor * v * v / 2
	}
	return tensor.New(tensor.WithShape(len(out)), tensor.WithBacking(out)), nil
}

func (o own) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	if o.slope == 0 {
		panic("no slope")
	}
	d, err := gorgonia.HadamardProd(in[0], grad)
	if err == nil {
		l := graphcases.Leaves{Dtype: grad.Dtype()}
		d, err = gorgonia.HadamardProd(d, l.Number(o.slope))
	}
	return gorgonia.Nodes{d}, err
}

// New finds the one of a user's ops whose gradient is wrong, and names the op and the term. An op
// that says so has no kinks.
func TestOwnOpWithAWrongGradient(t *testing.T) {
	engine := require.Value(graph.CPU(1))(t)
	with := func(slope float64, e graph.Engine) (*graph.Problem, error) {
		return graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			w := input(g, tensor.Float64, rand.New(rand.NewPCG(4, 0)), "w", 6)
			right, wrong := gorgonia.Must(gorgonia.ApplyOp(own{1, 1, true}, w)), gorgonia.Must(gorgonia.ApplyOp(own{2, slope, true}, w))
			return graph.Definition{Objective: gorgonia.Must(gorgonia.Sum(right)), Constraints: gorgonia.Nodes{right, gorgonia.Must(gorgonia.Mean(wrong))},
				Parameters: gorgonia.Nodes{w}}, nil
		}, e)
	}
	for _, e := range []graph.Engine{engine, graph.Tape{}} {
		if p, err := with(2, e); err != nil || p.NonSmooth() {
			t.Errorf("right: %v", err)
		}
		_, err := with(-2, e)
		var wrong *problem.GradientError
		if !errors.As(err, &wrong) || wrong.Constraint != 7 || !errors.Is(err, problem.ErrSettings) || !strings.Contains(err.Error(), "own2(%0)") && !strings.Contains(err.Error(), "own2 ") {
			t.Errorf("wrong: %v", err)
		}
	}
}

// New finds a wrong gradient that is small beside the other terms, in both types.
func TestSmallWrongGradient(t *testing.T) {
	engine := require.Value(graph.CPU(1))(t)
	for _, d := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		for slope, right := range map[float64]bool{2: true, 1.9: false} {
			_, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
				w := input(g, d, rand.New(rand.NewPCG(4, 0)), "w", 6)
				part := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.ApplyOp(own{2, slope, true}, w))))
				l := graphcases.Leaves{Dtype: d}
				f := gorgonia.Must(gorgonia.Add(gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Cube(w)))), l.Times(part, 1e-6)))
				return graph.Definition{Objective: f, Parameters: gorgonia.Nodes{w}}, nil
			}, engine)
			var wrong *problem.GradientError
			if (err == nil) != right || !right && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), "the gradient of the operation own2")) {
				t.Errorf("%v, slope %v: %v", d, slope, err)
			}
		}
	}
}

// An op that panics in its derivative is an error that names the constraint node.
func TestPanicInADerivative(t *testing.T) {
	for _, at := range []int{0, 2} {
		_, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
			w := input(g, tensor.Float64, rand.New(rand.NewPCG(4, 0)), "w", 6)
			nodes := gorgonia.Nodes{w, w, w}
			nodes[at] = gorgonia.Must(gorgonia.ApplyOp(own{1, 0, true}, w))
			return graph.Definition{Objective: gorgonia.Must(gorgonia.Sum(w)), Constraints: nodes, Parameters: gorgonia.Nodes{w}}, nil
		}, graph.Tape{})
		if want := fmt.Sprintf("the gradient of constraint node %d: gorgonia panics: no slope", at); !errors.Is(err, problem.ErrSettings) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// One note of a run names the operations that Gorgonia runs on one core, and there is no note if
// there are none.
func TestNoteOfSlowOperations(t *testing.T) {
	engine := require.Value(graph.CPU(1))(t)
	for _, o := range graphcases.Operations() {
		if o.Refused != "" || !strings.HasPrefix(o.Name, "S") && o.Name != "linear" {
			continue
		}
		p := require.Value(o.Problem(tensor.Float64, engine))(t)
		r := require.Value(trainer.Train(t.Context(), p, &method.ALM{}, trainer.Settings{Iterations: 1}))(t)
		notes := strings.Join(r.Notes, "\n")
		if strings.Contains(notes, "on one core") != o.OneCore || o.Name == "SoftMax" && (!strings.Contains(notes, "Softmax") || strings.Count(notes, "on one core") != 1) {
			t.Errorf("%s: notes %q", o.Name, r.Notes)
		}
	}
}

// A convolutional network learns rows of Fashion-MNIST within its bounds: the start exceeds the
// bounds, the end meets them, and f falls to less than a tenth.
func TestConvolutionalTraining(t *testing.T) {
	dir := os.Getenv("PPAL_DATA")
	switch {
	case dir == "":
		t.Skip("PPAL_DATA is not set")
	case require.Racing || testing.Short():
		t.Skip("slow")
	}
	train, _, err := datasets.LoadImages(dir, "fashion-mnist", 1)
	require.NoError(t, err)
	rows := require.Value(picture.Select(train, []int{0, 1, 2}, 20))(t)
	engine := require.Value(graph.CPU(2))(t)
	p := require.Value(convolutional(rows, train.Shape, 4, 0.2, engine))(t)
	g := make([]float64, 2)
	f := require.Value(p.Forward(g))(t)
	if g[0] <= 0 || g[1] <= 0 {
		t.Errorf("the start meets bounds: g = %v", g)
	}
	r := require.Value(trainer.Train(context.Background(), p, &method.ALM{}, trainer.Settings{Iterations: 150}))(t)
	if r.Objective > f/10 || r.Certificate.Infeasibility > 1e-3 {
		t.Errorf("f = %v, was %v; violation %v", r.Objective, f, r.Certificate.Infeasibility)
	}
}
