package rates

import "ppal/internal/vec"

// Areas computes areas under ROC curves, and keeps its memory from one to the next. The zero value
// is ready for use.
type Areas struct{ byClass }

// AUC returns the area under the ROC curve of the scores: the share of the pairs of a positive and
// a negative row in which the positive row has the higher score. A pair with equal scores counts
// half (Mann and Whitney's U). weights are the weights of the rows, nil: 1 each; a pair has the
// product of the weights of its rows. Positive rows have labels above 0, and no score may be NaN.
// ok is false unless both classes have rows.
func (a *Areas) AUC(scores []float64, labels []int, weights []float64) (area float64, ok bool) {
	a.sort(scores, weights, func(i int) int { return vec.Indicator(labels[i] > 0) })
	classes := &a.classes
	negatives, positives := classes[0].scores, classes[1].scores
	if len(negatives) == 0 || len(positives) == 0 {
		return 0, false
	}
	// below and upTo count the negative rows with a score below, and up to, the score of a positive
	// row. twice is twice the weight of the won pairs.
	below, upTo, twice := 0, 0, 0.0
	for k, s := range positives {
		for below < len(negatives) && negatives[below] < s {
			below++
		}
		for upTo < len(negatives) && negatives[upTo] <= s {
			upTo++
		}
		twice += classes[1].weight(k, k+1) * (classes[0].weight(0, below) + classes[0].weight(0, upTo))
	}
	return twice / 2 / (classes[1].all() * classes[0].all()), true
}
