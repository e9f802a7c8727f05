package constraints_test

import (
	"fmt"
	"log"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
)

// The decisions by these scores are positive for one of two women and for two of three men.
var (
	exampleRows = constraints.Rows{
		Labels: []int{1, -1, 1, -1, 1},
		Groups: []constraints.Group{{Name: "women", Rows: []int{0, 1}}, {Name: "men", Rows: []int{2, 3, 4}}},
	}
	exampleScores = []float64{1, -1, 2, -1, 0.5}
)

// scoresNode returns an input node with the example's scores.
func scoresNode(g *gorgonia.ExprGraph) *gorgonia.Node {
	n := len(exampleScores)
	return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("scores"), gorgonia.WithShape(n, 1),
		gorgonia.WithValue(tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(append([]float64(nil), exampleScores...)))))
}

// Demographic parity: the node is the smooth gap h. The pieces of h make the constraint |h| - eps
// (convert them to problem.Piece for MakePiecewise).
func ExampleNewDemographicParity() {
	problem, err := constraints.NewDemographicParity([]string{"women", "men"}, 0.05, constraints.Logistic, constraints.Sigmoid, constraints.Absolute)
	if err != nil {
		log.Fatal(err)
	}
	g := gorgonia.NewGraph()
	f, h, err := problem.Nodes(scoresNode(g), exampleRows)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("f %.4f, h %.4f\n", f.Value(), h.Value())
	for _, p := range problem.Pieces() {
		fmt.Printf("constraint %d: %+g h %+g\n", p.Constraint, p.Sign, p.Offset)
	}

	e, err := problem.NewEvaluator(exampleRows)
	if err != nil {
		log.Fatal(err)
	}
	m, err := e.Measures(exampleScores)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("g %.4f", m.Constraints)
	for _, v := range m.Named() {
		fmt.Printf(", %s %.4f", v.Name, v.Value)
	}
	fmt.Println()
	// Output:
	// f 0.3082, h [-0.0907]
	// constraint 0: +1 h -0.05
	// constraint 0: -1 h -0.05
	// g [0.0407], error 0.0000, auc 1.0000, dp_gap 0.1667
}

// Equalized odds in the split form: four smooth constraints.
func ExampleNewEqualizedOdds() {
	problem, err := constraints.NewEqualizedOdds([]string{"women", "men"}, []float64{0.1}, constraints.Logistic, constraints.Sigmoid, constraints.Split)
	if err != nil {
		log.Fatal(err)
	}
	e, err := problem.NewEvaluator(exampleRows)
	if err != nil {
		log.Fatal(err)
	}
	m, err := e.Measures(exampleScores)
	if err != nil {
		log.Fatal(err)
	}
	for j, name := range problem.ConstraintNames() {
		fmt.Printf("%s: %.4f\n", name, m.Constraints[j])
	}
	// Output:
	// true positive rate +: -0.1206
	// true positive rate -: -0.0794
	// false positive rate +: -0.1000
	// false positive rate -: -0.1000
}

// Intersectional fairness has a constraint for each group. The groups overlap.
func ExampleNewIntersectional() {
	rows := exampleRows
	rows.Groups = append(rows.Groups[:2:2], constraints.Group{Name: "old", Rows: []int{1, 3}})
	problem, err := constraints.NewIntersectional([]string{"women", "men", "old"}, []float64{0.05}, constraints.Hinge, constraints.Hinge, constraints.Each)
	if err != nil {
		log.Fatal(err)
	}
	g := gorgonia.NewGraph()
	f, c, err := problem.Nodes(scoresNode(g), rows)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("f %.4f, g %.4f\n", f.Value(), c.Value())
	// Output:
	// f 0.1000, g [-0.1500   0.0167  -0.1500]
}
