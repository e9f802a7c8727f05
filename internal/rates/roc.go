package rates

import (
	"iter"
	"slices"

	"ppal/internal/vec"
	"ppal/trainer/session/results"
)

// ROC returns the ROC curve of the scores, from (0, 0) to (1, 1). The curve has one point for each
// different score, or about most evenly spread points if the scores have more than most different
// values. positive says which rows are of the positive class. ROC returns nil unless both classes
// have rows.
func ROC(scores []float64, positive []bool, most int) []results.ROCPoint {
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
	classes := [2][]float64{make([]float64, 0, negatives), make([]float64, 0, positives)}
	for i, s := range scores {
		if positive[i] {
			classes[1] = append(classes[1], s)
		} else {
			classes[0] = append(classes[0], s)
		}
	}
	var sorter vec.Sorter
	sorter.Sort(classes[0])
	sorter.Sort(classes[1])
	n := 1
	for range points(classes) {
		n++
	}
	curve := []results.ROCPoint{{}}
	if n <= most {
		return slices.AppendSeq(curve, points(classes))
	}
	return thin(curve, points(classes), most)
}

// points yields the points of the curve after (0, 0). of holds the sorted scores of the negative
// and the positive rows.
func points(classes [2][]float64) iter.Seq[results.ROCPoint] {
	return func(yield func(results.ROCPoint) bool) {
		rest := classes
		for len(rest[0])+len(rest[1]) > 0 {
			from := 0 // the class of the largest score
			if len(rest[0]) == 0 || len(rest[1]) > 0 && last(rest[1]) > last(rest[0]) {
				from = 1
			}
			score := last(rest[from])
			rest[from] = rest[from][:len(rest[from])-1]
			for k := range rest { // rows with equal scores are accepted together
				for len(rest[k]) > 0 && last(rest[k]) == score {
					rest[k] = rest[k][:len(rest[k])-1]
				}
			}
			accepted := func(k int) float64 { return float64(len(classes[k])-len(rest[k])) / float64(len(classes[k])) }
			if !yield(results.ROCPoint{FPR: accepted(0), TPR: accepted(1)}) {
				return
			}
		}
	}
}

func last(x []float64) float64 { return x[len(x)-1] }

// thin appends points to the curve of one point: about most points with even spacing, and the end.
func thin(curve []results.ROCPoint, points iter.Seq[results.ROCPoint], most int) []results.ROCPoint {
	step := 2 / float64(most) // FPR + TPR grows from 0 to 2
	var end results.ROCPoint
	for p := range points {
		if last := curve[len(curve)-1]; p.FPR+p.TPR-last.FPR-last.TPR >= step {
			curve = append(curve, p)
		}
		end = p
	}
	if curve[len(curve)-1] != end {
		curve = append(curve, end)
	}
	return curve
}
