package constraints

import (
	"cmp"
	"slices"
)

// areaUnderCurve is the area under the ROC curve of the scores: the share of
// the pairs of a positive and a negative row in which the positive one scores
// higher, equal scores counting half (Mann and Whitney's U). Labels are -1 or
// +1, both present; no score is NaN.
func areaUnderCurve(scores []float64, labels []int) float64 {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(scores[i], scores[j]) })
	var below, positives, twice int // negatives below, positives, twice the pairs won
	for lo := 0; lo < len(order); {
		hi, up, down := lo, 0, 0 // the run of equal scores
		for ; hi < len(order) && scores[order[hi]] == scores[order[lo]]; hi++ {
			if labels[order[hi]] > 0 {
				up++
			} else {
				down++
			}
		}
		twice += up * (2*below + down)
		below, positives, lo = below+down, positives+up, hi
	}
	return float64(twice) / 2 / (float64(positives) * float64(below))
}
