package rates

import "ppal/internal/vec"

// AUC returns the area under the ROC curve of the scores: the share of the pairs of a positive and
// a negative row in which the positive row has the higher score. A pair with equal scores counts
// half (Mann and Whitney's U). Positive rows have labels above 0, and no score may be NaN. ok is
// false unless both classes have rows.
func AUC(scores []float64, labels []int) (area float64, ok bool) {
	count := 0
	for _, y := range labels {
		if y > 0 {
			count++
		}
	}
	if count == 0 || count == len(labels) {
		return 0, false
	}
	positives, negatives := make([]float64, 0, count), make([]float64, 0, len(labels)-count)
	for i, y := range labels {
		if y > 0 {
			positives = append(positives, scores[i])
		} else {
			negatives = append(negatives, scores[i])
		}
	}
	var sorter vec.Sorter
	sorter.Sort(positives)
	sorter.Sort(negatives)
	// below and upTo count the negative rows with a score below, and up to, the score of a positive
	// row. twice is twice the number of won pairs.
	var below, upTo, twice int
	for _, s := range positives {
		for below < len(negatives) && negatives[below] < s {
			below++
		}
		for upTo < len(negatives) && negatives[upTo] <= s {
			upTo++
		}
		twice += below + upTo
	}
	return float64(twice) / 2 / (float64(len(positives)) * float64(len(negatives))), true
}
