package verify

import (
	"fmt"
	"math"
	"runtime"

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
// computes the scores, for networks of pictures by loops of their own. The CPU device computes the
// derivatives in float64, block by block, because Gorgonia's machine takes many times as long; on
// some rows, spread over the matrix, Gorgonia's machine must give the same derivatives.
type architecture struct {
	models.Model // weights as trained
	center       []float64
	report       *Report
	compiled     map[int]*graph.Problem // <d, scores> of a block on the CPU device, by its rows
	compared     bool                   // with Gorgonia's machine
}

// comparedRows is the largest number of rows on which Gorgonia's machine checks the derivatives,
// and derivativeError the largest relative difference: the order of the sums differs.
const (
	comparedRows    = 8
	derivativeError = 1e-9
)

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
	n, _ := x.Dims()
	_, outputs := a.Architecture.Dims()
	total := make([]float64, len(a.flat()))
	for from := 0; from < n; from += gradientBlock {
		to := min(from+gradientBlock, n)
		part, err := a.onDevice(x, from, to, d[from*outputs:to*outputs])
		if err == nil && !a.compared {
			a.compared, err = true, a.compare(x, d)
		}
		if err != nil {
			a.note(err)
			return total
		}
		addTo(total, part, 1)
	}
	return total
}

// onDevice returns the gradient of <d, scores> of the rows [from, to) on the CPU device.
func (a *architecture) onDevice(x matrix.Matrix, from, to int, d []float64) ([]float64, error) {
	_, cols := x.Dims()
	rows := matrix.Dense{Rows: to - from, Cols: cols, Data: a.rows(x, from, to)}
	p, known := a.compiled[rows.Rows]
	if !known {
		cpu, err := graph.CPU(runtime.GOMAXPROCS(0))
		if err == nil {
			p, err = a.problem(rows, d, cpu)
		}
		if err != nil {
			return nil, err
		}
		if a.compiled == nil {
			a.compiled = map[int]*graph.Problem{}
		}
		a.compiled[rows.Rows] = p
		return gradientOf(p)
	}
	if err := p.Bind(0, &rows); err != nil {
		return nil, err
	}
	if err := p.Bind(1, &matrix.Dense{Rows: rows.Rows, Cols: len(d) / rows.Rows, Data: d}); err != nil {
		return nil, err
	}
	return gradientOf(p)
}

// compare compares the CPU device with Gorgonia's machine.
func (a *architecture) compare(x matrix.Matrix, d []float64) error {
	n, cols := x.Dims()
	outputs := len(d) / n
	var list []int
	var direction []float64
	for k := range min(n, comparedRows) {
		i := k * n / min(n, comparedRows)
		list, direction = append(list, i), append(direction, d[i*outputs:(i+1)*outputs]...)
	}
	some := matrix.Pick(x, list)
	device, err := a.onDevice(some, 0, len(list), direction)
	if err != nil {
		return err
	}
	p, err := a.problem(matrix.Dense{Rows: len(list), Cols: cols, Data: a.rows(some, 0, len(list))}, direction, graph.Tape{})
	if err != nil {
		return err
	}
	machine, err := gradientOf(p)
	if err != nil {
		return err
	}
	if difference := distance(device, machine); !(difference <= derivativeError*norm(machine)) {
		return fmt.Errorf("on %d rows, the derivatives of the CPU device differ from those of Gorgonia's machine by %.3g of %.3g", len(list), difference, norm(machine))
	}
	return nil
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

// problem returns <d, scores> of the rows on an engine.
func (a *architecture) problem(rows matrix.Dense, d []float64, engine graph.Engine) (*graph.Problem, error) {
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
		x, direction := node("rows", rows.Cols, rows.Data), node("direction", outputs, d)
		scores, err := net.Scores(x, nil)
		if err != nil {
			return graph.Definition{}, err
		}
		product, err := gorgonia.HadamardProd(scores, direction)
		if err != nil {
			return graph.Definition{}, err
		}
		sum, err := gorgonia.Sum(product)
		return graph.Definition{Objective: sum, Parameters: net.Parameters(), Inputs: gorgonia.Nodes{x, direction}}, err
	}, engine)
}

func (a *architecture) kinks() bool {
	if k, known := a.Architecture.(models.Kinked); known {
		return k.Kinks()
	}
	inputs, outputs := a.Architecture.Dims()
	p, err := a.problem(matrix.Dense{Rows: 1, Cols: inputs, Data: make([]float64, inputs)}, make([]float64, outputs), graph.Tape{})
	a.note(err)
	return err == nil && problem.FeaturesOf(p).Kinks
}

var (
	_ model = (*architecture)(nil)
	_ model = (*network)(nil)
)
