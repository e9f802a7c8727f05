// Package rates counts the decisions of a model: the rates of all rows and of groups of rows, the
// confusion matrix and the ROC curve. It says what they tell about new rows: intervals of rates and
// of their combinations, thresholds and bounds that hold at a confidence, and the numbers of rows
// that these need. The rows are independent draws, and the decisions on them come from a model that
// does not depend on them.
//
// A level or a confidence is a probability, such as 0.95. A tail is the probability of a wrong
// statement, such as 0.05.
package rates

import (
	"fmt"

	"ppal/internal/vec"
	"ppal/trainer/session/results"
)

// Level is the confidence of the intervals.
const Level = 0.95

// Rows are the labels and the decisions of rows: indices into classes, one for each row.
type Rows struct {
	Labels, Decisions []int
	Weights           []float64 // nil: 1 each
}

// NewTable counts decisions. trained says that the model was trained on the rows. It returns an
// error if the lengths differ or an index is out of range.
func NewTable(r Rows, classes []string, groups []results.Group, trained bool) (*results.RateTable, error) {
	n := len(r.Labels)
	if n != len(r.Decisions) || r.Weights != nil && n != len(r.Weights) {
		return nil, fmt.Errorf("rates: %d labels, %d decisions and %d weights", n, len(r.Decisions), len(r.Weights))
	}
	for i := range n {
		if a, d := r.Labels[i], r.Decisions[i]; min(a, d) < 0 || max(a, d) >= len(classes) {
			return nil, fmt.Errorf("rates: row %d has label %d and decision %d of %d classes", i, a, d, len(classes))
		}
	}
	all := r.confusion(len(classes))
	for i := range n {
		all.add(r, i)
	}
	t := &results.RateTable{Rows: n, Weight: all.weight(), Overall: all.rates(classes, trained), Classes: classes, Confusion: all.weights()}
	for _, g := range groups {
		own := r.confusion(len(classes))
		for _, i := range g.Rows {
			if i < 0 || i >= n {
				return nil, fmt.Errorf("rates: group %s has row %d of %d", g.Name, i, n)
			}
			own.add(r, i)
		}
		t.ByGroup = append(t.ByGroup, results.GroupRates{Group: g.Name, Rows: len(g.Rows), Weight: own.weight(), Rates: own.rates(classes, trained)})
	}
	return t, nil
}

// confusion counts in element [a][d] the rows of class a that the model decides as class d.
type confusion struct {
	cells    [][]count
	weighted bool
}

// count adds up rows.
type count struct {
	rows            int
	weight, squares float64 // the sums of the weights and of their squares
}

// plus returns the sum of the counts.
func (c count) plus(o count) count {
	return count{c.rows + o.rows, c.weight + o.weight, c.squares + o.squares}
}

func (r *Rows) confusion(classes int) confusion {
	c := confusion{make([][]count, classes), r.Weights != nil}
	for a := range c.cells {
		c.cells[a] = make([]count, classes)
	}
	return c
}

// add adds row i.
func (c *confusion) add(r Rows, i int) {
	w := 1.0
	if c.weighted {
		w = r.Weights[i]
	}
	cell := &c.cells[r.Labels[i]][r.Decisions[i]]
	*cell = cell.plus(count{1, w, w * w})
}

// weights returns the weights of the cells.
func (c *confusion) weights() [][]float64 {
	list := make([][]float64, len(c.cells))
	for a, row := range c.cells {
		for _, n := range row {
			list[a] = append(list[a], n.weight)
		}
	}
	return list
}

// weight returns the weight of all rows; 0: the rows have no weights.
func (c *confusion) weight() (sum float64) {
	for _, row := range c.cells {
		for _, n := range row {
			if c.weighted {
				sum += n.weight
			}
		}
	}
	return sum
}

// rates returns the rates of the counted rows.
func (c *confusion) rates(classes []string, trained bool) results.Rates {
	r := results.Rates{}
	set := func(name string, hits, rows count) {
		if rows.rows == 0 {
			return
		}
		rate := results.Rate{Value: hits.weight / rows.weight, Rows: rows.rows}
		if c.weighted {
			rate.Effective = vec.EffectiveRows(rows.rows, rows.weight, rows.squares)
		}
		if !trained {
			i := share(hits.rows, rows.rows, rate.Value, rate.Effective).Interval(Level)
			rate.Interval = &[2]float64{i.Low, i.High}
		}
		r[name] = rate
	}
	var all, right count
	actual, decided := make([]count, len(c.cells)), make([]count, len(c.cells))
	for a, row := range c.cells {
		for d, n := range row {
			all = all.plus(n)
			actual[a] = actual[a].plus(n)
			decided[d] = decided[d].plus(n)
			if a == d {
				right = right.plus(n)
			}
		}
	}
	set(results.ErrorRate, count{all.rows - right.rows, all.weight - right.weight, 0}, all)
	if len(c.cells) == 2 {
		set(results.PositiveRate, decided[1], all)
		set(results.TruePositiveRate, c.cells[1][1], actual[1])
		set(results.FalsePositiveRate, c.cells[0][1], actual[0])
		set(results.Precision, c.cells[1][1], decided[1])
		return r
	}
	for a, class := range classes {
		set(results.RecallOf(class), c.cells[a][a], actual[a])
		set(results.PrecisionOf(class), c.cells[a][a], decided[a])
	}
	return r
}
