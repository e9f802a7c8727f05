package graph_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/graph"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// A Neyman-Pearson classifier without package session: three classes of the built-in pictures and a
// network of 16 hidden units. The loss of the first class is minimised while the losses of the
// others stay below 0.2.
func ExampleNew_neymanPearson() {
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	train, _, err := datasets.LoadImages("", "synthetic", 1)
	must(err)
	rows, err := picture.Select(train, []int{0, 1, 2}, 100)
	must(err)
	labelled := &constraints.Population{Labels: rows.Labels(), Classes: rows.Names}
	var bounds []constraints.Constraint
	for _, class := range rows.Names[1:] {
		bounds = append(bounds, constraints.Error(class).AtMost(0.2))
	}
	system, err := constraints.NewMarginSystem(constraints.Error(rows.Names[0]), bounds, labelled,
		constraints.Margins{Objective: constraints.Sigmoid, Constraints: constraints.Sigmoid})
	must(err)
	multiclass, err := system.On(labelled)
	must(err)
	n, d := rows.Pixels.Dims()
	spec := models.Spec{Inputs: d, Hidden: []int{16}, Outputs: len(rows.Classes)}
	weights, err := models.Init(spec, rand.New(rand.NewPCG(1, 0)))
	must(err)
	engine, err := graph.CPU(2)
	must(err)
	p, err := graph.New(func(nodes *gorgonia.ExprGraph) (graph.Definition, error) {
		x := gorgonia.NewMatrix(nodes, tensor.Float32, gorgonia.WithName("pixels"), gorgonia.WithShape(n, d))
		net, err := models.New(nodes, spec, tensor.Float32, weights)
		must(err)
		scores, err := net.Scores(x, nil)
		must(err)
		f, g, err := multiclass.Nodes(scores)
		return graph.Definition{Objective: f, Constraints: gorgonia.Nodes{g}, Parameters: net.Parameters(),
			Regularizer: problem.Regularizer{Kind: problem.Ball, Radius: 40},
			Inputs:      gorgonia.Nodes{x}, Data: []matrix.Matrix{rows.Pixels}}, err
	}, engine)
	must(err)
	r, err := trainer.Train(context.Background(), p, &method.ALM{}, trainer.Settings{Iterations: 1000})
	must(err)
	fmt.Printf("objective below 0.05: %t, bounds met: %t\n", r.Objective < 0.05, r.Certificate.Infeasibility <= 1e-3)

	size, _ := p.Dims()
	x := make([]float64, size)
	p.Space().Read(x, problem.Iterate)
	weights, err = models.Unstack(spec, x) // for models.SaveFile, and for prediction
	must(err)
	fmt.Println(len(weights), "arrays of weights")
	// Output:
	// objective below 0.05: true, bounds met: true
	// 4 arrays of weights
}
