package rates

import "ppal/internal/radix"

// Point is a point of an ROC curve: the false and true positive rate of a threshold. The rows with
// larger scores than the threshold are accepted.
type Point struct{ FPR, TPR float64 }

// ROC returns the ROC curve of the scores, from (0, 0) to (1, 1). The curve has one point for each
// different score, or about most evenly spread points if the scores have more than most different
// values. positive says which rows are of the positive class. ROC returns nil unless both classes
// have rows.
func ROC(scores []float64, positive []bool, most int) []Point {
	positives := 0
	for _, p := range positive {
		if p {
			positives++
		}
	}
	negatives := len(scores) - positives
	if positives == 0 || negatives == 0 {
		return nil
	}
	var sorter radix.Sorter
	order := sorter.Order(len(scores), func(i int) float64 { return -scores[i] })
	curve := []Point{{}}
	tp, fp := 0, 0
	for k, i := range order {
		if positive[i] {
			tp++
		} else {
			fp++
		}
		if k+1 == len(order) || scores[order[k+1]] != scores[i] { // rows with equal scores are accepted together
			curve = append(curve, Point{float64(fp) / float64(negatives), float64(tp) / float64(positives)})
		}
	}
	return thin(curve, most)
}

// thin keeps the first and the last point, and about most points with even spacing along the curve.
func thin(curve []Point, most int) []Point {
	if len(curve) <= most {
		return curve
	}
	step := 2 / float64(most) // FPR + TPR grows from 0 to 2
	kept := curve[:1]
	for _, p := range curve[1 : len(curve)-1] {
		if last := kept[len(kept)-1]; p.FPR+p.TPR-last.FPR-last.TPR >= step {
			kept = append(kept, p)
		}
	}
	return append(kept, curve[len(curve)-1])
}
