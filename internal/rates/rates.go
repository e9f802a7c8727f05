// Package rates counts the decisions of a model: the rates of all rows and of groups of rows, with
// intervals, the confusion matrix, and the ROC curve.
package rates

import (
	"fmt"

	"ppal/internal/statistics"
	"ppal/trainer/session/results"
)

// Level is the confidence of the intervals.
const Level = 0.95

// Count counts decisions. labels and decisions are indices into classes, one for each row. trained
// says that the model was trained on the rows. Count returns an error if the lengths differ or an
// index is out of range.
func Count(labels, decisions []int, classes []string, groups []results.Group, trained bool) (*results.RateTable, error) {
	if len(labels) != len(decisions) {
		return nil, fmt.Errorf("rates: %d labels and %d decisions", len(labels), len(decisions))
	}
	for i := range labels {
		if a, d := labels[i], decisions[i]; min(a, d) < 0 || max(a, d) >= len(classes) {
			return nil, fmt.Errorf("rates: row %d has label %d and decision %d of %d classes", i, a, d, len(classes))
		}
	}
	all := newConfusion(len(classes))
	for i := range labels {
		all[labels[i]][decisions[i]]++
	}
	t := &results.RateTable{Rows: len(labels), Overall: all.rates(classes, trained), Classes: classes, Confusion: all}
	for _, g := range groups {
		own := newConfusion(len(classes))
		for _, i := range g.Rows {
			if i < 0 || i >= len(labels) {
				return nil, fmt.Errorf("rates: group %s has row %d of %d", g.Name, i, len(labels))
			}
			own[labels[i]][decisions[i]]++
		}
		t.ByGroup = append(t.ByGroup, results.GroupRates{Group: g.Name, Rows: len(g.Rows), Rates: own.rates(classes, trained)})
	}
	return t, nil
}

// confusion counts in element [a][d] the rows of class a that the model decides as class d.
type confusion [][]int

func newConfusion(classes int) confusion {
	c := make(confusion, classes)
	for a := range c {
		c[a] = make([]int, classes)
	}
	return c
}

// rates returns the rates of the counted rows.
func (c confusion) rates(classes []string, trained bool) results.Rates {
	r := results.Rates{}
	set := func(name string, hits, rows int) {
		if rows == 0 {
			return
		}
		rate := results.Rate{Value: float64(hits) / float64(rows), Rows: rows}
		if !trained {
			i := statistics.ClopperPearson(hits, rows, Level)
			rate.Interval = &[2]float64{i.Low, i.High}
		}
		r[name] = rate
	}
	all, right := 0, 0
	actual, decided := make([]int, len(c)), make([]int, len(c))
	for a, row := range c {
		for d, n := range row {
			all += n
			actual[a] += n
			decided[d] += n
		}
		right += row[a]
	}
	set(results.ErrorRate, all-right, all)
	if len(c) == 2 {
		set(results.PositiveRate, decided[1], all)
		set(results.TruePositiveRate, c[1][1], actual[1])
		set(results.FalsePositiveRate, c[0][1], actual[0])
		set(results.Precision, c[1][1], decided[1])
		return r
	}
	for a, class := range classes {
		set(results.RecallOf(class), c[a][a], actual[a])
		set(results.PrecisionOf(class), c[a][a], decided[a])
	}
	return r
}
