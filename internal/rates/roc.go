package rates

import (
	"iter"
	"slices"

	"ppal/internal/vec"
	"ppal/trainer/session/results"
)

// ROC returns the ROC curve of the scores, from (0, 0) to (1, 1). The curve has one point for each
// different score, or about most evenly spread points if the scores have more than most different
// values. positive says which rows are of the positive class. weights are the weights of the rows;
// nil: 1 each. ROC returns nil unless both classes have rows.
func ROC(scores []float64, positive []bool, weights []float64, most int) []results.ROCPoint {
	var c byClass
	c.sort(scores, weights, func(i int) int { return vec.Indicator(positive[i]) })
	if len(c.classes[0].scores) == 0 || len(c.classes[1].scores) == 0 {
		return nil
	}
	n := 1
	for range points(c.classes) {
		n++
	}
	curve := []results.ROCPoint{{}}
	if n <= most {
		return slices.AppendSeq(curve, points(c.classes))
	}
	return thin(curve, points(c.classes), most)
}

// ordered are the sorted scores of the rows of a class.
type ordered struct {
	scores []float64
	below  []float64 // below[k] is the weight of the first k rows; nil: the rows have no weights
}

// byClass holds the sorted scores of the negative and the positive rows.
type byClass struct {
	classes [2]ordered
	sorter  vec.Sorter
}

// sort sorts the scores. of returns 0 for a negative row and 1 for a positive row.
func (b *byClass) sort(scores, weights []float64, class func(i int) int) {
	var sizes [2]int // counted first: a slice that grows takes several times the memory
	for i := range scores {
		sizes[class(i)]++
	}
	classes := &b.classes
	var rows [2][]int
	for k, n := range sizes {
		classes[k].scores = slices.Grow(classes[k].scores[:0], n)
		if classes[k].below = nil; weights != nil {
			classes[k].below, rows[k] = make([]float64, n+1), make([]int, 0, n)
		}
	}
	for i, s := range scores {
		k := class(i)
		if classes[k].scores = append(classes[k].scores, s); weights != nil {
			rows[k] = append(rows[k], i)
		}
	}
	for k := range classes {
		c := &classes[k]
		if weights == nil {
			b.sorter.Sort(c.scores)
			continue
		}
		for at, place := range b.sorter.Order(len(rows[k]), func(at int) float64 { return scores[rows[k][at]] }) {
			i := rows[k][place]
			c.scores[at], c.below[at+1] = scores[i], c.below[at]+weights[i]
		}
	}
}

// weight returns the weight of the rows from, from + 1, ..., to - 1.
func (o *ordered) weight(from, to int) float64 {
	if o.below == nil {
		return float64(to - from)
	}
	return o.below[to] - o.below[from]
}

// all returns the weight of all rows.
func (o *ordered) all() float64 { return o.weight(0, len(o.scores)) }

// points yields the points of the curve after (0, 0). classes has the negative and the positive
// rows.
func points(classes [2]ordered) iter.Seq[results.ROCPoint] {
	return func(yield func(results.ROCPoint) bool) {
		rest := [2][]float64{classes[0].scores, classes[1].scores}
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
			accepted := func(k int) float64 {
				return classes[k].weight(len(rest[k]), len(classes[k].scores)) / classes[k].all()
			}
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
