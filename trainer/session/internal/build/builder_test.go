package build

import (
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"

	"ppal/datasets/matrix"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// squares returns a builder of linear models, and rows whose objective is the mean square of the
// scores.
func squares(t *testing.T, rows, cols int) (*Builder, Rows) {
	t.Helper()
	device := require.Value(cpu.New(kernel.Best(), 1))(t)
	rng := rand.New(rand.NewPCG(1, 2))
	data := &matrix.Dense{Rows: rows, Cols: cols, Data: make([]float64, rows*cols)}
	for i := range data.Data {
		data.Data[i] = rng.NormFloat64()
	}
	b := &Builder{Model: models.Spec{Inputs: cols, Outputs: 1}, Devices: Devices{Train: graph.On(device), Measure: graph.On(device), Host: graph.On(device)},
		Complete: func(p problem.Problem) (problem.Problem, error) { return p, nil }}
	return b, rowsOf(data)
}

// rowsOf returns rows of a single stratum.
func rowsOf(data matrix.Matrix) Rows {
	return Rows{
		Data: data,
		Nodes: func(scores *gorgonia.Node) (*gorgonia.Node, gorgonia.Nodes, error) {
			square, err := gorgonia.Square(scores)
			if err != nil {
				return nil, nil, err
			}
			f, err := gorgonia.Mean(square)
			return f, nil, err
		},
		Strata: func() [][]int {
			n, _ := data.Dims()
			all := make([]int, n)
			for i := range all {
				all[i] = i
			}
			return [][]int{all}
		},
		Pick: func(list []int) Rows { return rowsOf(PickData(data, list)) },
	}
}

// start returns initial weights.
func start(t *testing.T, b *Builder) models.Weights {
	t.Helper()
	return require.Value(models.Init(b.Model, rand.New(rand.NewPCG(3, 4))))(t)
}
