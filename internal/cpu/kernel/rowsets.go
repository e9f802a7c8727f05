package kernel

import "unsafe"

// rowSets are the passes of one level over the rows of sets.
type rowSets[F Float] struct {
	sum      func(n int, x *F, set *uint16) float64
	set, add func(n int, out *F, set *uint16, v F)
}

// RowSetAlign is what the first row of a block must be a multiple of in passes over a RowSet.
const RowSetAlign = 16

// A RowSet is a set of rows, with a bit for each. Passes read 32 at a time: there is a word more than the rows need.
type RowSet struct {
	rows  int
	words []uint16
}

// NewRowSet returns the empty set of n rows.
func NewRowSet(n int) *RowSet { return &RowSet{n, make([]uint16, (n+RowSetAlign-1)/RowSetAlign+1)} }

// Add puts row i into the set.
func (s *RowSet) Add(i int) { s.words[i/RowSetAlign] |= 1 << (i % RowSetAlign) }

// at is the word of row lo, the first of n.
func (s *RowSet) at(lo, n int) *uint16 {
	if lo%RowSetAlign != 0 || lo < 0 || lo+n > s.rows {
		panic("kernel: rows outside the set, or not from a multiple of 16 on")
	}
	return &s.words[lo/RowSetAlign]
}

// SumWhere is the sum of x[i] over the rows lo+i of a set in float64, added as in Dot.
func (k *Kernels[F]) SumWhere(x []F, set *RowSet, lo int) float64 {
	if len(x) == 0 {
		return 0
	}
	return k.sets.sum(len(x), &x[0], set.at(lo, len(x)))
}

// SetWhere computes out[i] = v for the rows lo+i of a set.
func (k *Kernels[F]) SetWhere(out []F, set *RowSet, lo int, v F) {
	if len(out) > 0 {
		k.sets.set(len(out), &out[0], set.at(lo, len(out)), v)
	}
}

// AddWhere computes out[i] += v for the rows lo+i of a set.
func (k *Kernels[F]) AddWhere(out []F, set *RowSet, lo int, v F) {
	if len(out) > 0 {
		k.sets.add(len(out), &out[0], set.at(lo, len(out)), v)
	}
}

// rowSetsGo are the reference of the passes in assembly.
func rowSetsGo[F Float]() rowSets[F] {
	return rowSets[F]{
		sum: func(n int, x *F, set *uint16) float64 {
			// The terms of rows outside the set are zeros, whatever they are.
			var lanes [sumLanes]float64
			values := unsafe.Slice(x, n)
			eachMember(n, set, func(i int) { lanes[i%sumLanes] += float64(values[i]) })
			return fold(&lanes)
		},
		set: func(n int, out *F, set *uint16, v F) {
			to := unsafe.Slice(out, n)
			eachMember(n, set, func(i int) { to[i] = v })
		},
		add: func(n int, out *F, set *uint16, v F) {
			to := unsafe.Slice(out, n)
			eachMember(n, set, func(i int) { to[i] += v })
		},
	}
}

func eachMember(n int, set *uint16, do func(i int)) {
	for i := range n {
		if member(set, i) {
			do(i)
		}
	}
}

// member says whether row i, counted from the first of the words on, is in the set.
func member(set *uint16, i int) bool {
	word := *(*uint16)(unsafe.Add(unsafe.Pointer(set), 2*(i/RowSetAlign)))
	return word>>(i%RowSetAlign)&1 == 1
}
