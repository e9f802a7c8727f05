package cpu

import (
	endian "encoding/binary"
	"math"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
)

// groupBits is M as bits, for dense memberships without weights. The sums of all subsets of 8 rows
// are tabulated, and each group looks up its subset (the method of the four Russians; Arlazarov,
// Dinic, Kronrod and Faradzev, 1970). M^T w uses subsets of 8 groups. Four tables are looked up
// together, so that a sum is loaded and stored once for 32 rows or groups.
type groupBits[T plan.Float] struct {
	rows, count int
	sizes       []float64
	byRows      []uint8   // [sets of rows][count]: the rows of the set that are in a group
	byGroups    []uint8   // [sets of groups][rows]: the groups of the set that contain a row
	tables      []subsets // sums of the sets of groups, for the last weights
	share       []float64 // the part of each group's weight that each of its rows gets
}

const (
	setSize     = 8            // rows or groups of a set, the bits of a byte
	subsetCount = 1 << setSize // a set's subsets
	setsAtOnce  = 4            // sets whose tables are looked up together
)

// subsets holds the sums of all subsets of a set of numbers: entry j is the sum of the numbers at
// the set bits of j.
type subsets [subsetCount]float64

// fill tabulates the numbers, at most setSize; missing numbers are 0.
func (t *subsets) fill(x []float64) {
	for b := range setSize {
		v := 0.0
		if b < len(x) {
			v = x[b]
		}
		half := 1 << b
		lower, upper := t[:half], t[half:][:half]
		for j, s := range lower {
			upper[j] = s + v
		}
	}
}

// sets returns the number of sets that n rows or groups fill, rounded up to a multiple of
// setsAtOnce. The rows of a block may reach into the sets of the next block.
func sets(n int) int { return (n + setSize*setsAtOnce - 1) / (setSize * setsAtOnce) * setsAtOnce }

// bitsOperations returns the number of lookups and of tabulated sums in M l: for every set of rows,
// one for each group and one for each subset.
func bitsOperations(g describe.Groups) int { return sets(g.Rows) * (subsetCount + g.Count) }

func newGroupBits[T plan.Float](g describe.Groups) *groupBits[T] {
	f := &groupBits[T]{rows: g.Rows, count: g.Count, sizes: groupSizes(g), share: make([]float64, g.Count)}
	f.byRows = make([]uint8, (sets(g.Rows)+setsAtOnce)*g.Count)
	f.byGroups, f.tables = make([]uint8, sets(g.Count)*g.Rows), make([]subsets, sets(g.Count))
	for i := range g.Rows {
		from, to := g.Of(i)
		for _, k := range g.RowGroups[from:to] {
			f.byRows[i/setSize*g.Count+int(k)] |= 1 << (i % setSize)
			f.byGroups[int(k)/setSize*g.Rows+i] |= 1 << (k % setSize)
		}
	}
	return f
}

func (f *groupBits[T]) partials() int { return f.count }

// shareRows implements groupForm. Each set of rows costs an operation for each group.
func (f *groupBits[T]) shareRows() int { return rowsForSums(setSize) }

func (f *groupBits[T]) add(sums []float64, l []T, lo int) {
	var t [setsAtOnce]subsets
	var x [setSize]float64
	for at := 0; at < len(l); at += setsAtOnce * setSize {
		for s := range t {
			clear(x[:])
			if from := at + s*setSize; from < len(l) {
				for b, v := range l[from:min(from+setSize, len(l))] {
					x[b] = float64(v)
				}
			}
			t[s].fill(x[:])
		}
		lookUp(sums, &t, f.byRows[(lo+at)/setSize*f.count:], f.count)
	}
}

// lookUp adds to each sum the table entry of the sum's subset, for each table: which[s*stride+k] is
// the subset of table s for sum k.
func lookUp(sums []float64, t *[setsAtOnce]subsets, which []uint8, stride int) {
	n := len(sums)
	a, b, c, d := which[:n], which[stride:][:n], which[2*stride:][:n], which[3*stride:][:n]
	for k := range sums {
		sums[k] += (t[0][a[k]] + t[1][b[k]]) + (t[2][c[k]] + t[3][d[k]])
	}
}

func (f *groupBits[T]) means(out, sums []float64) { divide(out, sums, f.sizes) }

func (f *groupBits[T]) setWeights(w []float64) {
	divide(f.share, w, f.sizes)
	for s := range f.tables {
		from := min(s*setSize, len(f.share))
		f.tables[s].fill(f.share[from:min(from+setSize, len(f.share))])
	}
}

func (f *groupBits[T]) mulTrans(out []T, lo int, add bool) {
	eachBlock(len(out), func(from, to int) { f.mulTransBlock(out[from:to], lo+from, add) })
}

// mulTransBlock is mulTrans for at most one block.
func (f *groupBits[T]) mulTransBlock(out []T, lo int, add bool) {
	var block [kernel.RowBlock]float64
	sums := block[:len(out)]
	if add {
		for i, v := range out {
			sums[i] = float64(v)
		}
	}
	for s := 0; s < len(f.tables); s += setsAtOnce {
		lookUp(sums, (*[setsAtOnce]subsets)(f.tables[s:]), f.byGroups[s*f.rows+lo:], f.rows)
	}
	for i, v := range sums {
		out[i] = T(v)
	}
}

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

