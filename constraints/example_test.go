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

func ExampleNeymanPearson() {
	problem, err := constraints.NewNeymanPearson([]string{"shirt", "coat"}, []float64{0.2}, constraints.Sigmoid)
	if err != nil {
		log.Fatal(err)
	}
	labels := []int{0, 0, 1}
	scores := []float64{2, 0, 0, 1, -1, 1}

	g := gorgonia.NewGraph()
	s := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("scores"), gorgonia.WithShape(3, 2),
		gorgonia.WithValue(tensor.New(tensor.WithShape(3, 2), tensor.WithBacking(scores))))
	objective, bounds, err := problem.Nodes(s, labels)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("f %.4f, g %.4f\n", objective.Value(), bounds.Value())

	e := problem.NewEvaluator()
	if err := e.Add(scores, labels); err != nil {
		log.Fatal(err)
	}
	m, err := e.Measures()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("f %.4f, g %.4f, errors %.1f\n", m.Objective, m.Constraints, m.Errors)
	// Output:
	// f 0.4251, g [-0.0808]
	// f 0.4251, g [-0.0808], errors [0.5 0.0]
}
