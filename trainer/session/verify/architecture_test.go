package verify

import (
	"gorgonia.org/gorgonia"

	"ppal/models"
)

// quadratic is a model of a program's own, f = (x V)^2 U + x W + b, without a first layer.
type quadratic struct{ Rank, Inputs, Outputs int }

func (quadratic) Kind() string                  { return "quadratic" }
func (q quadratic) Dims() (inputs, outputs int) { return q.Inputs, q.Outputs }

func (q quadratic) Sized(inputs, outputs int) (models.Architecture, error) {
	return quadratic{q.Rank, inputs, outputs}, nil
}

func (q quadratic) Parameters() []models.Parameter {
	return []models.Parameter{
		{Name: "factors.weight", Shape: []int{q.Rank, q.Inputs}, FanIn: q.Inputs},
		{Name: "squares.weight", Shape: []int{q.Outputs, q.Rank}, FanIn: q.Rank},
		{Name: "linear.weight", Shape: []int{q.Outputs, q.Inputs}, FanIn: q.Inputs},
		{Name: "bias", Shape: []int{q.Outputs}, ScoreBias: true},
	}
}

func (q quadratic) Scores(x *gorgonia.Node, p gorgonia.Nodes) (*gorgonia.Node, error) {
	squares := gorgonia.Must(gorgonia.Mul(gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Mul(x, p[0])))), p[1]))
	return models.AddBias(gorgonia.Must(gorgonia.Add(squares, gorgonia.Must(gorgonia.Mul(x, p[2])))), p[3])
}

func init() { models.Register[quadratic]("quadratic") }
