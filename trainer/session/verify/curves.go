package verify

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"sort"

	"ppal/constraints"
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
		if wrong := wrongPoint(points, scores, p.Population, e); wrong >= 0 {
			r.problem("details.json: no threshold gives point %d of the ROC curve of the %s rows, %v", wrong, p.Name, points[wrong])
		}
		least, most := areas(scores, p.Population, 2*e)
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

// staircase returns the weights of the rows of class 0 and of class 1 among the rows with the
// largest scores, for 0, 1, 2, ... rows of the order.
func staircase(order []int, p *constraints.Population) [][2]float64 {
	points := make([][2]float64, 1, len(order)+1)
	var sums [2]float64
	for _, i := range order {
		sums[p.Labels[i]] += weightOf(p, i)
		points = append(points, sums)
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
func wrongPoint(curve [][2]float64, scores []float64, p *constraints.Population, e float64) int {
	order := falling(scores)
	own := staircase(order, p)
	all, last := own[len(order)], len(order)
	tolerance := 1e-6 / float64(len(order)) * (all[0] + all[1]) // of a sum of weights
	for at, point := range curve {
		sums := [2]float64{point[0] * all[0], point[1] * all[1]}
		// the last place with at most the weight of the point: thresholds lie there, or near it if rows
		// may have changed places
		k := sort.Search(last+1, func(i int) bool { return own[i][0]+own[i][1] > sums[0]+sums[1]+tolerance }) - 1
		if !(k >= 0) || at == 0 && k != 0 || at == len(curve)-1 && k != last {
			return at
		}
		unsure, among := 0.0, [2]int{k, k} // the weight of the rows near the threshold, and their places
		for _, edge := range []int{k - 1, k} {
			if edge < 0 || edge >= last {
				continue
			}
			at := scores[order[edge]]
			from := sort.Search(last, func(i int) bool { return scores[order[i]] <= at+e })
			to := sort.Search(last, func(i int) bool { return scores[order[i]] < at-e })
			if to-from > 1 { // others than the row itself
				among = [2]int{min(among[0], from), max(among[1], to)}
			}
		}
		low, high := own[among[0]], own[among[1]]
		unsure = high[0] + high[1] - low[0] - low[1]
		for side := range sums {
			if !(math.Abs(own[k][side]-sums[side]) <= unsure+tolerance) {
				return at
			}
		}
	}
	return -1
}

// rising returns the scores of the rows of class 0 in increasing order, and the weight of the first
// k of these rows for each k.
func rising(scores []float64, classes []int, p *constraints.Population) (list, before []float64) {
	order := slices.DeleteFunc(falling(scores), func(i int) bool { return classes[i] != 0 })
	slices.Reverse(order)
	before = []float64{0}
	for k, i := range order {
		list, before = append(list, scores[i]), append(before, before[k]+weightOf(p, i))
	}
	return list, before
}

// areas returns the least and the largest area below the ROC curve of scores whose differences have
// errors of at most e: the share of the pairs of a row of class 1 and a row of class 0 in which the
// row of class 1 has the larger score, without and with the pairs that e may turn. Equal scores are
// such pairs.
func areas(scores []float64, p *constraints.Population, e float64) (least, most float64) {
	zeros, before := rising(scores, p.Labels, p)
	pairs := 0.0
	for i, class := range p.Labels {
		if class == 1 {
			w := weightOf(p, i)
			least += w * before[sort.SearchFloat64s(zeros, scores[i]-e)]
			most += w * before[sort.Search(len(zeros), func(k int) bool { return zeros[k] > scores[i]+e })]
			pairs += w * before[len(zeros)]
		}
	}
	return least / pairs, most / pairs
}

// area returns the area below a curve whose points are joined by lines.
func area(curve [][2]float64) (sum float64) {
	for k := 1; k < len(curve); k++ {
		sum += (curve[k][0] - curve[k-1][0]) * (curve[k][1] + curve[k-1][1]) / 2
	}
	return sum
}
