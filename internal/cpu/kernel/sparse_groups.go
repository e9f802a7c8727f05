package kernel

import (
	"math/bits"
	"slices"
)

// groupRows is the number of rows of a group, which has one bit for each row. laneBytes is the size
// of a column's partial sums, a cache line. The generator has the same constants.
const (
	groupRows = 32
	laneBytes = 64
)

// Groups pay if the level has passes for them, the partial sums of all columns fit in half a
// level-2 cache of 512 KiB (groupRoom), and a pair represents at least groupFill entries on
// average.
const (
	groupRoom = 256 << 10
	groupFill = 2
)

// lanes returns the number of partial sums of a column.
func lanes[F Float]() int { return laneBytes / int(sizeof[F]()) }

// groups holds the entries of a matrix whose entries are equal, in groups of 32 rows. A group
// lists, in increasing order, the columns in which some of its rows have an entry, each with a bit
// for every row that has an entry in the column. In a table of few attributes with one column for
// each value, most rows have entries in the same columns, so one vector instruction handles several
// entries.
type groups struct {
	starts []uint32 // of the pairs of each group
	pairs  []uint64 // column<<32 | bits of the rows, the lowest for the first row
}

// group builds the groups of x if they pay.
func (k *Kernels[F]) group(x *Sparse[F]) {
	if k.sparse.groupMul == nil || x.groups != nil || x.step != 0 || x.cols*laneBytes > groupRoom {
		return
	}
	pairs := x.countPairs()
	if groupFill*pairs > len(x.columns) || pairs > 1<<32-1 {
		return
	}
	g, err := x.newGroups(x.allocate, pairs)
	if err != nil { // a full disk: the groups lie in the process's own memory
		g, _ = x.newGroups(nil, pairs)
	}
	x.groups, x.grouped = g, true
}

// countPairs returns the number of pairs of all groups.
func (x *Sparse[F]) countPairs() (pairs int) {
	x.eachGroup(func(touched []int32, _ []uint32) { pairs += len(touched) })
	return pairs
}

// newGroups returns the groups, which have the given number of pairs, in an Allocator's memory.
func (x *Sparse[F]) newGroups(allocate Allocator, pairs int) (g *groups, err error) {
	g = &groups{}
	if g.starts, err = allocated[uint32](allocate, ceil(x.rows, groupRows)+1); err != nil {
		return nil, err
	}
	if g.pairs, err = allocated[uint64](allocate, pairs); err != nil {
		return nil, err
	}
	g.starts, g.pairs = g.starts[:0], g.pairs[:0]
	x.eachGroup(func(touched []int32, rows []uint32) {
		g.starts = append(g.starts, uint32(len(g.pairs)))
		for _, c := range touched {
			g.pairs = append(g.pairs, uint64(c)<<32|uint64(rows[c]))
		}
	})
	g.starts = append(g.starts, uint32(len(g.pairs)))
	return g, nil
}

// eachGroup calls visit for every group, with the columns that have entries, in increasing order,
// and, for every column, the bits of the rows.
func (x *Sparse[F]) eachGroup(visit func(touched []int32, rows []uint32)) {
	rows := make([]uint32, x.cols)
	seen := make([]uint64, ceil(x.cols, 64)) // the bits of the columns that have entries
	var words, touched []int32               // words are the indices in seen of such columns
	for from := 0; from < x.rows; from += groupRows {
		for i := from; i < min(from+groupRows, x.rows); i++ {
			for _, c := range x.columns[x.starts[i]:x.starts[i+1]] {
				if seen[c>>6] == 0 {
					words = append(words, c>>6)
				}
				seen[c>>6] |= 1 << (c & 63)
				rows[c] |= 1 << (i - from)
			}
		}
		slices.Sort(words)
		for _, w := range words {
			for rest := seen[w]; rest != 0; rest &= rest - 1 {
				touched = append(touched, w<<6+int32(bits.TrailingZeros64(rest)))
			}
			seen[w] = 0
		}
		visit(touched, rows)
		for _, c := range touched {
			rows[c] = 0
		}
		words, touched = words[:0], touched[:0]
	}
}

// span splits rows lo to hi-1 into runs of whole groups and parts of a group, and calls part for
// each part. It also calls part for rows whose vectors have gaps; these rows go through the memory
// of one group.
func span(lo, hi, ld int, whole func(group, n, at int), part func(group, first, n, at int)) {
	for i := lo; i < hi; {
		group, first := i/groupRows, i%groupRows
		n := min(groupRows-first, hi-i)
		if full := (hi - i) / groupRows; first == 0 && full > 0 && ld == 1 {
			n = full * groupRows
			whole(group, full, i-lo)
		} else {
			part(group, first, n, i-lo)
		}
		i += n
	}
}

// mulGroups computes z = X w.
func (k *Kernels[F]) mulGroups(z []F, ldz, lo, hi int, w *SparseFactor[F], s *Scratch[F]) {
	g := w.x.groups
	span(lo, hi, ldz, func(group, n, to int) {
		k.sparse.groupMul(n, &g.starts[group], at(g.pairs), &w.packed[0], &z[to])
	}, func(group, first, n, to int) {
		k.sparse.groupMul(1, &g.starts[group], at(g.pairs), &w.packed[0], &s.group[0])
		if ldz == 1 {
			copy(z[to:to+n], s.group[first:])
			return
		}
		for r := range n {
			z[(to+r)*ldz] = s.group[first+r]
		}
	})
}

// addTransGroups adds X^T d to the partial sums of the columns.
func (k *Kernels[F]) addTransGroups(s *SparseSums[F], lo, hi int, d []F, ldd int) {
	g := s.x.groups
	span(lo, hi, ldd, func(group, n, from int) {
		k.sparse.groupAddTrans(n, &g.starts[group], at(g.pairs), &d[from], &s.part[0])
	}, func(group, first, n, from int) {
		clear(s.group[:first])
		clear(s.group[first+n:])
		for r := range n {
			s.group[first+r] = d[(from+r)*ldd]
		}
		k.sparse.groupAddTrans(1, &g.starts[group], at(g.pairs), &s.group[0], &s.part[0])
	})
}
