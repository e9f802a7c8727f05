package constraints_test

import (
	"fmt"
	"log"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
)

// run computes the values of a graph's nodes.
func run(g *gorgonia.ExprGraph) {
	machine := gorgonia.NewTapeMachine(g)
	defer machine.Close()
	if err := machine.RunAll(); err != nil {
		log.Fatal(err)
	}
}

// Neyman-Pearson classification: the loss of the first class is minimised, and the loss of the
// other class is bounded.
func ExampleNewMarginSystem() {
	rows := &constraints.Population{Labels: []int{0, 0, 1}, Classes: []string{"shirt", "coat"}}
	scores := []float64{2, 0, 0, 1, -1, 1}
	system, err := constraints.NewMarginSystem(constraints.Error("shirt"), []constraints.Constraint{constraints.Error("coat").AtMost(0.2)},
		rows, constraints.Margins{Objective: constraints.Sigmoid, Constraints: constraints.Sigmoid})
	if err != nil {
		log.Fatal(err)
	}
	sample, err := system.On(rows)
	if err != nil {
		log.Fatal(err)
	}

	g := gorgonia.NewGraph()
	s := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("scores"), gorgonia.WithShape(3, 2),
		gorgonia.WithValue(tensor.New(tensor.WithShape(3, 2), tensor.WithBacking(scores))))
	objective, bounds, err := sample.Nodes(s)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("f %.4f, g %.4f\n", objective.Value(), bounds.Value())

	decisions, err := sample.Decide(scores)
	if err != nil {
		log.Fatal(err)
	}
	counted, err := sample.Count(decisions)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("errors %.1f, %.1f\n", counted.Objective.Value, counted.Values[0].Value)
	// Output:
	// f 0.4251, g [-0.0808]
	// errors 0.5, 0.0
}
