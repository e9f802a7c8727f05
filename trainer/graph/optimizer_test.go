package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/require"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// Three marked lines turn a VanillaSolver loop into PPALA. The problem is: maximise x + y subject
// to x^2 + y^2 <= 2.
func Example() {
	g := gorgonia.NewGraph()
	x := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(2), gorgonia.WithName("x"),
		gorgonia.WithValue(tensor.New(tensor.WithBacking([]float64{2, -1}))))
	cost := gorgonia.Must(gorgonia.Neg(gorgonia.Must(gorgonia.Sum(x))))
	disc := gorgonia.Must(gorgonia.Sub(gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Square(x)))), gorgonia.NewConstant(2.0)))

	solver := graph.NewOptimizer(&method.PPALA{}, problem.Regularizer{}) // was: gorgonia.NewVanillaSolver()
	cost, err := solver.Lagrangian(cost, disc)                           // new: the constraint
	if err != nil {
		log.Fatal(err)
	}
	if _, err := gorgonia.Grad(cost, x); err != nil {
		log.Fatal(err)
	}
	machine := gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(x))
	defer machine.Close()
	for range 500 {
		if err := machine.RunAll(); err != nil {
			log.Fatal(err)
		}
		if err := solver.Step(gorgonia.NodesToValueGrads(gorgonia.Nodes{x})); err != nil {
			log.Fatal(err)
		}
		machine.Reset()
	}
	fmt.Printf("x = %.3f, multiplier %.3f\n", x.Value().Data(), solver.Coefficients()) // new: the multiplier
	// Output: x = [1.000 1.000], multiplier [0.500]
}

// The optimizer's iterates equal the iterates of trainer.Train to the bit if the first step needs
// no probe.
func TestOptimizerEqualsTrain(t *testing.T) {
	for _, rule := range []struct {
		name string
		make func() interface {
			trainer.Method
			trainer.DualRule
		}
	}{
		{"ppala", func() interface {
			trainer.Method
			trainer.DualRule
		} {
			return &method.PPALA{Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: 0.01}}
		}},
		{"gdpa", func() interface {
			trainer.Method
			trainer.DualRule
		} {
			return &method.GDPA{Step: 0.05}
		}},
		{"ppala with momentum", func() interface {
			trainer.Method
			trainer.DualRule
		} {
			return &method.PPALA{Primal: step.Settings{Fixed: true, Eta: 0.002, Momentum: 0.9}}
		}},
	} {
		t.Run(rule.name, func(t *testing.T) {
			r := problem.Regularizer{Kind: problem.Ball, Radius: 3}
			p := network(t, tensor.Float64, r)
			n, _ := p.Dims()
			start, want := make([]float64, n), make([]float64, n)
			p.Space().Prox(1, problem.Iterate)
			p.Space().Read(start, problem.Iterate)
			const steps = 25
			require.Value(trainer.Train(context.Background(), p, rule.make(), trainer.Settings{Iterations: steps}))(t)
			p.Space().Read(want, problem.Iterate)
			got := loop(t, graph.NewOptimizer(rule.make(), r), start, steps)
			for i := range want {
				if math.Abs(got[i]-want[i]) > 1e-14 {
					t.Fatalf("variable %d: %.17g by the loop, %.17g by Train", i, got[i], want[i])
				}
			}
		})
	}
}

// ownLoop is a user's own training loop over the network of the tests.
type ownLoop struct {
	o          *graph.Optimizer
	machine    gorgonia.VM
	parameters gorgonia.Nodes
}

func newOwnLoop(t *testing.T, o *graph.Optimizer) *ownLoop {
	t.Helper()
	return newLoopOf(t, tensor.Float64, o)
}

func newLoopOf(t *testing.T, dtype tensor.Dtype, o *graph.Optimizer) *ownLoop {
	t.Helper()
	g := gorgonia.NewGraph()
	def := definition(g, dtype)
	cost := require.Value(o.Lagrangian(def.Objective, def.Constraints...))(t)
	require.Value(gorgonia.Grad(cost, def.Parameters...))(t)
	machine := gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(def.Parameters...))
	t.Cleanup(func() { machine.Close() })
	return &ownLoop{o, machine, def.Parameters}
}

func (l *ownLoop) run(t *testing.T, steps int) {
	t.Helper()
	for range steps {
		require.NoError(t, l.machine.RunAll())
		require.NoError(t, l.o.Step(gorgonia.NodesToValueGrads(l.parameters)))
		l.machine.Reset()
	}
}

// values returns the stacked parameters.
func (l *ownLoop) values() (x []float64) {
	for _, w := range l.parameters {
		switch data := w.Value().Data().(type) {
		case []float32:
			for _, v := range data {
				x = append(x, float64(v))
			}
		case []float64:
			x = append(x, data...)
		}
	}
	return x
}

