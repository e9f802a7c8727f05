package verify

import (
	"fmt"
	"math"
	"runtime"
	"slices"

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

// architecture is the model of an architecture for which this package has no loops. The CPU device
// computes the scores and the derivatives in float64, block by block, because loops and Gorgonia's
// machine take many times as long. On some rows, spread over the matrix, models.Predict, which has
// loops of its own for networks of pictures, must give the same scores, and Gorgonia's machine the
// same derivatives.
type architecture struct {
	models.Model // weights as trained
	center       []float64
	report       *Report
	compiled     map[int]*graph.Problem // <d, scores> of a block on the CPU device, by its rows
	compared     bool                   // with Gorgonia's machine
}

// comparedRows is the largest number of rows on which Gorgonia's machine checks the derivatives,
// and predictedRows the largest on which models.Predict checks the scores. deviceError is the
// largest relative difference: the order of the sums differs.
const (
	comparedRows  = 8
	predictedRows = 256
	deviceError   = 1e-9
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
		to := min(from+gradientBlock, n)
		p, err := a.onDevice(x, from, to, make([]float64, (to-from)*outputs))
		if err == nil {
			_, err = p.Forward(nil)
		}
		if err == nil {
			all, err = p.AppendWatched(all, 0)
		}
		if err != nil {
			a.note(err)
			return slices.Repeat([]float64{math.NaN()}, n*outputs)
		}
	}
	list := spread(n, predictedRows)
	if len(list) < n {
		a.report.sampled("the scores by plain loops: %d of %d rows; the CPU device in float64: all", len(list), n)
	}
	some, err := models.Predict(a.Architecture, a.Weights, a.rows(matrix.Pick(x, list), 0, len(list)))
	difference, size := 0.0, 0.0
	for k, v := range some {
		size = max(size, math.Abs(v))
		difference = max(difference, math.Abs(v-all[list[k/outputs]*outputs+k%outputs]))
	}
	if err == nil && !(difference <= deviceError*(1+size)) {
		err = fmt.Errorf("on %d rows, the scores of the CPU device differ from those of models.Predict by %.3g of %.3g", len(list), difference, size)
	}
	a.note(err)
	return all
}

// spread returns at most most of n row numbers, evenly spread.
func spread(n, most int) (list []int) {
	for k := range min(n, most) {
		list = append(list, k*n/min(n, most))
	}
	return list
}

func (a *architecture) gradient(x matrix.Matrix, d []float64) []float64 {
	n, _ := x.Dims()
	_, outputs := a.Architecture.Dims()
	total := make([]float64, len(a.flat()))
	for from := 0; from < n; from += gradientBlock {
		to := min(from+gradientBlock, n)
		part, err := gradientOf(a.onDevice(x, from, to, d[from*outputs:to*outputs]))
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

// onDevice returns <d, scores> of the rows [from, to) on the CPU device.
func (a *architecture) onDevice(x matrix.Matrix, from, to int, d []float64) (*graph.Problem, error) {
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
		return p, nil
	}
	if err := p.Bind(0, &rows); err != nil {
		return nil, err
	}
	return p, p.Bind(1, &matrix.Dense{Rows: rows.Rows, Cols: len(d) / rows.Rows, Data: d})
}

// compare compares the CPU device with Gorgonia's machine.
func (a *architecture) compare(x matrix.Matrix, d []float64) error {
	n, cols := x.Dims()
	outputs := len(d) / n
	list := spread(n, comparedRows)
	var direction []float64
	for _, i := range list {
		direction = append(direction, d[i*outputs:(i+1)*outputs]...)
	}
	some := matrix.Pick(x, list)
	device, err := gradientOf(a.onDevice(some, 0, len(list), direction))
	if err != nil {
		return err
	}
	p, err := a.problem(matrix.Dense{Rows: len(list), Cols: cols, Data: a.rows(some, 0, len(list))}, direction, graph.Tape{})
	if err != nil {
		return err
	}
	machine, err := gradientOf(p, nil)
	if err != nil {
		return err
	}
	if difference := distance(device, machine); !(difference <= deviceError*norm(machine)) {
		return fmt.Errorf("on %d rows, the derivatives of the CPU device differ from those of Gorgonia's machine by %.3g of %.3g", len(list), difference, norm(machine))
	}
	return nil
}

// gradientOf returns the gradient of the objective of p, unless p has an error.
func gradientOf(p *graph.Problem, err error) ([]float64, error) {
	if err != nil {
		return nil, err
	}
	if _, err := p.Forward(nil); err != nil {
		return nil, err
	}
	n, _ := p.Dims()
	v, part := p.Space().New(), make([]float64, n)
	err = p.Backward([]float64{1}, v)
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
		return graph.Definition{Objective: sum, Parameters: net.Parameters(), Inputs: gorgonia.Nodes{x, direction}, Watch: gorgonia.Nodes{scores}}, err
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
