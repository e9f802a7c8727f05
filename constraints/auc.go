package constraints

import "ppal/internal/radix"

// areaUnderCurve returns the area under the ROC curve of the scores: the share of the pairs of a
// positive and a negative row in which the positive row has the higher score. A pair with equal
// scores counts half (Mann and Whitney's U). Labels are -1 or +1, both must be present, and no
// score may be NaN.
func areaUnderCurve(scores []float64, labels []int) float64 {
	count := 0
	for _, y := range labels {
		if y > 0 {
			count++
		}
	}
	positives, negatives := make([]float64, 0, count), make([]float64, 0, len(labels)-count)
	for i, y := range labels {
		if y > 0 {
			positives = append(positives, scores[i])
		} else {
			negatives = append(negatives, scores[i])
		}
	}
	var sorter radix.Sorter
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
	return float64(twice) / 2 / (float64(len(positives)) * float64(len(negatives)))
}