// loop trains the network of the tests in an ownLoop and returns the parameters.
func loop(t *testing.T, o *graph.Optimizer, start []float64, steps int) []float64 {
	t.Helper()
	l := newOwnLoop(t, o)
	at := 0
	for _, w := range l.parameters {
		values := w.Value().Data().([]float64)
		at += copy(values, start[at:at+len(values)])
	}
	l.run(t, steps)
	return l.values()
}

// Ten steps, a restore of their state in a fresh loop, and 15 more steps equal 25 steps to the bit.
// The same holds if the loop runs an evaluation before it captures the state.
func TestOptimizerResumes(t *testing.T) {
	for name, rule := range map[string]func() trainer.DualRule{
		"ppala": func() trainer.DualRule { return &method.PPALA{} },
		"gdpa":  func() trainer.DualRule { return &method.GDPA{Step: 0.05} },
		"adam": func() trainer.DualRule {
			return &method.PLADA{Primal: step.Settings{Kind: step.Adam}, XStep: method.Subgradient}
		},
	} {
		for _, evaluated := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " evaluated ", evaluated), func(t *testing.T) {
				r := problem.Regularizer{Kind: problem.Ball, Radius: 3}
				whole := newOwnLoop(t, graph.NewOptimizer(rule(), r))
				whole.run(t, 25)
				half := newOwnLoop(t, graph.NewOptimizer(rule(), r))
				half.run(t, 10)
				if evaluated {
					require.NoError(t, half.machine.RunAll())
				}
				state := require.Value(half.o.State())(t)
				rest := newOwnLoop(t, graph.NewOptimizer(rule(), r))
				require.NoError(t, rest.o.Restore(gorgonia.NodesToValueGrads(rest.parameters), state))
				rest.run(t, 15)
				if got, want := rest.values(), whole.values(); !slices.Equal(got, want) {
					t.Errorf("x = %v, uninterrupted %v", got, want)
				}
			})
		}
	}
}

// If the loop changes the parameters between two Steps, the next Step begins at the changed values.
// Float32 parameters take the same steps up to rounding.
func TestOptimizerTakesTheLoopsValues(t *testing.T) {
	rule := func() trainer.DualRule {
		return &method.PPALA{Primal: step.Settings{Kind: step.Gradient, Fixed: true, Eta: 0.01}}
	}
	moved := func(change float64) []float64 {
		l := newOwnLoop(t, graph.NewOptimizer(rule(), problem.Regularizer{}))
		l.run(t, 3)
		l.parameters[0].Value().Data().([]float64)[2] += change
		l.run(t, 1)
		return l.values()
	}
	if a, b := moved(0), moved(0.5); math.Abs(b[2]-a[2]-0.5) > 0.1 {
		t.Errorf("a parameter is %v after a change of 0.5, %v without", b[2], a[2])
	}
	double, single := newOwnLoop(t, graph.NewOptimizer(rule(), problem.Regularizer{})),
		newLoopOf(t, tensor.Float32, graph.NewOptimizer(rule(), problem.Regularizer{}))
	double.run(t, 20)
	single.run(t, 20)
	for i, x := range double.values() {
		if math.Abs(single.values()[i]-x) > 1e-5 {
			t.Errorf("parameter %d is %v in float32, %v in float64", i, single.values()[i], x)
		}
	}
}

