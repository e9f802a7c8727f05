package build

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/models"
	"ppal/trainer/graph"
)

// HeldOut returns the blocks that compute the scores of held-out rows for the records. With bounded
// memory, the source encodes rows at each reading. Then a single block has all rows, and the device
// keeps the encoded rows in its pages: each record reads these rows and encodes nothing. Several
// processes share the blocks of NewBlocks.
func (b *Builder) HeldOut(data matrix.Matrix, dtype tensor.Dtype, weights models.Weights) (*Blocks, error) {
	if b.Devices.Options.Memory == 0 || b.Devices.Team != nil {
		return b.NewBlocks(data, dtype, weights)
	}
	n, _ := data.Dims()
	k := &Blocks{rows: n, data: data, outputs: b.Outputs(), devices: b.Devices, to: n}
	k.score = b.Devices.Team.Register(k.runScore)
	var err error
	l := &lane{}
	k.lanes = []*lane{l}
	l.block, err = graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, x, scores, err := b.Scores(g, data, dtype, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		sum, err := gorgonia.Sum(scores) // a problem needs an objective; nobody reads its value
		return graph.Definition{
			Objective: sum, Parameters: net.Parameters(), Inputs: gorgonia.Nodes{x},
			Data: []matrix.Matrix{data}, Watch: gorgonia.Nodes{scores},
		}, err
	}, b.Devices.Measure)
	if err != nil {
		return nil, fmt.Errorf("session: the scores of %d held-out rows: %w", n, err)
	}
	return k, nil
}
