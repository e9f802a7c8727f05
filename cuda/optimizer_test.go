package cuda_test

import (
	"errors"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/internal/cuda/driver"
	"ppal/internal/require"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// disc is a problem with a user's own loop: maximise x + y subject to x^2 + y^2 <= 2 and ||(x, y)||
// <= 1.2, from the start (1.1, -0.3).
type disc struct {
	o       *graph.Optimizer
	machine gorgonia.VM
	x       *gorgonia.Node
}

func newDisc(t *testing.T, options ...graph.OptimizerOption) *disc {
	t.Helper()
	g := gorgonia.NewGraph()
	x := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(2), gorgonia.WithName("x"),
		gorgonia.WithValue(tensor.New(tensor.WithBacking([]float64{1.1, -0.3}))))
	f := gorgonia.Must(gorgonia.Neg(gorgonia.Must(gorgonia.Sum(x))))
	c := gorgonia.Must(gorgonia.Sub(gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Square(x)))), gorgonia.NewConstant(2.0)))
	rule := &method.PPALA{Primal: step.Settings{Fixed: true, Eta: 0.05, Momentum: 0.9}}
	o := graph.NewOptimizer(rule, problem.Regularizer{Kind: problem.Ball, Radius: 1.2}, options...)
	cost := require.Value(o.Lagrangian(f, c))(t)
	require.Value(gorgonia.Grad(cost, x))(t)
	machine := gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(x))
	t.Cleanup(func() { machine.Close() })
	return &disc{o, machine, x}
}

// run takes one step of the loop.
func (d *disc) run(t *testing.T) error {
	t.Helper()
	require.NoError(t, d.machine.RunAll())
	defer d.machine.Reset()
	return d.o.Step(gorgonia.NodesToValueGrads(gorgonia.Nodes{d.x}))
}

// An optimizer's step runs on the GPU's vectors: it uploads the gradient, runs the proximal step as
// two passes (the norm, then the move), and downloads the moved parameters. Only the first step
// uploads the parameters.
func TestOptimizerOnDevice(t *testing.T) {
	d, r := recorded(t, cuda.Options{}, 0)
	l := newDisc(t, graph.OnDevice(d))
	var from int
	for range 4 {
		from = len(r.Calls())
		require.NoError(t, l.run(t))
	}
	var kinds []string
	for _, call := range r.Calls()[from:] {
		switch call.Kind {
		case "Upload", "Launch", "Download":
			kinds = append(kinds, call.Kind)
		}
	}
	if want := []string{"Upload", "Launch", "Launch", "Download"}; !slices.Equal(kinds, want) {
		t.Errorf("a step is %v, want %v", kinds, want)
	}
}

// Step returns an error of the device in the step where the error happens.
func TestOptimizerKeepsErrors(t *testing.T) {
	d, r := recorded(t, cuda.Options{}, 0)
	l := newDisc(t, graph.OnDevice(d))
	require.NoError(t, l.run(t))
	lost := &driver.Error{Operation: "launch", Name: "CUDA_ERROR_LAUNCH_FAILED"}
	r.FailAt("Launch", 1, lost)
	if err := l.run(t); !errors.Is(err, lost) {
		t.Errorf("error %v, want %v", err, lost)
	}
}
