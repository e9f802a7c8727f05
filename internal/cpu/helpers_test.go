package cpu_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// images holds random 8-bit pixels.
type images struct {
	rows, cols int
	pixels     []byte
}

func newImages(rows, cols int) images {
	rng := rand.New(rand.NewPCG(7, 8))
	p := make([]byte, rows*cols)
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return images{rows, cols, p}
}

func (m images) Dims() (rows, cols int) { return m.rows, m.cols }

func (m images) Float32(dst []float32, from, to int) {
	for i, v := range m.pixels[from*m.cols : to*m.cols] {
		dst[i] = float32(v) / 255
	}
}

func (m images) Float64(dst []float64, from, to int) {
	for i, v := range m.pixels[from*m.cols : to*m.cols] {
		dst[i] = float64(v) / 255
	}
}

// classifier builds the Neyman-Pearson problem of a network on images, with classes of equal size,
// one after the other.
func classifier(b *testing.B, spec models.Architecture, data images, dtype tensor.Dtype, e graph.Engine) *graph.Problem {
	b.Helper()
	_, outputs := spec.Dims()
	return labelled(b, spec, data, func(i int) int { return i * outputs / data.rows }, dtype, e)
}

// labelled is classifier with the class of each row.
func labelled(b testing.TB, spec models.Architecture, data matrix.Matrix, class func(i int) int, dtype tensor.Dtype, e graph.Engine) *graph.Problem {
	b.Helper()
	_, outputs := spec.Dims()
	rows, cols := data.Dims()
	labels, names := make([]int, rows), make([]string, outputs)
	for i := range labels {
		labels[i] = class(i)
	}
	for k := range names {
		names[k] = fmt.Sprint(k)
	}
	weights := require.Value(models.Init(spec, rand.New(rand.NewPCG(1, 1))))(b)
	p := require.Value(graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, err := models.New(g, spec, dtype, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		x := gorgonia.NewMatrix(g, dtype, gorgonia.WithName("rows"), gorgonia.WithShape(rows, cols))
		scores, err := net.Scores(x, graphcases.Normal(g, dtype, rand.New(rand.NewPCG(2, 2)), "center", 1, cols))
		if err != nil {
			return graph.Definition{}, err
		}
		f, c, err := graphcases.NeymanPearson(0.2, constraints.Sigmoid).Nodes(scores, &constraints.Population{Labels: labels, Classes: names})
		return graph.Definition{Objective: f, Constraints: gorgonia.Nodes{c}, Parameters: net.Parameters(),
			Regularizer: problem.Regularizer{Kind: problem.Ball, Radius: 100}, Inputs: gorgonia.Nodes{x}, Data: []matrix.Matrix{data}, Watch: gorgonia.Nodes{scores}}, err
	}, e))(b)
	return p
}

// iteration returns a function that runs a forward and a backward pass.
func iteration(t testing.TB, p *graph.Problem) func() {
	_, m := p.Dims()
	g, d, weights := make([]float64, m), p.Space().New(), make([]float64, m+1)
	for j := range weights {
		weights[j] = 1
	}
	return func() {
		require.Value(p.Forward(g))(t)
		require.NoError(t, p.Backward(weights, d))
	}
}
