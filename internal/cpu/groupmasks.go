package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
)

// mostMasks is the largest number of patterns for groupMasks. Up to this number, a pass over the
// rows for each pattern costs less than a lookup for each row (measured on AMD Zen 4: 0.15 ns
// against 0.6 to 0.8 ns).
const mostMasks = 4

// groupMasks is groupPatterns for a handful of patterns. Each pattern has a mask with a bit for
// every row. Vector instructions compute the sums and weights of several rows at once.
type groupMasks[T plan.Float] struct {
	patternWeights[T]
	k    *kernel.Kernels[T]
	sets []*kernel.RowSet // rows of each pattern
}

func newGroupMasks[T plan.Float, P patternNumber](k *kernel.Kernels[T], pattern []P, patterns describe.Groups) *groupMasks[T] {
	f := &groupMasks[T]{newPatternWeights[T](patterns), k, make([]*kernel.RowSet, patterns.Rows)}
	for c := range f.sets {
		f.sets[c] = kernel.NewRowSet(len(pattern))
	}
	for i, c := range pattern {
		f.sets[c].Add(i)
	}
	return f
}

func (f *groupMasks[T]) partials() int { return len(f.sets) }

func (f *groupMasks[T]) shareRows() int { return sumsShare }

func (f *groupMasks[T]) add(sums []float64, l []T, lo int) {
	for c, rows := range f.sets {
		sums[c] += f.k.SumWhere(l, rows, lo)
	}
}

func (f *groupMasks[T]) means(out, sums []float64) {
	copy(f.values, sums)
	f.toGroups(out)
}

func (f *groupMasks[T]) mulTrans(out []T, lo int, add bool) {
	if add {
		for c, rows := range f.sets {
			f.k.AddWhere(out, rows, lo, f.rounded[c])
		}
		return
	}
	fill(out, f.rounded[0])
	for c, rows := range f.sets[1:] {
		f.k.SetWhere(out, rows, lo, f.rounded[1+c])
	}
}
