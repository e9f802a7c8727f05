package measure

import (
	"ppal/internal/rates"
	"ppal/trainer/session/results"
)

// mostROCPoints is the approximate maximum number of points of an ROC curve.
const mostROCPoints = 400

// Decided holds the decisions of a model on the rows of a split.
type Decided struct {
	Split     results.Split
	Classes   []string  // names
	Labels    []int     // the class of each row
	Decisions []int     // the decided class of each row
	Scores    []float64 // row by row
	Weights   []float64 // of the rows; nil: 1 each
}

// Decide decides the class of each row. With a single score and two classes, a score above 0
// decides the second class. With a score for each class, the largest score decides the class.
// Decide returns nil for other numbers of scores.
func Decide(split results.Split, classes []string, labels []int, scores []float64) *Decided {
	n, list := len(labels), make([]int, len(labels))
	switch len(scores) {
	case n:
		if len(classes) != 2 {
			return nil
		}
		for i, s := range scores {
			if s > 0 {
				list[i] = 1
			}
		}
	case n * len(classes):
		for i := range list {
			own := scores[i*len(classes) : (i+1)*len(classes)]
			for k, s := range own {
				if s > own[list[i]] {
					list[i] = k
				}
			}
		}
	default:
		return nil
	}
	return &Decided{Split: split, Classes: classes, Labels: labels, Decisions: list, Scores: scores}
}

// Rates counts the rates of all rows and of the groups. The rates of training rows have no
// intervals.
func (d *Decided) Rates(groups []results.Group) (*results.RateTable, error) {
	return rates.NewTable(rates.Rows{Labels: d.Labels, Decisions: d.Decisions, Weights: d.Weights}, d.Classes, groups, d.Split == results.Training)
}

// ROC returns the curve of the rates over all thresholds of a single score, else nil.
func (d *Decided) ROC() []results.ROCPoint {
	if len(d.Scores) != len(d.Labels) {
		return nil
	}
	positive := make([]bool, len(d.Labels))
	for i, k := range d.Labels {
		positive[i] = k == 1
	}
	return rates.ROC(d.Scores, positive, d.Weights, mostROCPoints)
}
