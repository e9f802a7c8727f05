package cpu

import (
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
