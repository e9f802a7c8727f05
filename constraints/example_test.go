package constraints_test

import (
	"errors"
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

func ExampleParse() {
	c, err := constraints.Parse("gap(tpr, sex * race, min 100) <= 2%")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c)
	fmt.Println(c == constraints.Gap(constraints.TPR, "sex", "race").MinRows(100).AtMost(0.02))
	// Output:
	// gap(tpr, sex*race, min 100) <= 0.02
	// true
}

func ExampleSyntaxError_Caret() {
	_, err := constraints.Parse("gap(trp, race) <= 0.02")
	var e *constraints.SyntaxError
	if errors.As(err, &e) {
		fmt.Println(e.Caret())
		fmt.Println(e.Problem + "; " + e.Hint)
	}
	// Output:
	// gap(trp, race) <= 0.02
	//     ^
	// unknown rate "trp"; did you mean tpr?
}

func ExampleFPR() {
	fmt.Println(constraints.FPR().AtMost(0.05))
	fmt.Println(constraints.FPR("sex=Female", "race=*").AtMost(0.05))
	fmt.Println(constraints.Recall("Ankle boot").AtLeast(0.9))
	// Output:
	// fpr <= 0.05
	// fpr[sex=Female, race=*] <= 0.05
	// recall["Ankle boot"] >= 0.9
}

// A graph can combine the smooth rates of a constraint with the caller's own nodes. Here the caller
// adds a term that keeps the scores small.
func ExampleSample_Nodes() {
	rows := &constraints.Population{
		Labels: []int{1, 0, 1, 0, 1}, Classes: []string{"refuse", "lend"},
		Attributes: []constraints.Attribute{{Name: "sex", Values: []string{"Female", "Male"}, Of: []int{0, 0, 1, 1, 1}}},
	}
	parity := constraints.Gap(constraints.PositiveRate, "sex").AtMost(0.05)
	system, err := constraints.NewSystem(constraints.Error(), []constraints.Constraint{parity}, rows)
	if err != nil {
		log.Fatal(err)
	}
	sample, err := system.On(rows)
	if err != nil {
		log.Fatal(err)
	}

	g := gorgonia.NewGraph()
	scores := []float64{1, -1, 2, -1, 0.5}
	s := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("scores"), gorgonia.WithShape(5, 1),
		gorgonia.WithValue(tensor.New(tensor.WithShape(5, 1), tensor.WithBacking(append([]float64(nil), scores...)))))
	objective, rates, err := sample.Nodes(s)
	if err != nil {
		log.Fatal(err)
	}
	energy := gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Square(s))))
	total := gorgonia.Must(gorgonia.Add(objective, gorgonia.Must(gorgonia.Mul(gorgonia.NewConstant(0.1), energy))))
	run(g)
	fmt.Printf("objective %.4f, with the energy %.4f\n", objective.Value(), total.Value())
	for k, v := range rates.Value().Data().([]float64) {
		fmt.Printf("%s: %.4f\n", system.Rates[k].Name, v)
	}
	for _, b := range system.Bounds {
		fmt.Println(b.Name, b.Coefficients)
	}

	decisions, err := sample.Decide(scores)
	if err != nil {
		log.Fatal(err)
	}
	counted, err := sample.Count(decisions)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("counted: error %.1f, gap %.4f, %s, accepted %.1f\n", counted.Objective.Value, counted.Values[0].Value, counted.Judge(0).State, counted.Accepted[1])
	// Output:
	// objective 0.2607, with the energy 0.4057
	// accuracy: 0.7393
	// share decided lend of sex=Female: 0.5000
	// share decided lend of sex=Male: 0.5907
	// gap(positive_rate, sex) <= 0.05: positive_rate[sex=Female] - positive_rate[sex=Male] [0 1 -1]
	// gap(positive_rate, sex) <= 0.05: positive_rate[sex=Male] - positive_rate[sex=Female] [0 -1 1]
	// counted: error 0.0, gap 0.1667, cannot be judged, accepted 0.6
}
