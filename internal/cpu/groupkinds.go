package cpu

import (
	endian "encoding/binary"
	"math"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// groupKinds is M by the kinds of rows, those with the same column of M: a kind's rows are added up first, and the few kinds then go to
// the groups, on one thread.
type groupKinds[T plan.Float] struct {
	kindWeights[T]
	kind []int32 // of each row
}

// kindLanes is the number of interleaved sums of a kind: consecutive rows are often of one kind, and would wait for each other.
const kindLanes = 4

func newGroupKinds[T plan.Float](kind []int32, kinds plan.Groups) *groupKinds[T] {
	return &groupKinds[T]{newKindWeights[T](kinds), kind}
}

// kindWeights is the matrix of the kinds, whose rows they are.
type kindWeights[T plan.Float] struct {
	kinds   groupForm[float64]
	values  []float64 // by kind
	rounded []T       // the weights by kind, rounded
	sums    []float64 // by group
}

func newKindWeights[T plan.Float](kinds plan.Groups) kindWeights[T] {
	return kindWeights[T]{newRowForm[float64](kinds), make([]float64, kinds.Rows), make([]T, kinds.Rows), make([]float64, kinds.Count)}
}

// toGroups writes the groups' means from the kinds' sums, the values.
func (f *kindWeights[T]) toGroups(out []float64) {
	clear(f.sums)
	eachBlock(len(f.values), func(lo, hi int) { f.kinds.add(f.sums, f.values[lo:hi], lo) })
	f.kinds.means(out, f.sums)
}

func (f *kindWeights[T]) weigh(w []float64) {
	f.kinds.weigh(w)
	eachBlock(len(f.values), func(lo, hi int) { f.kinds.spread(f.values[lo:hi], lo, false) })
	for c, v := range f.values {
		f.rounded[c] = T(v)
	}
}

// rowKinds returns each row's kind and the matrix of the kinds: M's distinct columns, in the order in which they come. Its Starts are
// M's, whose differences are the groups' sizes.
func rowKinds(g plan.Groups) (kind []int32, kinds plan.Groups) {
	kind = make([]int32, g.Rows)
	kinds = plan.Groups{Count: g.Count, Starts: g.Starts, RowStarts: []int{0}}
	known := map[string]int32{}
	var key []byte
	for i := range kind {
		lo, hi := g.RowStarts[i], g.RowStarts[i+1]
		key = key[:0]
		for e := lo; e < hi; e++ {
			key = endian.LittleEndian.AppendUint32(key, uint32(g.RowGroups[e]))
			if g.RowWeights != nil {
				key = endian.LittleEndian.AppendUint64(key, math.Float64bits(g.RowWeights[e]))
			}
		}
		id, ok := known[string(key)]
		if !ok {
			id = int32(len(known))
			known[string(key)] = id
			kinds.RowGroups = append(kinds.RowGroups, g.RowGroups[lo:hi]...)
			if g.RowWeights != nil {
				kinds.RowWeights = append(kinds.RowWeights, g.RowWeights[lo:hi]...)
			}
			kinds.RowStarts = append(kinds.RowStarts, len(kinds.RowGroups))
		}
		kind[i] = id
	}
	kinds.Rows = len(known)
	return kind, kinds
}

func (f *groupKinds[T]) partials() int { return kindLanes * len(f.values) }

func (f *groupKinds[T]) add(sums []float64, l []T, lo int) {
	n := len(f.values)
	a, b, c, d := sums[:n], sums[n:2*n], sums[2*n:3*n], sums[3*n:4*n]
	kind := f.kind[lo:][:len(l)]
	for len(l) >= kindLanes && len(kind) >= kindLanes {
		a[kind[0]] += float64(l[0])
		b[kind[1]] += float64(l[1])
		c[kind[2]] += float64(l[2])
		d[kind[3]] += float64(l[3])
		l, kind = l[kindLanes:], kind[kindLanes:]
	}
	for i, v := range l {
		a[kind[i]] += float64(v)
	}
}

func (f *groupKinds[T]) means(out, sums []float64) {
	n := len(f.values)
	for c := range f.values {
		f.values[c] = (sums[c] + sums[n+c]) + (sums[2*n+c] + sums[3*n+c])
	}
	f.toGroups(out)
}

func (f *groupKinds[T]) spread(out []T, lo int, add bool) {
	kind := f.kind[lo:][:len(out)]
	if add {
		for i, c := range kind {
			out[i] = T(float64(out[i]) + f.values[c])
		}
		return
	}
	for i, c := range kind {
		out[i] = f.rounded[c]
	}
}

// eachBlock visits n rows a block at a time.
func eachBlock(n int, visit func(lo, hi int)) {
	for lo := 0; lo < n; lo += kernel.RowBlock {
		visit(lo, min(lo+kernel.RowBlock, n))
	}
}
