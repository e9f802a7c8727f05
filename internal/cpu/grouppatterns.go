package cpu

import (
	endian "encoding/binary"
	"math"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/trainer/graph/describe"
)

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
