// A program trains a model of its own: scores with products of the features, of low rank.
package main

import (
	"context"
	"fmt"
	"os"

	"gorgonia.org/gorgonia"

	"ppal/constraints"
	"ppal/models"
	"ppal/models/predictor"
	"ppal/trainer/session"
	"ppal/trainer/session/verify"
)

// Quadratic has the scores f(x) = (x V)^2 U + x W + b. The squares are element by element.
type Quadratic struct{ Rank, Inputs, Outputs int }

func (Quadratic) Kind() string                                  { return "quadratic" }
func (q Quadratic) Dims() (d, c int)                            { return q.Inputs, q.Outputs }
func (q Quadratic) Sized(d, c int) (models.Architecture, error) { return Quadratic{q.Rank, d, c}, nil }

func (q Quadratic) Parameters() []models.Parameter {
	return []models.Parameter{
		{Name: "factors.weight", Shape: []int{q.Rank, q.Inputs}, FanIn: q.Inputs},
		{Name: "squares.weight", Shape: []int{q.Outputs, q.Rank}, FanIn: q.Rank},
		{Name: "linear.weight", Shape: []int{q.Outputs, q.Inputs}, FanIn: q.Inputs},
		{Name: "bias", Shape: []int{q.Outputs}, ScoreBias: true}}
}

func (q Quadratic) Scores(x *gorgonia.Node, p gorgonia.Nodes) (*gorgonia.Node, error) {
	squares := gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Mul(x, p[0]))))
	sum := gorgonia.Must(gorgonia.Add(gorgonia.Must(gorgonia.Mul(squares, p[1])), gorgonia.Must(gorgonia.Mul(x, p[2]))))
	return models.AddBias(sum, p[3])
}

func main() {
	models.Register[Quadratic]("quadratic") // so that Load knows the kind
	ctx, dir := context.Background(), os.Args[1]
	o := session.Options{Data: session.Table{Dataset: "synthetic-compas"}, Model: Quadratic{Rank: 2},
		Task: session.Decisions{SubjectTo: []constraints.Constraint{constraints.Gap(constraints.TPR, "sex").AtMost(0.05)}}}
	s := must(session.New(ctx, o))
	defer s.Close()
	must(s.Train(ctx))
	must(0, s.Save(dir))
	m := must(predictor.Load(dir))
	decisions := m.Decide(must(m.Scores(make([]float64, len(m.Features())))))
	report := must(verify.Run(ctx, dir, o))
	fmt.Println("met:", s.Summary().Outcome.Constraints[0].Met, "classes:", len(m.Classes()), len(decisions), "verified:", report.Verified)
	// Output: met: true classes: 2 1 verified: true
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
