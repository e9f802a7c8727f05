package verify

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"sort"

	"ppal/internal/rundir"
)

// areaTolerance is the largest change of the area below an ROC curve that leaving out points
// causes. A curve keeps about 400 points.
const areaTolerance = 0.01

// curves compares the ROC curves of details.json with the scores of each split: each point must
// belong to a threshold.
func (c *check) curves() {
	text, r := c.content[c.dir.Details()], c.report
	if text == nil {
		return
	}
	var details rundir.Details
	if err := json.Unmarshal(text, &details); err != nil {
		r.problem("details.json: %v", err)
		return
	}
	n, two := c.output.as(true, nil), c.in.Outputs() == 1
	for k := range c.in.Parts {
		p := &c.in.Parts[k]
		points := details.ROC[p.Name]
		if positives := count(p.Classes, 1); points == nil || !two || positives == 0 || positives == len(p.Classes) {
			if points != nil {
				r.problem("details.json has an ROC curve of the %s rows, whose model or classes give none", p.Name)
			} else if two && positives > 0 && positives < len(p.Classes) {
				r.problem("details.json has no ROC curve of the %s rows", p.Name)
			}
			continue
		}
		scores := n.scores(p.Features)
		e := scoreError(c.summary.Products) * largest(scores)
		if wrong := wrongPoint(points, scores, p.Classes, e); wrong >= 0 {
			r.problem("details.json: no threshold gives point %d of the ROC curve of the %s rows, %v", wrong, p.Name, points[wrong])
		}
		least, most := areas(scores, p.Classes, 2*e)
		r.compare(sectionDecisions, "area below the ROC curve of the "+string(p.Name)+" rows", area(points),
			number{(least + most) / 2, areaTolerance + (most-least)/2, true})
	}
}

// count returns how often x is in the list.
func count(list []int, x int) (n int) {
	for _, y := range list {
		if y == x {
			n++
		}
	}
	return n
}

// staircase returns the shares of the rows of class 0 and of class 1 among the rows with the
// largest scores, for 0, 1, 2, ... rows.
func staircase(scores []float64, classes []int) [][2]float64 {
	order := falling(scores)
	sizes := [2]float64{float64(count(classes, 0)), float64(count(classes, 1))}
	points := make([][2]float64, 1, len(order)+1)
	var counts [2]float64
	for _, i := range order {
		counts[classes[i]]++
		points = append(points, [2]float64{counts[0] / sizes[0], counts[1] / sizes[1]})
	}
	return points
}

// falling returns the indices of the scores, the largest score first.
func falling(scores []float64) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order
}

// wrongPoint returns the index of the first point of a curve that no threshold gives, or -1. Rows
// whose scores are within e of the threshold may be on either side.
func wrongPoint(curve [][2]float64, scores []float64, classes []int, e float64) int {
	order, own := falling(scores), staircase(scores, classes)
	rows := [2]float64{float64(count(classes, 0)), float64(count(classes, 1))}
	for at, p := range curve {
		var counts [2]float64
		for side := range counts {
			counts[side] = math.Round(p[side] * rows[side])
			if !(math.Abs(counts[side]-p[side]*rows[side]) <= 1e-6) {
				return at
			}
		}
		k := int(counts[0] + counts[1])
		if k < 0 || k > len(order) || at == 0 && k != 0 || at == len(curve)-1 && k != len(order) {
			return at
		}
		unsure := 0.0 // rows near the threshold
		for _, edge := range []int{k - 1, k} {
			if edge < 0 || edge >= len(order) {
				continue
			}
			at := scores[order[edge]]
			from := sort.Search(len(order), func(i int) bool { return scores[order[i]] <= at+e })
			to := sort.Search(len(order), func(i int) bool { return scores[order[i]] < at-e })
			unsure += float64(to - from - 1) // without the row itself
		}
		if math.Abs(own[k][0]*rows[0]-counts[0]) > unsure+1e-6 {
			return at
		}
	}
	return -1
}

// areas returns the least and the largest area below the ROC curve of scores whose differences have
// errors of at most e: the share of the pairs of a row of class 1 and a row of class 0 in which the
// row of class 1 has the larger score, without and with the pairs that e may turn. Equal scores are
// such pairs.
func areas(scores []float64, classes []int, e float64) (least, most float64) {
	var zeros []float64
	for i, class := range classes {
		if class == 0 {
			zeros = append(zeros, scores[i])
		}
	}
	slices.Sort(zeros)
	for i, class := range classes {
		if class == 1 {
			least += float64(sort.SearchFloat64s(zeros, scores[i]-e))
			most += float64(sort.Search(len(zeros), func(k int) bool { return zeros[k] > scores[i]+e }))
		}
	}
	pairs := float64(len(zeros) * (len(classes) - len(zeros)))
	return least / pairs, most / pairs
}

// area returns the area below a curve whose points are joined by lines.
func area(curve [][2]float64) (sum float64) {
	for k := 1; k < len(curve); k++ {
		sum += (curve[k][0] - curve[k-1][0]) * (curve[k][1] + curve[k-1][1]) / 2
	}
	return sum
}
