package graphcases

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/datasets/picture"
	"ppal/internal/plan"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// Storage names the form of the rows.
type Storage int

// The forms of the rows.
const (
	Values Storage = iota // the value of an input node
	Dense                 // a data matrix of float64 values
	Bytes                 // a data matrix of 8-bit values
	Sparse                // a sparse data matrix
)

// Case is one problem. Weights, rows and labels are generated from Seed and are the same numbers in
// float32 and float64.
type Case struct {
	Name        string
	Spec        models.Spec
	Rows        int
	Center      bool
	Storage     Storage
	Data        matrix.Matrix // the rows; nil: drawn from Seed
	Regularizer problem.Regularizer
	Seed        uint64
	// Nodes adds f and the terms of g. If Pieces is not nil, g is made from the terms by Pieces.
	Nodes  func(scores *gorgonia.Node, rng *rand.Rand) (f, terms *gorgonia.Node, err error)
	Pieces []constraints.Piece
}

// Title returns the name of the case.
func (c Case) Title() string { return c.Name }

// Problem builds the case for an engine. Its only input is the rows, and it watches the scores.
func (c Case) Problem(dtype tensor.Dtype, engine graph.Engine) (*graph.Problem, error) {
	rng := rand.New(rand.NewPCG(c.Seed, 1))
	weights, err := models.Init(c.Spec, rng)
	if err != nil {
		return nil, err
	}
	for _, w := range weights {
		for i, x := range w.Data {
			w.Data[i] = float64(float32(x))
		}
	}
	p, err := graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) { return c.define(g, dtype, weights, rng) }, engine)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	return p, nil
}

func (c Case) define(g *gorgonia.ExprGraph, dtype tensor.Dtype, weights models.Weights, rng *rand.Rand) (graph.Definition, error) {
	net, err := models.New(g, c.Spec, dtype, weights)
	if err != nil {
		return graph.Definition{}, err
	}
	d := graph.Definition{Parameters: net.Parameters(), Regularizer: c.Regularizer}
	x := c.rows(g, dtype, rng, &d)
	var center *gorgonia.Node
	if c.Center {
		center = Normal(g, dtype, rng, "center", 1, c.Spec.Inputs)
	}
	scores, err := net.Scores(x, center)
	if err != nil {
		return d, err
	}
	f, terms, err := c.Nodes(scores, rng)
	d.Objective, d.Constraints = f, gorgonia.Nodes{terms}
	d.Inputs, d.Watch = gorgonia.Nodes{x}, gorgonia.Nodes{scores}
	return d, err
}

// rows adds the input node in the case's form.
func (c Case) rows(g *gorgonia.ExprGraph, dtype tensor.Dtype, rng *rand.Rand, d *graph.Definition) *gorgonia.Node {
	n, cols := c.Rows, c.Spec.Inputs
	data := c.Data
	switch {
	case data != nil:
	case c.Storage == Values:
		return Normal(g, dtype, rng, "rows", n, cols)
	case c.Storage == Bytes:
		b := &matrix.Bytes{Rows: n, Cols: cols, Data: make([]uint8, n*cols), Scale: picture.PixelScale}
		for i := range b.Data {
			b.Data[i] = uint8(rng.IntN(256))
		}
		data = b
	case c.Storage == Sparse:
		data = sparse(rng, n, cols)
	default:
		data = table{n, cols, normals(rng, n*cols)}
	}
	d.Data = []matrix.Matrix{data}
	return gorgonia.NewMatrix(g, dtype, gorgonia.WithName("rows"), gorgonia.WithShape(n, cols))
}

// sparse generates about a quarter of the entries; some rows have no entries, some have all.
func sparse(rng *rand.Rand, rows, cols int) *matrix.CSR {
	m := &matrix.CSR{Rows: rows, Cols: cols, Starts: []int{0}}
	for i := range rows {
		for j := range cols {
			if i%7 != 3 && (rng.IntN(4) == 0 || i%11 == 5) {
				m.Columns = append(m.Columns, int32(j))
				m.Values = append(m.Values, float64(float32(rng.NormFloat64())))
			}
		}
		m.Starts = append(m.Starts, len(m.Columns))
	}
	return m
}

// table is a data matrix of float64 rows.
type table struct {
	rows, cols int
	values     []float64
}

func (t table) Dims() (rows, cols int) { return t.rows, t.cols }

func (t table) Float32(dst []float32, from, to int) {
	for i, v := range t.values[from*t.cols : to*t.cols] {
		dst[i] = float32(v)
	}
}

func (t table) Float64(dst []float64, from, to int) { copy(dst, t.values[from*t.cols:to*t.cols]) }

// normals returns normally distributed numbers that float32 represents exactly.
func normals(rng *rand.Rand, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(float32(rng.NormFloat64()))
	}
	return list
}

// Normal returns a matrix of normally distributed numbers, the same in both precisions.
func Normal(g *gorgonia.ExprGraph, dtype tensor.Dtype, rng *rand.Rand, name string, shape ...int) *gorgonia.Node {
	backing := Backing(dtype, normals(rng, tensor.Shape(shape).TotalSize()))
	return gorgonia.NewTensor(g, dtype, len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...),
		gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing))))
}

// Backing returns the numbers as a slice of the dtype.
func Backing(dtype tensor.Dtype, data []float64) any {
	if dtype == tensor.Float64 {
		return data
	}
	narrow := make([]float32, len(data))
	for i, x := range data {
		narrow[i] = float32(x)
	}
	return narrow
}

// Lower returns the plan of a Lagrangian, as the engines of package graph lower it.
func Lower(l *graph.Lagrangian) (*plan.Plan, error) {
	return plan.Lower(plan.Source{Graph: l.Graph, Dtype: l.Dtype, Objective: l.Objective, Constraints: l.Constraints, Watched: l.Watch,
		Parameters: l.Parameters, Inputs: l.Inputs, Data: l.Data, Coefficients: l.Coefficients, Gradients: l.Gradients})
}
