package verify

import (
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// model computes the scores and their derivatives, independently of the device that trained.
// Vectors of all weights have the order and the layout of models.Stack.
type model interface {
	// flat returns all weights, and ends where each parameter ends in them.
	flat() []float64
	ends() []int
	// scores returns the scores of all rows, row by row.
	scores(x matrix.Matrix) []float64
	// gradient returns the gradient of <d, scores(x)> by the weights.
	gradient(x matrix.Matrix, d []float64) []float64
	// kinks reports whether the scores have kinks.
	kinks() bool
}

// architecture is the model of an architecture for which this package has no loops. models.Predict
// computes the scores, and Gorgonia's machine computes the derivatives, block by block.
type architecture struct {
	models.Model // weights as trained
	center       []float64
	report       *Report
}

// gradientBlock is the number of rows that Gorgonia differentiates at a time.
const gradientBlock = 256

func (a *architecture) flat() []float64 {
	x, err := models.Stack(a.Architecture, a.Weights)
	a.note(err)
	return x
}

func (a *architecture) ends() (ends []int) {
	end := 0
	for _, w := range a.Weights {
		end += len(w.Data)
		ends = append(ends, end)
	}
	return ends
}

// note reports an error of the architecture.
func (a *architecture) note(err error) {
	if err != nil {
		a.report.problem("the model of the kind %s: %v", a.Architecture.Kind(), err)
	}
}

// rows returns the centered rows [from, to).
func (a *architecture) rows(x matrix.Matrix, from, to int) []float64 {
	_, cols := x.Dims()
	rows := make([]float64, (to-from)*cols)
	x.Float64(rows, from, to)
	for i := range rows {
		if a.center != nil {
			rows[i] -= a.center[i%cols]
		}
	}
	return rows
}

func (a *architecture) scores(x matrix.Matrix) []float64 {
	n, _ := x.Dims()
	_, outputs := a.Architecture.Dims()
	all := make([]float64, 0, n*outputs)
	for from := 0; from < n; from += gradientBlock {
		part, err := models.Predict(a.Architecture, a.Weights, a.rows(x, from, min(from+gradientBlock, n)))
		if err != nil {
			a.note(err)
			part = make([]float64, (min(from+gradientBlock, n)-from)*outputs)
			for i := range part {
				part[i] = math.NaN()
			}
		}
		all = append(all, part...)
	}
	return all
}

func (a *architecture) gradient(x matrix.Matrix, d []float64) []float64 {
	n, cols := x.Dims()
	_, outputs := a.Architecture.Dims()
	var total []float64
	for from := 0; from < n; from += gradientBlock {
		to := min(from+gradientBlock, n)
		p, err := a.problem(matrix.Dense{Rows: to - from, Cols: cols, Data: a.rows(x, from, to)}, d[from*outputs:to*outputs])
		if err == nil {
			var part []float64
			if part, err = gradientOf(p); err == nil {
				total = append(total, make([]float64, len(part)-len(total))...)
				addTo(total, part, 1)
			}
		}
		if err != nil {
			a.note(err)
			return append(total, make([]float64, len(a.flat())-len(total))...)
		}
	}
	return total
}

// gradientOf returns the gradient of the objective.
func gradientOf(p *graph.Problem) ([]float64, error) {
	if _, err := p.Forward(nil); err != nil {
		return nil, err
	}
	n, _ := p.Dims()
	v, part := p.Space().New(), make([]float64, n)
	err := p.Backward([]float64{1}, v)
	p.Space().Read(part, v)
	return part, err
}

// problem returns <d, scores> of the rows on Gorgonia's machine.
func (a *architecture) problem(rows matrix.Dense, d []float64) (*graph.Problem, error) {
	return graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, err := models.New(g, a.Architecture, tensor.Float64, a.Weights)
		if err != nil {
			return graph.Definition{}, err
		}
		node := func(name string, cols int, values []float64) *gorgonia.Node {
			return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName(name), gorgonia.WithShape(rows.Rows, cols),
				gorgonia.WithValue(tensor.New(tensor.WithShape(rows.Rows, cols), tensor.WithBacking(values))))
		}
		_, outputs := a.Architecture.Dims()
		scores, err := net.Scores(node("rows", rows.Cols, rows.Data), nil)
		if err != nil {
			return graph.Definition{}, err
		}
		product, err := gorgonia.HadamardProd(scores, node("direction", outputs, d))
		if err != nil {
			return graph.Definition{}, err
		}
		sum, err := gorgonia.Sum(product)
		return graph.Definition{Objective: sum, Parameters: net.Parameters()}, err
	}, graph.Tape{})
}

func (a *architecture) kinks() bool {
	if k, known := a.Architecture.(models.Kinked); known {
		return k.Kinks()
	}
	inputs, outputs := a.Architecture.Dims()
	p, err := a.problem(matrix.Dense{Rows: 1, Cols: inputs, Data: make([]float64, inputs)}, make([]float64, outputs))
	a.note(err)
	return err == nil && problem.FeaturesOf(p).Kinks
}

var (
	_ model = (*architecture)(nil)
	_ model = (*network)(nil)
)
