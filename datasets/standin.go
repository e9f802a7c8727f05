package datasets

import (
	"context"
	"slices"

	"ppal/datasets/tabular"
	"ppal/internal/columnar"
	"ppal/internal/loader"
	"ppal/internal/vec"
)

// standIn draws a synthetic table with the shape of a published table. The synthetic table has the
// same number of rows, the same columns with about the same distributions, exactly the same number
// of rows in each class and category, and a relation that a model can learn. It needs no files.
//
// Every row has a few traits, which are about normally distributed. A column, and also the label,
// is a mixture of traits and noise: the rows are sorted by the mixture, and the quantiles of the
// published column are assigned in this order. The mixtures are the same for every seed, so two
// seeds give two samples of the same population. All steps are integer arithmetic on a PCG stream,
// so a seed gives the same rows on every machine.
type standIn struct {
	rows   int
	s      vec.Stream
	traits [standInTraits][]int32
}

const (
	standInTraits = 4
	// separates the random streams of stand-ins from other streams with the same seed
	standInStream = 0x7461626c65
)

// mixture describes how a column depends on the traits.
type mixture struct {
	weights [standInTraits]int
	noise   int
}

// labelMixture is the mixture of the label; a third of its variance is noise.
var labelMixture = mixture{[...]int{4, 3, -3, 2}, 4}

// mixtureOf returns the mixture of column j. About half of its variance is noise.
func mixtureOf(j int) mixture {
	s := vec.NewStream(uint64(j), standInStream)
	var m mixture
	for k := range m.weights {
		m.weights[k] = s.Within(3)
	}
	m.noise = 4
	return m
}

func newStandIn(rows int, seed uint64) *standIn {
	t := &standIn{rows: rows, s: vec.NewStream(seed, standInStream)}
	for k := range t.traits {
		t.traits[k] = make([]int32, rows)
		for i := range t.traits[k] {
			t.traits[k][i] = int32(t.s.Bell())
		}
	}
	return t
}

// order returns the rows sorted by the mixture in increasing order.
func (t *standIn) order(m mixture) []int32 {
	const most = 32 // largest size of a trait
	reach := m.noise * most
	for _, w := range m.weights {
		reach += max(w, -w) * most
	}
	starts := make([]int, 2*reach+2)
	levels := make([]int, t.rows)
	for i := range levels {
		z := reach + m.noise*t.s.Bell()
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

// categories assigns code k to counts[k] rows, in the order of the mixture. If the counts add up to
// fewer than all rows, the first rows in this order get -1.
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

// knot is a point of a column's quantiles: the row of the given rank, from 0, has the given value,
// in the column's unit.
type knot struct{ rank, value int }

// numbers assigns numbers to the rows in the order of the mixture. The numbers are quantiles,
// interpolated between the knots and divided by unit.
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

// quantiles returns knots at the percentiles 0, 10, 25, 50, 75, 90 and 100.
func (t *standIn) quantiles(values [7]int) []knot {
	var knots []knot
	for k, percent := range [...]int{0, 10, 25, 50, 75, 90, 100} {
		knots = append(knots, knot{(t.rows - 1) * percent / 100, values[k]})
	}
	return knots
}

// labels returns +1 for the given number of rows and -1 for the other rows.
func (t *standIn) labels(positives int) []int {
	labels := make([]int, t.rows)
	for i, code := range t.categories([]int{t.rows - positives, positives}, labelMixture) {
		labels[i] = 2*int(code) - 1
	}
	return labels
}

// Text makes a categorical column.
func (t *standIn) Text(name string, values []string, counts []int, m mixture) *columnar.Column {
	return &columnar.Column{Name: name, Values: slices.Clone(values), Codes: t.categories(counts, m)}
}

// standInFor returns the description of a data set's stand-in.
func standInFor(d Dataset, table func(opts tabular.TableOptions) (*loader.Source, error)) Dataset {
	d.Description = "generated from the seed, with the shape of " + d.Name
	d.Name = "synthetic-" + d.Name
	d.Files = nil
	d.table = func(_ context.Context, _ string, opts tabular.TableOptions) (*loader.Source, error) {
		return table(opts)
	}
	return d
}
