package session

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/session/internal/build"
)

// Column adds the constants [n, 1] to the graph of the scores [n, C], in the type of the scores.
// Nodes of a Statement uses Column for a constant of each row, such as a target. A graph can use
// each name only once.
func Column(scores *gorgonia.Node, name string, values []float64) *gorgonia.Node {
	return build.Constant(scores.Graph(), scores.Dtype(), name, values, len(values), 1)
}

// Number returns a constant in the type of the scores.
func Number(scores *gorgonia.Node, x float64) *gorgonia.Node {
	if scores.Dtype() == tensor.Float32 {
		return gorgonia.NewConstant(float32(x))
	}
	return gorgonia.NewConstant(x)
}
