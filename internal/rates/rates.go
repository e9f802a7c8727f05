// Package rates counts the decisions of a model: the rates of all rows and of groups of rows, with
// intervals, the confusion matrix, and the ROC curve.
package rates

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"ppal/constraints"
	"ppal/internal/statistics"
)

// Level is the confidence of the intervals.
const Level = 0.95

// Rate is a share of rows, with the total number of rows.
type Rate struct {
	Value float64 `json:"value"`
	// Interval is the Clopper-Pearson interval of the share at confidence Level. It is nil on
	// training rows, because these rows do not tell the rate on new rows.
	Interval *[2]float64 `json:"interval,omitempty"`
	Rows     int         `json:"rows"`
}

// Count returns the rate as a number of hits among rows.
func (r Rate) Count() statistics.Count {
	return statistics.Count{Hits: int(math.Round(r.Value * float64(r.Rows))), Rows: r.Rows}
}

// Rates maps names to rates. It omits a rate without rows, such as the true positive rate of a
// group without positive rows.
type Rates map[string]Rate

// The names of the rates. With two classes, the last class is the positive class and all rates
// exist. With more classes, only Error exists, and the names of RecallOf and PrecisionOf for each
// class.
const (
	PositiveRate      = "positive_rate"
	TruePositiveRate  = "tpr"
	FalsePositiveRate = "fpr"
	Precision         = "precision"
	Error             = "error"
)

// RecallOf names the share of the class's rows that the model decides as the class.
func RecallOf(class string) string { return "recall[" + class + "]" }

// PrecisionOf names the share of the class's rows among the rows that the model decides as the
// class.
func PrecisionOf(class string) string { return "precision[" + class + "]" }

// Table holds the rates of the rows of one split or file.
type Table struct {
	Rows    int       `json:"rows"`
	Overall Rates     `json:"overall"`
	ByGroup []ByGroup `json:"by_group,omitempty"`
	// Classes names the rows and columns of Confusion.
	Classes []string `json:"classes"`
	// Confusion counts rows: Confusion[a][d] rows of class a are decided as class d.
	Confusion [][]int `json:"confusion"`
}

// ByGroup holds the rates of the rows of a group.
type ByGroup struct {
	Group string `json:"group"`
	Rows  int    `json:"rows"`
	Rates Rates  `json:"rates"`
	// Extremes says for which rates the group is the largest or the smallest of the groups of a
	// bound.
	Extremes map[string]Extreme `json:"extremes,omitempty"`
}

// Extreme is the place of a group's rate among the groups of a bound.
type Extreme string

// The places.
const (
	Largest  Extreme = "largest"
	Smallest Extreme = "smallest"
)

// MarkExtremes marks the groups of each bound with the largest and with the smallest rate. Groups
// with equal rates are marked together; if all groups have equal rates, none is marked.
func (t *Table) MarkExtremes(bounds []constraints.BoundGroups) {
	for _, b := range bounds {
		low, high := math.Inf(1), math.Inf(-1)
		var groups []*ByGroup
		for k := range t.ByGroup {
			g := &t.ByGroup[k]
			if r, ok := g.Rates[b.Rate]; ok && slices.Contains(b.Groups, g.Group) {
				groups = append(groups, g)
				low, high = min(low, r.Value), max(high, r.Value)
			}
		}
		if low >= high {
			continue
		}
		for _, g := range groups {
			extreme := Largest
			switch g.Rates[b.Rate].Value {
			case high:
			case low:
				extreme = Smallest
			default:
				continue
			}
			if g.Extremes == nil {
				g.Extremes = map[string]Extreme{}
			}
			g.Extremes[b.Rate] = extreme
		}
	}
}

// Group is a named set of rows.
type Group struct {
	Name string
	Rows []int // indices
}

// Count counts decisions. labels and decisions are indices into classes, one for each row. trained
// says that the model was trained on the rows. Count returns an error if the lengths differ or an
// index is out of range.
func Count(labels, decisions []int, classes []string, groups []Group, trained bool) (*Table, error) {
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
	t := &Table{Rows: len(labels), Overall: all.rates(classes, trained), Classes: classes, Confusion: all}
	for _, g := range groups {
		own := newConfusion(len(classes))
		for _, i := range g.Rows {
			if i < 0 || i >= len(labels) {
				return nil, fmt.Errorf("rates: group %s has row %d of %d", g.Name, i, len(labels))
			}
			own[labels[i]][decisions[i]]++
		}
		t.ByGroup = append(t.ByGroup, ByGroup{Group: g.Name, Rows: len(g.Rows), Rates: own.rates(classes, trained)})
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
func (c confusion) rates(classes []string, trained bool) Rates {
	r := Rates{}
	set := func(name string, hits, rows int) {
		if rows == 0 {
			return
		}
		rate := Rate{Value: float64(hits) / float64(rows), Rows: rows}
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
	set(Error, all-right, all)
	if len(c) == 2 {
		set(PositiveRate, decided[1], all)
		set(TruePositiveRate, c[1][1], actual[1])
		set(FalsePositiveRate, c[0][1], actual[0])
		set(Precision, c[1][1], decided[1])
		return r
	}
	for a, class := range classes {
		set(RecallOf(class), c[a][a], actual[a])
		set(PrecisionOf(class), c[a][a], decided[a])
	}
	return r
}

// Shown returns the indices of at most so many groups to show, in order: all, or first the groups
// with marked extremes and then those with the most rows.
func (t *Table) Shown(most int) []int {
	all := make([]int, len(t.ByGroup))
	for k := range all {
		all[k] = k
	}
	if len(all) > most {
		slices.SortStableFunc(all, func(a, b int) int {
			x, y := &t.ByGroup[a], &t.ByGroup[b]
			if marked := (x.Extremes != nil); marked != (y.Extremes != nil) {
				if marked {
					return -1
				}
				return 1
			}
			return cmp.Compare(y.Rows, x.Rows)
		})
		all = all[:most]
		slices.Sort(all)
	}
	return all
}

// Order lists the names of the table's rates in display order.
func (t *Table) Order() []string {
	names := []string{PositiveRate, TruePositiveRate, FalsePositiveRate, Precision, Error}
	if len(t.Classes) != 2 {
		names = []string{Error}
		for _, c := range t.Classes {
			names = append(names, RecallOf(c))
		}
		for _, c := range t.Classes {
			names = append(names, PrecisionOf(c))
		}
	}
	return names
}
