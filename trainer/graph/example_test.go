package graph_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// Least squares with a bound on the largest weight's square: minimise |A w - b|^2 / 2 subject to
// w_1^2 + w_2^2 <= 1.
func ExampleNew() {
	engine, err := graph.CPU(0)
	if err != nil {
		log.Fatal(err)
	}
	p, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		dense := func(name string, rows, cols int, values ...float64) *gorgonia.Node {
			return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName(name), gorgonia.WithShape(rows, cols),
				gorgonia.WithValue(tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(values))))
		}
		a, b, w := dense("A", 2, 2, 1, 0, 0, 1), dense("b", 2, 1, 3, 4), dense("w", 2, 1, 0, 0)
		residual := gorgonia.Must(gorgonia.Sub(gorgonia.Must(gorgonia.Mul(a, w)), b))
		half := gorgonia.NewConstant(0.5)
		f := gorgonia.Must(gorgonia.Mul(half, gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Square(residual))))))
		c := gorgonia.Must(gorgonia.Sub(gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Square(w)))), gorgonia.NewConstant(1.0)))
		return graph.Definition{Objective: f, Constraints: gorgonia.Nodes{c}, Parameters: gorgonia.Nodes{w}}, nil
	}, engine)
	if err != nil {
		log.Fatal(err)
	}
	r, err := trainer.Train(context.Background(), p, &method.ALM{}, trainer.Settings{Iterations: 5000, Tolerance: 1e-8})
	if err != nil {
		log.Fatal(err)
	}
	w := make([]float64, 2)
	p.Space().Read(w, problem.Iterate)
	fmt.Printf("w = %.4f, multiplier %.4f\n", w, r.Certificate.Nu)
	// Output: w = [0.6000 0.8000], multiplier [2.0000]
}

func TestNegativeThreads(t *testing.T) {
	if _, err := graph.CPU(-1); err == nil {
		t.Error("-1 threads gave no error")
	}
}
