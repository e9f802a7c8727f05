package session

import (
	"math"
	"slices"

	"ppal/datasets/matrix"
	"ppal/trainer/problem"
)

const (
	leastMoment  = 0.01 // of the largest second moment: smaller ones count as this share
	momentsBlock = 1 << 16
)

// hasScales reports whether quasi-Newton steps of the model use scales (problem.Scaled): without
// hidden layers, and with a regularizer that needs none of its own.
func (b *builder) hasScales() bool {
	kind := b.regularizer.Kind
	return len(b.spec.Hidden) == 0 && (kind == problem.NoRegularizer || kind == problem.SquaredL2)
}

// setScales sets the scales of the weights, in all processes at the same time. They are 1 until
// then.
//
// The second derivative of a loss of the scores in the direction of a weight is the mean of the
// loss's curvature times the square of the weight's feature. So it is about a multiple of the
// second moment E[z_j^2] of feature j over the training rows, and of 1 for a bias. The full scale
// would be s_j = E[z_j^2]^(-1/2). Half of that, s_j = E[z_j^2]^(-1/4), needs as few evaluations and
// fails less often (docs/performance.md).
func (a *assembly) setScales() error {
	b := a.builder
	if b.scales == nil {
		return nil
	}
	train := a.data.splits[0].rows
	from, to := a.devices.share(train.len())
	sums := b.squares(train.data, from, to)
	if err := a.devices.sum(sums); err != nil {
		return err
	}
	least := leastMoment * slices.Max(sums)
	if !(least > 0) || math.IsInf(least, 1) {
		return nil
	}
	for j, sum := range sums { // the graph has the weights feature by feature, and then the biases
		s := math.Pow(max(sum, least)/float64(train.len()), -0.25)
		for k := range b.spec.Outputs {
			b.scales[j*b.spec.Outputs+k] = s
		}
	}
	return nil
}

// squares returns the sums of the squares of the features over rows [from, to), as the model sees
// the features.
func (b *builder) squares(data matrix.Matrix, from, to int) []float64 {
	if p, ok := data.(*matrix.Part); ok {
		data, from, to = p.Own, from-p.From, to-p.From
	}
	_, cols := data.Dims()
	sums := make([]float64, cols)
	if s, ok := data.(matrix.Sparse); ok && b.center == nil && b.scale == nil {
		starts, columns, values := s.Entries()
		for k := starts[from]; k < starts[to]; k++ {
			v := 1.0
			if values != nil {
				v = float64(values[k])
			}
			sums[columns[k]] += v * v
		}
		return sums
	}
	block := max(1, momentsBlock/cols)
	room := make([]float64, block*cols)
	for i := from; i < to; i += block {
		n := min(block, to-i)
		data.Float64(room[:n*cols], i, i+n)
		for r := range n {
			row := room[r*cols : (r+1)*cols]
			for j, v := range row {
				if b.center != nil {
					v -= b.center[j]
				}
				if b.scale != nil {
					v *= b.scale[j]
				}
				sums[j] += v * v
			}
		}
	}
	return sums
}
