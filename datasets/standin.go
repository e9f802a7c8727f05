package datasets

import (
	"math/rand/v2"
	"slices"
)

// A stand-in is a synthetic table that is shaped like a real one: as many rows,
// the same columns with about the same distribution each, exactly as many rows
// of each class and category, and something to learn. It needs no files.
//
// Every row has a few traits, which are normal or nearly. A column, like the
// label, is a mixture of traits and noise; its rows are put in order by that,
// and the quantiles of the real column are dealt out in that order. The
// mixtures are the same for every seed: two seeds give two samples of one
// population. All of it is integer arithmetic on a PCG stream, so that one seed
// gives the same rows on every machine.
type standIn struct {
	rows   int
	s      stream
	traits [standInTraits][]int32
}

const (
	standInTraits = 4
	standInStream = 0x7461626c65 // tells its random streams from others of the same seed
)

// mixture is how a column comes of the traits.
type mixture struct {
	weights [standInTraits]int
	noise   int
}

// labelMixture is the label's: a third of its variance is noise.
var labelMixture = mixture{[...]int{4, 3, -3, 2}, 4}

// mixtureOf is the mixture of column number j, about half of it noise.
func mixtureOf(j int) mixture {
	s := stream{rand.NewPCG(uint64(j), standInStream)}
	var m mixture
	for k := range m.weights {
		m.weights[k] = s.within(3)
	}
	m.noise = 4
	return m
}

func newStandIn(rows int, seed uint64) *standIn {
	t := &standIn{rows: rows, s: stream{rand.NewPCG(seed, standInStream)}}
	for k := range t.traits {
		t.traits[k] = make([]int32, rows)
		for i := range t.traits[k] {
			t.traits[k][i] = int32(t.s.bell())
		}
	}
	return t
}

// order lists the rows by the mixture, the least first.
func (t *standIn) order(m mixture) []int32 {
	const most = 32 // of a trait, either way
	reach := m.noise * most
	for _, w := range m.weights {
		reach += max(w, -w) * most
	}
	starts := make([]int, 2*reach+2)
	levels := make([]int, t.rows)
	for i := range levels {
		z := reach + m.noise*t.s.bell()
		for k, w := range m.weights {
			z += w * int(t.traits[k][i])
		}
		levels[i] = z
		starts[z+1]++
	}
	for z := range 2*reach + 1 {
		starts[z+1] += starts[z]
	}
	order := make([]int32, t.rows)
	for i, z := range levels {
		order[starts[z]] = int32(i)
		starts[z]++
	}
	return order
}

// categories deals out codes 0, 1 ... as often as counts says, in the rows'
// order; the rows before them, where counts leave some, get -1.
func (t *standIn) categories(counts []int, m mixture) []int32 {
	left := t.rows
	for _, n := range counts {
		left -= n
	}
	codes := make([]int32, t.rows)
	order := t.order(m)
	for _, i := range order[:left] {
		codes[i] = -1
	}
	order = order[left:]
	for code, n := range counts {
		for _, i := range order[:n] {
			codes[i] = int32(code)
		}
		order = order[n:]
	}
	return codes
}

// knot is a point of a column's quantiles: the row of that rank, from 0, has
// the value, in units of the column.
type knot struct{ rank, value int }

// numbers deals out quantiles between the knots, value/unit, in the rows' order.
func (t *standIn) numbers(knots []knot, unit int, m mixture) []float64 {
	x := make([]float64, t.rows)
	k := 0
	for rank, i := range t.order(m) {
		for rank > knots[k+1].rank {
			k++
		}
		a, b := knots[k], knots[k+1]
		x[i] = float64(a.value+(b.value-a.value)*(rank-a.rank)/(b.rank-a.rank)) / float64(unit)
	}
	return x
}

// quantiles are knots at the percentiles 0, 10, 25, 50, 75, 90 and 100.
func (t *standIn) quantiles(values [7]int) []knot {
	var knots []knot
	for k, percent := range [...]int{0, 10, 25, 50, 75, 90, 100} {
		knots = append(knots, knot{(t.rows - 1) * percent / 100, values[k]})
	}
	return knots
}

// labels are +1 for so many rows, -1 for the others.
func (t *standIn) labels(positives int) []int {
	labels := make([]int, t.rows)
	for i, code := range t.categories([]int{t.rows - positives, positives}, labelMixture) {
		labels[i] = 2*int(code) - 1
	}
	return labels
}

// text makes a column of categories.
func (t *standIn) text(name string, values []string, counts []int, m mixture) *column {
	return &column{name: name, values: slices.Clone(values), codes: t.categories(counts, m)}
}

// standInFor describes the stand-in for a set.
func standInFor(d Dataset, table func(opts TableOptions) (*source, error)) Dataset {
	d.Description = "drawn from the seed, shaped like " + d.Name
	d.Name = "synthetic-" + d.Name
	d.Files = nil
	d.table = func(_ string, opts TableOptions) (*source, error) { return table(opts) }
	return d
}