// Every wrong call of an optimizer or of a problem has the class of its fault.
func TestWrongCalls(t *testing.T) {
	o := graph.NewOptimizer(&method.PPALA{}, problem.Regularizer{})
	p := require.Value(graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		w := input(g, tensor.Float64, rand.New(rand.NewPCG(1, 0)), "w", 3)
		x := input(g, tensor.Float64, rand.New(rand.NewPCG(2, 0)), "x", 2, 3)
		f := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Mul(x, w))))))
		return graph.Definition{Objective: f, Parameters: gorgonia.Nodes{w}, Inputs: gorgonia.Nodes{x}}, nil
	}, graph.Tape{}))(t)
	var l *ownLoop
	wide := &matrix.Dense{Rows: 2, Cols: 4, Data: make([]float64, 8)}
	for _, c := range []struct {
		name string
		call func() error
		want error
	}{
		{"Step before a run", func() error { return o.Step(nil) }, problem.ErrOrder},
		{"State before a Step", func() error { _, err := o.State(); return err }, problem.ErrOrder},
		{"Restore before Lagrangian", func() error { return o.Restore(nil, &trainer.State{}) }, problem.ErrOrder},
		{"another method's state", func() error {
			own := graph.NewOptimizer(&method.PPALA{}, problem.Regularizer{})
			return own.Restore(gorgonia.NodesToValueGrads(newOwnLoop(t, own).parameters), &trainer.State{Method: "gdpa"})
		}, problem.ErrSettings},
		{"a run and a Step after a failed Restore", func() error {
			own := graph.NewOptimizer(&method.PPALA{}, problem.Regularizer{})
			l := newOwnLoop(t, own)
			l.run(t, 1)
			state, err := own.State()
			if err != nil {
				return err
			}
			other := newOwnLoop(t, graph.NewOptimizer(&method.PPALA{}, problem.Regularizer{}))
			if err := other.machine.RunAll(); err != nil {
				return err
			}
			state.Vectors = nil
			if err := other.o.Restore(gorgonia.NodesToValueGrads(other.parameters), state); err == nil {
				return errors.New("a state without vectors was restored")
			}
			other.machine.Reset()
			if other.machine.RunAll() == nil { // Gorgonia's error does not unwrap to ours
				return errors.New("the graph ran")
			}
			return other.o.Step(gorgonia.NodesToValueGrads(other.parameters))
		}, problem.ErrOrder},
		{"a second Lagrangian", func() error { l = newOwnLoop(t, o); _, err := o.Lagrangian(l.parameters[0]); return err }, problem.ErrOrder},
		{"a matrix as constraint", func() error {
			w := input(gorgonia.NewGraph(), tensor.Float64, rand.New(rand.NewPCG(1, 0)), "w", 2, 2)
			_, err := graph.NewOptimizer(&method.PPALA{}, problem.Regularizer{}).Lagrangian(gorgonia.Must(gorgonia.Sum(w)), w)
			return err
		}, problem.ErrSettings},
		{"no parameters", func() error {
			if err := l.machine.RunAll(); err != nil {
				return err
			}
			return o.Step(nil)
		}, problem.ErrSettings},
		{"Restore after a Step", func() error {
			if err := o.Step(gorgonia.NodesToValueGrads(l.parameters)); err != nil {
				return err
			}
			return o.Restore(gorgonia.NodesToValueGrads(l.parameters), &trainer.State{})
		}, problem.ErrOrder},
		{"an input that does not exist", func() error { return p.Bind(1, wide) }, problem.ErrSettings},
		{"an input of another shape", func() error { return p.Bind(0, wide) }, problem.ErrSettings},
		{"a watched value that does not exist", func() error { _, err := p.Watched(0); return err }, problem.ErrSettings},
	} {
		if err := c.call(); !errors.Is(err, c.want) || errors.Is(err, problem.ErrOrder) != (c.want == problem.ErrOrder) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
}

// The first run refuses x-steps that need more than a loop offers, and invalid settings.
func TestOptimizerRefusesSettings(t *testing.T) {
	for want, rule := range map[string]trainer.DualRule{
		"x-step proxlinear": &method.PLADA{XStep: method.ProxLinear},
		"x-step inner":      &method.PLADA{XStep: method.Inner},
		"sigma0 is -1":      &method.PLADA{Sigma0: -1},
		"inner steps -1":    &method.PLADA{InnerSteps: -1},
		"alpha is -1":       &method.PPALA{Perturbation: method.Perturbation{Alpha: -1}},
	} {
		l := newOwnLoop(t, graph.NewOptimizer(rule, problem.Regularizer{}))
		if err := l.machine.RunAll(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

// Lagrangian refuses nil nodes and operations whose gradient is wrong, and leaves dropout to the
// user's own loop.
func TestLagrangianRefusesWrongOperations(t *testing.T) {
	must := gorgonia.Must
	for want, nodes := range map[string]func(w *gorgonia.Node) (f, g *gorgonia.Node){
		"constraint node 0 is nil": func(w *gorgonia.Node) (f, g *gorgonia.Node) { return must(gorgonia.Sum(w)), nil },
		"the objective is nil":     func(w *gorgonia.Node) (f, g *gorgonia.Node) { return nil, w },
		"use graph.InverseSqrt": func(w *gorgonia.Node) (f, g *gorgonia.Node) {
			return must(gorgonia.Sum(must(gorgonia.InverseSqrt(w)))), w
		},
		"": func(w *gorgonia.Node) (f, g *gorgonia.Node) {
			return must(gorgonia.Sum(must(gorgonia.Dropout(w, 0.5)))), w
		},
	} {
		graphOf := gorgonia.NewGraph()
		f, g := nodes(input(graphOf, tensor.Float64, rand.New(rand.NewPCG(1, 0)), "w", 3))
		_, err := graph.NewOptimizer(&method.PPALA{}, problem.Regularizer{}).Lagrangian(f, g)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !errors.Is(err, problem.ErrSettings)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
