package constraints_test

import (
	"fmt"
	"log"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
)

// Demographic parity: the node is the smooth gap h of the positive rates of two groups. The pieces
// of h make the constraint |h| - eps (convert them to problem.Piece for MakePiecewise). The
// decisions are positive for one of two women and for two of three men.
func ExampleSystem_Pieces() {
	rows := &constraints.Population{Labels: []int{1, 0, 1, 0, 1}, Classes: []string{"no", "yes"},
		Attributes: []constraints.Attribute{{Name: "sex", Values: []string{"women", "men"}, Of: []int{0, 0, 1, 1, 1}}}}
	scores := []float64{1, -1, 2, -1, 0.5}
	system, err := constraints.NewMarginSystem(constraints.Error(), []constraints.Constraint{constraints.Gap(constraints.PositiveRate, "sex").AtMost(0.05)},
		rows, constraints.Margins{Objective: constraints.Logistic, Constraints: constraints.Sigmoid, Form: constraints.Absolute})
	if err != nil {
		log.Fatal(err)
	}
	sample, err := system.On(rows)
	if err != nil {
		log.Fatal(err)
	}
	g := gorgonia.NewGraph()
	s := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("scores"), gorgonia.WithShape(5, 1),
		gorgonia.WithValue(tensor.New(tensor.WithShape(5, 1), tensor.WithBacking(scores))))
	f, h, err := sample.Nodes(s)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("f %.4f, h %.4f\n", f.Value(), h.Value())
	for _, p := range system.Pieces() {
		fmt.Printf("constraint %d: %+g h %+g\n", p.Constraint, p.Sign, p.Offset)
	}
	decisions, err := sample.Decide(scores)
	if err != nil {
		log.Fatal(err)
	}
	counted, err := sample.Count(decisions)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %.4f\n", system.Subject[0], counted.Values[0].Value)
	// Output:
	// f 0.3082, h [-0.0907]
	// constraint 0: +1 h -0.05
	// constraint 0: -1 h -0.05
	// gap(positive_rate, sex) <= 0.05: 0.1667
}
