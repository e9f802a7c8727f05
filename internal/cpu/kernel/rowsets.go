package kernel

import "unsafe"

// rowSets holds the passes of one level over the rows of a set.
type rowSets[F Float] struct {
	sum      func(n int, x *F, set *uint16) float64
	set, add func(n int, out *F, set *uint16, v F)
}

// RowSetAlign is the number of rows in a word of a RowSet. Passes over blocks that begin with a
// multiple of RowSetAlign are faster.
const RowSetAlign = 16

// RowSet is a set of rows with one bit for each row. Passes read 32 bits at a time, so the set has
// one word more than the rows need.
type RowSet struct {
	rows  int
	words []uint16
}

// NewRowSet returns the empty set of n rows.
func NewRowSet(n int) *RowSet { return &RowSet{n, make([]uint16, (n+RowSetAlign-1)/RowSetAlign+1)} }

// Add puts row i into the set.
func (s *RowSet) Add(i int) { s.words[i/RowSetAlign] |= 1 << (i % RowSetAlign) }

// has reports whether row i is in the set.
func (s *RowSet) has(i int) bool { return s.words[i/RowSetAlign]>>(i%RowSetAlign)&1 != 0 }

// at returns the word of row lo, the first of n rows, or nil if another row begins the word: blocks
// of pictures may have one row.
func (s *RowSet) at(lo, n int) *uint16 {
	if lo < 0 || lo+n > s.rows {
		panic("kernel: rows outside the set")
	}
	if lo%RowSetAlign != 0 {
		return nil
	}
	return &s.words[lo/RowSetAlign]
}

// SumWhere returns the sum of x[i] over the rows lo+i of a set in float64: in the order of Dot, or
// of the rows if lo is no multiple of RowSetAlign.
func (k *Kernels[F]) SumWhere(x []F, set *RowSet, lo int) (sum float64) {
	if len(x) == 0 {
		return 0
	}
	if words := set.at(lo, len(x)); words != nil {
		return k.sets.sum(len(x), &x[0], words)
	}
	for i, v := range x {
		if set.has(lo + i) {
			sum += float64(v)
		}
	}
	return sum
}

// SetWhere computes out[i] = v for the rows lo+i of a set.
func (k *Kernels[F]) SetWhere(out []F, set *RowSet, lo int, v F) {
	k.where(k.sets.set, out, set, lo, v, func(i int) { out[i] = v })
}

// AddWhere computes out[i] += v for the rows lo+i of a set.
func (k *Kernels[F]) AddWhere(out []F, set *RowSet, lo int, v F) {
	k.where(k.sets.add, out, set, lo, v, func(i int) { out[i] += v })
}

// where runs a pass, or row by row do if the block begins within a word.
func (k *Kernels[F]) where(pass func(n int, out *F, set *uint16, v F), out []F, set *RowSet, lo int, v F, do func(i int)) {
	if len(out) == 0 {
		return
	}
	if words := set.at(lo, len(out)); words != nil {
		pass(len(out), &out[0], words, v)
		return
	}
	for i := range out {
		if set.has(lo + i) {
			do(i)
		}
	}
}

// rowSetsGo returns the reference of the passes in assembly.
func rowSetsGo[F Float]() rowSets[F] {
	return rowSets[F]{
		sum: func(n int, x *F, set *uint16) float64 {
			// Rows outside the set add nothing, not even a NaN.
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

// eachMember calls do for the rows 0 to n-1 that are in the set.
func eachMember(n int, set *uint16, do func(i int)) {
	for i := range n {
		if member(set, i) {
			do(i)
		}
	}
}

// member reports whether the set has row i, counted from the first of the words on.
func member(set *uint16, i int) bool {
	word := *(*uint16)(unsafe.Add(unsafe.Pointer(set), 2*(i/RowSetAlign)))
	return word>>(i%RowSetAlign)&1 == 1
}
