package cpu

import (
	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
)

// groupLists holds M as a list of groups for each row. Each entry of M costs an operation.
type groupLists[T plan.Float] struct {
	g     describe.Groups
	sizes []float64
	share []float64 // share of each group's weight for an entry of weight 1
}

func newGroupLists[T plan.Float](g describe.Groups) *groupLists[T] {
	return &groupLists[T]{g, groupSizes(g), make([]float64, g.Count)}
}

func (f *groupLists[T]) partials() int { return f.g.Count }

// shareRows implements groupForm. A row costs as many operations as it has groups.
func (f *groupLists[T]) shareRows() int {
	return rowsForSums(f.g.Count) * f.g.Rows / max(1, f.g.Entries())
}

func (f *groupLists[T]) add(sums []float64, l []T, lo int) {
	for i, v := range l {
		x := float64(v)
		at, end := f.g.Of(lo + i)
		groups := f.g.RowGroups[at:end]
		if f.g.RowWeights == nil {
			for _, k := range groups {
				sums[k] += x
			}
		} else {
			weights := f.g.RowWeights[at:end][:len(groups)]
			for e, k := range groups {
				sums[k] += weights[e] * x
			}
		}
	}
}

func (f *groupLists[T]) means(out, sums []float64) { divide(out, sums, f.sizes) }

func (f *groupLists[T]) setWeights(w []float64) { divide(f.share, w, f.sizes) }

func (f *groupLists[T]) mulTrans(out []T, lo int, add bool) {
	for i := range out {
		at, end := f.g.Of(lo + i)
		groups := f.g.RowGroups[at:end]
		var sum float64
		if f.g.RowWeights == nil {
			sum = gathered(f.share, groups)
		} else {
			weights := f.g.RowWeights[at:end][:len(groups)]
			for e, k := range groups {
				sum += weights[e] * f.share[k]
			}
		}
		if add {
			sum += float64(out[i])
		}
		out[i] = T(sum)
	}
}

// gathered returns the sum of v's elements at the indices. The sum uses four interleaved partial
// sums.
func gathered(v []float64, at []int32) float64 {
	var a, b, c, d float64
	for len(at) >= 4 {
		a += v[at[0]]
		b += v[at[1]]
		c += v[at[2]]
		d += v[at[3]]
		at = at[4:]
	}
	for _, k := range at {
		a += v[k]
	}
	return (a + b) + (c + d)
}