// groupPatterns represents M by the patterns of its rows. Rows with the same column of M have the
// same pattern. A pass adds up the rows of each pattern, and then one thread adds the few patterns
// to the groups.
type groupPatterns[T plan.Float, P patternNumber] struct {
	patternWeights[T]
	pattern []P // of each row
}

// patternNumber is the type of the number of a pattern.
type patternNumber interface{ uint16 | int32 }

// patternLanes is the number of interleaved sums of a pattern. Consecutive rows often have the same
// pattern, and additions to a single sum would wait for each other.
const patternLanes = 4

func newGroupPatterns[T plan.Float, P patternNumber](pattern []P, patterns describe.Groups) *groupPatterns[T, P] {
	return &groupPatterns[T, P]{newPatternWeights[T](patterns), pattern}
}

// patternWeights is the membership matrix of the patterns.
type patternWeights[T plan.Float] struct {
	patterns groupForm[float64]
	values   []float64 // by pattern
	rounded  []T       // the weights by pattern, rounded
	sums     []float64 // by group
}

func newPatternWeights[T plan.Float](patterns describe.Groups) patternWeights[T] {
	return patternWeights[T]{newRowForm[float64](patterns), make([]float64, patterns.Rows), make([]T, patterns.Rows), make([]float64, patterns.Count)}
}

// toGroups writes the means of the groups from the sums of the patterns in values.
func (f *patternWeights[T]) toGroups(out []float64) {
	clear(f.sums)
	eachBlock(len(f.values), func(lo, hi int) { f.patterns.add(f.sums, f.values[lo:hi], lo) })
	f.patterns.means(out, f.sums)
}

func (f *patternWeights[T]) setWeights(w []float64) {
	f.patterns.setWeights(w)
	eachBlock(len(f.values), func(lo, hi int) { f.patterns.mulTrans(f.values[lo:hi], lo, false) })
	for c, v := range f.values {
		f.rounded[c] = T(v)
	}
}

// patternsOf returns the matrix of the patterns of a matrix with patterns.
func patternsOf(g describe.Groups) describe.Groups {
	return describe.Groups{Rows: len(g.RowStarts) - 1, Count: g.Count, Starts: g.Starts, RowStarts: g.RowStarts, RowGroups: g.RowGroups, RowWeights: g.RowWeights}
}

// rowPatterns returns each row's pattern and the matrix of the patterns: the distinct columns of M
// in order of appearance. g has no Patterns. The matrix keeps the Starts of M, whose differences
// are the sizes of the groups.
func rowPatterns(g describe.Groups) (pattern []int32, patterns describe.Groups) {
	pattern = make([]int32, g.Rows)
	patterns = describe.Groups{Count: g.Count, Starts: g.Starts, RowStarts: []int{0}}
	known := map[string]int32{}
	var key []byte
	for i := range pattern {
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
			patterns.RowGroups = append(patterns.RowGroups, g.RowGroups[lo:hi]...)
			if g.RowWeights != nil {
				patterns.RowWeights = append(patterns.RowWeights, g.RowWeights[lo:hi]...)
			}
			patterns.RowStarts = append(patterns.RowStarts, len(patterns.RowGroups))
		}
		pattern[i] = id
	}
	patterns.Rows = len(known)
	return pattern, patterns
}

func (f *groupPatterns[T, P]) partials() int { return patternLanes * len(f.values) }

func (f *groupPatterns[T, P]) shareRows() int { return rowsForSums(f.partials()) }

func (f *groupPatterns[T, P]) add(sums []float64, l []T, lo int) {
	n := len(f.values)
	a, b, c, d := sums[:n], sums[n:2*n], sums[2*n:3*n], sums[3*n:4*n]
	pattern := f.pattern[lo:][:len(l)]
	for len(l) >= patternLanes && len(pattern) >= patternLanes {
		a[pattern[0]] += float64(l[0])
		b[pattern[1]] += float64(l[1])
		c[pattern[2]] += float64(l[2])
		d[pattern[3]] += float64(l[3])
		l, pattern = l[patternLanes:], pattern[patternLanes:]
	}
	for i, v := range l {
		a[pattern[i]] += float64(v)
	}
}

func (f *groupPatterns[T, P]) means(out, sums []float64) {
	n := len(f.values)
	for c := range f.values {
		f.values[c] = (sums[c] + sums[n+c]) + (sums[2*n+c] + sums[3*n+c])
	}
	f.toGroups(out)
}

func (f *groupPatterns[T, P]) mulTrans(out []T, lo int, add bool) {
	pattern := f.pattern[lo:][:len(out)]
	if add {
		for i, c := range pattern {
			out[i] = T(float64(out[i]) + f.values[c])
		}
		return
	}
	for i, c := range pattern {
		out[i] = f.rounded[c]
	}
}

// eachBlock visits n rows block by block.
func eachBlock(n int, visit func(lo, hi int)) {
	for lo := 0; lo < n; lo += kernel.RowBlock {
		visit(lo, min(lo+kernel.RowBlock, n))
	}
}

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
