package graph_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer"
	"ppal/trainer/graph"
)

// A VanillaSolver loop becomes PPALA by the three lines that are marked: maximise x + y, where x^2 + y^2 <= 2.
func Example() {
	g := gorgonia.NewGraph()
	x := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(2), gorgonia.WithName("x"),
		gorgonia.WithValue(tensor.New(tensor.WithBacking([]float64{2, -1}))))
	cost := gorgonia.Must(gorgonia.Neg(gorgonia.Must(gorgonia.Sum(x))))
	disc := gorgonia.Must(gorgonia.Sub(gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Square(x)))), gorgonia.NewConstant(2.0)))

	solver := graph.NewOptimizer(&trainer.PPALA{}, trainer.Regularizer{}) // was: gorgonia.NewVanillaSolver()
	cost, err := solver.Lagrangian(cost, disc)                            // new
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
	fmt.Printf("x = %.3f, multiplier %.3f\n", x.Value().Data(), solver.Weights()) // new: the multiplier
	// Output: x = [1.000 1.000], multiplier [0.500]
}

// The optimizer's iterates equal those of trainer.Train, to the bit, where the first step needs no probe.
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
			return &trainer.PPALA{Primal: trainer.PrimalSettings{Kind: trainer.Gradient, Fixed: true, Eta: 0.01}}
		}},
		{"gdpa", func() interface {
			trainer.Method
			trainer.DualRule
		} {
			return &trainer.GDPA{Step: 0.05}
		}},
		{"ppala with momentum", func() interface {
			trainer.Method
			trainer.DualRule
		} {
			return &trainer.PPALA{Primal: trainer.PrimalSettings{Fixed: true, Eta: 0.002, Momentum: 0.9}}
		}},
	} {
		t.Run(rule.name, func(t *testing.T) {
			r := trainer.Regularizer{Kind: trainer.Ball, Radius: 3}
			p := network(t, tensor.Float64, r)
			n, _ := p.Dims()
			start, want := make([]float64, n), make([]float64, n)
			p.Prox(1, trainer.Iterate)
			p.Read(start, trainer.Iterate)
			const steps = 25
			if _, err := trainer.Train(context.Background(), p, rule.make(), trainer.Settings{Iterations: steps}); err != nil {
				t.Fatal(err)
			}
			p.Read(want, trainer.Iterate)
			got := loop(t, graph.NewOptimizer(rule.make(), r), start, steps)
			for i := range want {
				if math.Abs(got[i]-want[i]) > 1e-14 {
					t.Fatalf("variable %d: %.17g by the loop, %.17g by Train", i, got[i], want[i])
				}
			}
		})
	}
}

// loop trains the network of the tests in a loop of its own and returns the parameters.
func loop(t *testing.T, o *graph.Optimizer, start []float64, steps int) []float64 {
	t.Helper()
	var cost *gorgonia.Node
	var parameters gorgonia.Nodes
	build := func(g *gorgonia.ExprGraph) (def graph.Definition) {
		p := definition(g, tensor.Float64)
		return p
	}
	g := gorgonia.NewGraph()
	def := build(g)
	parameters = def.Parameters
	at := 0
	for _, w := range parameters {
		values := w.Value().Data().([]float64)
		at += copy(values, start[at:at+len(values)])
	}
	cost, err := o.Lagrangian(def.Objective, def.Constraints...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gorgonia.Grad(cost, parameters...); err != nil {
		t.Fatal(err)
	}
	machine := gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(parameters...))
	defer machine.Close()
	for range steps {
		if err := machine.RunAll(); err != nil {
			t.Fatal(err)
		}
		if err := o.Step(gorgonia.NodesToValueGrads(parameters)); err != nil {
			t.Fatal(err)
		}
		machine.Reset()
	}
	var x []float64
	for _, w := range parameters {
		x = append(x, w.Value().Data().([]float64)...)
	}
	return x
}

func TestOptimizerMisuse(t *testing.T) {
	o := graph.NewOptimizer(&trainer.PPALA{}, trainer.Regularizer{})
	if err := o.Step(nil); err == nil {
		t.Error("Step before a run gave no error")
	}
}
