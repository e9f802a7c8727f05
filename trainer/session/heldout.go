package session

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/models"
	"ppal/trainer/graph"
)

// heldOut returns the blocks that compute the scores of held-out rows for the records. With bounded
// memory, the source encodes rows at each reading. Then a single block has all rows, and the device
// keeps the encoded rows in its pages: each record reads these rows and encodes nothing. Several
// processes share the blocks of newBlocks.
func (b *builder) heldOut(data matrix.Matrix, dtype tensor.Dtype, weights models.Weights) (*blocks, error) {
	if b.devices.pages == nil || b.devices.team != nil {
		return b.newBlocks(data, dtype, weights)
	}
	n, _ := data.Dims()
	k := &blocks{rows: n, data: data, outputs: b.outputs(), devices: b.devices, to: n}
	k.score = b.devices.everywhere(k.runScore)
	var err error
	k.block, err = graph.New(func(g *gorgonia.ExprGraph) (graph.Definition, error) {
		net, x, scores, err := b.scores(g, data, dtype, weights)
		if err != nil {
			return graph.Definition{}, err
		}
		sum, err := gorgonia.Sum(scores) // a problem needs an objective; nobody reads its value
		return graph.Definition{
			Objective: sum, Parameters: net.Parameters(), Inputs: gorgonia.Nodes{x},
			Data: []matrix.Matrix{data}, Watch: gorgonia.Nodes{scores},
		}, err
	}, b.devices.measure)
	if err != nil {
		return nil, fmt.Errorf("session: the scores of %d held-out rows: %w", n, err)
	}
	return k, nil
}
