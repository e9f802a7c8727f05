package session

import (
	"math"
	"slices"

	"ppal/datasets/matrix"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

const (
	leastMoment  = 0.01    // of the largest second moment: smaller ones count as this share
	mostScales   = 1 << 16 // weights of a model with scales, because the host multiplies by the scales
	momentsBlock = 1 << 16
)

// hasScales reports whether quasi-Newton steps of the model use scales (problem.Scaled): without
// hidden layers, with the regularizer none or l2, and with few enough weights.
func (b *builder) hasScales() bool {
	kind := b.regularizer.Kind
	return len(b.spec.Hidden) == 0 && (kind == problem.NoRegularizer || kind == problem.SquaredL2) && (b.spec.Inputs+1)*b.spec.Outputs <= mostScales
}

// usesScales reports whether the training takes quasi-Newton steps of such a model.
func (a *assembly) usesScales() bool {
	rule, ok := a.options.Method.(trainer.DualRule)
	return a.builder.scales != nil && (a.batches != nil || ok && rule.PrimalStep().Kind == step.LBFGS)
}

// setScales sets the scales of the weights, which are 1 before. All processes must call it, because
// it sums over them.
//
// The second derivative of a loss of the scores in the direction of a weight is the mean of the
// loss's curvature times the square of the weight's feature. So it is about a multiple of the
// second moment E[z_j^2] of feature j over the training rows, and of 1 for a bias. The full scale
// would be s_j = E[z_j^2]^(-1/2). With half the exponent, s_j = E[z_j^2]^(-1/4), runs need about as
// many evaluations, and bounds on decisions end with a smaller objective (docs/performance.md).
func (a *assembly) setScales() error {
	if !a.usesScales() {
		return nil
	}
	b, train := a.builder, a.data.splits[0].rows
	from, to := a.devices.share(train.len())
	sums := b.squares(train.data, from, to)
	if err := a.devices.sum(sums); err != nil {
		return err
	}
	least := leastMoment * slices.Max(sums) / float64(train.len())
	if !(least > 0) || math.IsInf(least, 1) {
		return nil
	}
	scale := func(moment float64) float64 { return math.Pow(max(moment, least), -0.25) }
	for j := range b.spec.Inputs + 1 { // the graph has the weights feature by feature, and then the biases
		s := scale(1)
		if j < b.spec.Inputs {
			s = scale(sums[j] / float64(train.len()))
		}
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
