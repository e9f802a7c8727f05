package results

import (
	"cmp"
	"math"
	"slices"

	"ppal/constraints"
)

// Rate is a share of rows.
type Rate struct {
	Value float64 `json:"value"` // from 0 to 1
	// Interval is the Clopper-Pearson interval of the share at confidence 0.95, with weights for
	// Kish's effective number of rows. It is nil on training rows, because these rows do not tell the
	// rate on new rows.
	Interval *[2]float64 `json:"interval,omitempty"`
	Rows     int         `json:"rows"` // the number of rows that the rate counts, above 0
	// Effective is Kish's effective number of these rows; 0: the rows have no weights.
	Effective float64 `json:"effective_rows,omitempty"`
}

// Rates maps names to rates. It omits a rate without rows, such as the true positive rate of a
// group without positive rows.
type Rates map[string]Rate

// The names of the rates. With two classes, the last class is the positive class and all rates
// exist. With more classes, only ErrorRate exists, and the names of RecallOf and PrecisionOf for
// each class.
const (
	PositiveRate      = "positive_rate"
	TruePositiveRate  = "tpr"
	FalsePositiveRate = "fpr"
	Precision         = "precision"
	ErrorRate         = "error"
)

// RecallOf names the share of the class's rows that the model decides as the class.
func RecallOf(class string) string { return "recall[" + class + "]" }

// PrecisionOf names the share of the class's rows among the rows that the model decides as the
// class.
func PrecisionOf(class string) string { return "precision[" + class + "]" }

// RateTable holds the rates of decisions on the rows of one split or file.
type RateTable struct {
	Rows int `json:"rows"` // the number of rows
	// Weight is the weight of all rows, whose rates and Confusion then count weights; 0: the rows have
	// no weights.
	Weight  float64 `json:"weight,omitempty"`
	Overall Rates   `json:"overall"` // of all rows
	// ByGroup has the rates of each group; nil without groups.
	ByGroup []GroupRates `json:"by_group,omitempty"`
	// Classes names the C rows and columns of Confusion, in the order of the scores.
	Classes []string `json:"classes"`
	// Confusion counts rows, or adds up their weights, C x C: Confusion[a][d] rows of class a are
	// decided as class d.
	Confusion [][]float64 `json:"confusion"`
}

// A class is given up if the rows that are decided as the class are fewer than fewRows or than the
// share fewShare of all rows, and fewer than the share givenUpRows of the rows of the class.
const (
	fewRows     = 10
	fewShare    = 0.01
	givenUpRows = 0.1
)

// Decides returns the class as which nearly all rows are decided, and the number of the other rows.
// All other classes with rows are given up. Decides returns "" if the decisions differ, or if only
// one class has rows.
func (t *RateTable) Decides() (class string, others int) {
	actual, decided, sum := make([]float64, len(t.Classes)), make([]float64, len(t.Classes)), 0.0
	for a, row := range t.Confusion {
		for d, n := range row {
			actual[a], decided[d], sum = actual[a]+n, decided[d]+n, sum+n
		}
	}
	rows := float64(t.Rows) / sum // rows for each unit of weight
	most := slices.Index(decided, slices.Max(decided))
	givenUp := false
	for k, n := range decided {
		if k == most || actual[k] == 0 && n == 0 {
			continue
		}
		if n >= max(fewRows/rows, fewShare*sum) || n > 0 && n >= givenUpRows*actual[k] {
			return "", 0
		}
		givenUp = true
	}
	if !givenUp {
		return "", 0
	}
	return t.Classes[most], int(math.Round((sum - decided[most]) * rows))
}

// GroupRates holds the rates of the rows of a group.
type GroupRates struct {
	Group string `json:"group"` // the name: "sex=Female"
	Rows  int    `json:"rows"`  // the number of rows
	// Weight is the weight of the rows; 0: the rows have no weights.
	Weight float64 `json:"weight,omitempty"`
	Rates  Rates   `json:"rates"`
	// Extremes says, by the name of the rate, where the group is the largest or the smallest of the
	// groups of a bound; nil: nowhere.
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
func (t *RateTable) MarkExtremes(bounds []constraints.BoundGroups) {
	for _, b := range bounds {
		low, high := math.Inf(1), math.Inf(-1)
		var groups []*GroupRates
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
	Rows []int // indices of rows of a split, from 0
}

// Shown returns the indices of at most so many groups to show, in order: all, or first the groups
// with marked extremes and then those with the most rows.
func (t *RateTable) Shown(most int) []int {
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
func (t *RateTable) Order() []string {
	names := []string{PositiveRate, TruePositiveRate, FalsePositiveRate, Precision, ErrorRate}
	if len(t.Classes) != 2 {
		names = []string{ErrorRate}
		for _, c := range t.Classes {
			names = append(names, RecallOf(c))
		}
		for _, c := range t.Classes {
			names = append(names, PrecisionOf(c))
		}
	}
	return names
}

// ROCPoint is a point of an ROC curve: the false and true positive rate of a threshold. The rows
// with larger scores than the threshold are accepted.
type ROCPoint struct{ FPR, TPR float64 }

// Comparison compares a rate between the groups of an attribute, or between the intersections of
// several.
type Comparison struct {
	Groups string `json:"groups"` // the attributes: sex, or sex*race
	Rate   string `json:"rate"`
	// Largest and Smallest are the groups with the largest and the smallest rate.
	Largest  string `json:"largest"`
	Smallest string `json:"smallest"`
	// Difference is the largest minus the smallest rate, and Ratio the smallest over the largest; nil
	// if all rates are 0.
	Difference Compared  `json:"difference"`
	Ratio      *Compared `json:"ratio"`
}

// Compared is a difference or a ratio of rates, with its 95% interval on new rows.
type Compared struct {
	Value    float64    `json:"value"`
	Interval [2]float64 `json:"interval"`
}
