package verify

import (
	"fmt"
	"math"
	"slices"

	"ppal/constraints"
	"ppal/trainer/session"
)

// number is a recomputed value. The reported value may differ by the tolerance. defined is false
// for a value without rows.
type number struct {
	value, tolerance float64
	defined          bool
}

// named is a number with its key in the run's files.
type named struct {
	name string
	number
}

// slack holds the errors of reported values at a point.
type slack struct {
	score float64   // of each score
	f     float64   // of f
	g     []float64 // of g
}

// manyConstraints is the number of constraints above which slackOf does not differentiate each of
// them.
const manyConstraints = 32

// slackOf returns the errors of f and g that an error e of each score can cause, to first order: e
// times the sum of the absolute derivatives by the scores. Many constraints get the bound 2 e,
// because a constraint is the difference of two means with slopes of at most 1.
func slackOf(v *evaluator, scores []float64, constraints int, e float64) slack {
	s, nu := slack{score: e}, make([]float64, constraints)
	base, _ := v.direction(scores, nu)
	for _, d := range base {
		s.f += e * math.Abs(d)
	}
	for j := range nu {
		if constraints > manyConstraints {
			s.g = append(s.g, 2*e)
			continue
		}
		nu[j] = 1
		d, _ := v.direction(scores, nu)
		nu[j] = 0
		sum := 0.0
		for i := range d {
			sum += e * math.Abs(d[i]-base[i])
		}
		s.g = append(s.g, sum)
	}
	return s
}

// worst returns max(0, max g).
func worst(g []float64) float64 { return max(0, slices.Max(append([]float64{0}, g...))) }

// rounding is the relative difference that sums in another order may have.
const rounding = 1e-9

// smoothNumber returns a smooth value that the error of all scores changes by at most change.
func smoothNumber(v, change float64) number {
	return number{v, change + rounding*(1+math.Abs(v)), true}
}

// share returns the share of the rows, by weight, that meet a condition. unsure counts the rows
// whose decision the error of the scores can change; nil: no row.
func share(p *constraints.Population, rows []int, meets, unsure func(i int) bool) number {
	var hits, doubtful, every mass
	for _, i := range rows {
		w := weightOf(p, i)
		every.add(w)
		if meets(i) {
			hits.add(w)
		}
		if unsure != nil && unsure(i) {
			doubtful.add(w)
		}
	}
	if len(rows) == 0 {
		return number{}
	}
	return number{hits.weight / every.weight, doubtful.weight/every.weight + 1e-12, true}
}

// all returns the indices 0 to n-1.
func all(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// unsureOf reports whether an error e of the scores of a row can change its decision.
func unsureOf(scores []float64, e float64) bool {
	if len(scores) == 1 {
		return math.Abs(scores[0]) <= e
	}
	at := largestAt(scores)
	for k, s := range scores {
		if k != at && scores[at]-s <= 2*e {
			return true
		}
	}
	return false
}

// published returns the measures of a problem of Moon et al. with bounds on surrogates, except for
// max_violation; nil for a task that names its rates. The caller calls count first.
func (r *evaluator) published(scores []float64, f float64, e slack) []named {
	switch r.in.Naming {
	case session.NamesRates:
		return nil
	case session.NamesClasses:
		return r.ofClasses(scores, e)
	}
	list := []named{{"loss", smoothNumber(f, e.f)}, {"error", r.wrong(all(len(scores)))}, {"auc", r.area(scores, e.score)}}
	if r.in.Naming == session.NamesGroups {
		return append(list, r.ofGroups(scores, e)...)
	}
	gap := func(name string, label int) named { // 0: all labels
		var numbers [2]number
		for k, g := range r.p.Rows.Groups {
			rows := slices.DeleteFunc(slices.Clone(g.Rows), func(i int) bool { return label != 0 && r.p.Rows.Labels[i] != label })
			numbers[k] = r.share(rows, func(i int) bool { return r.decided[i] == 1 })
		}
		return named{name, number{math.Abs(numbers[0].value - numbers[1].value), numbers[0].tolerance + numbers[1].tolerance, numbers[0].defined && numbers[1].defined}}
	}
	if list = append(list, gap("dp_gap", 0)); len(r.in.System.Subject) == 2 { // of the true and the false positive rate
		list = append(list, gap("tpr_gap", 1), gap("fpr_gap", -1))
	}
	return list
}

// share counts the rows that meet a condition on their decisions.
func (r *evaluator) share(rows []int, meets func(i int) bool) number {
	return share(r.p.Population, rows, meets, func(i int) bool { return r.unsure[i] })
}

// wrong returns the share of wrong decisions among the rows.
func (r *evaluator) wrong(rows []int) number {
	return r.share(rows, func(i int) bool { return r.decided[i] != r.p.Classes[i] })
}

// ofClasses returns the mean loss and the error of each class, and the error of all rows.
func (r *evaluator) ofClasses(scores []float64, e slack) (list []named) {
	c := cell{missed: true, phi: r.cells[0].phi}
	for k, class := range r.p.Rows.Classes {
		var rows []int
		loss, weight := 0.0, 0.0
		for i, own := range r.p.Classes {
			if own == k {
				rows = append(rows, i)
				w := weightOf(r.p.Population, i)
				loss, weight = loss+w*r.value(&c, nil, scores, int32(i), k), weight+w
			}
		}
		change := e.f
		if k > 0 {
			change = e.g[k-1]
		}
		list = append(list, named{fmt.Sprintf("loss_%d", class.Number), smoothNumber(loss/weight, change)},
			named{fmt.Sprintf("error_%d", class.Number), r.wrong(rows)})
	}
	return append(list, named{"error", r.wrong(all(len(r.p.Classes)))})
}

// area returns the share of the pairs of a positive and a negative row in which the positive row
// has the higher score; equal scores count half.
func (r *evaluator) area(scores []float64, e float64) number {
	negative, before := rising(scores, r.p.Classes, r.p.Population)
	below := func(limit float64, equal bool) float64 {
		at, _ := slices.BinarySearchFunc(negative, limit, func(s, limit float64) int {
			if s < limit || equal && s == limit {
				return -1
			}
			return 1
		})
		return before[at]
	}
	won, doubtful, pairs := 0.0, 0.0, 0.0
	for i, s := range scores {
		if r.p.Classes[i] != 1 {
			continue
		}
		w := weightOf(r.p.Population, i)
		won += w * (below(s, false) + below(s, true)) / 2
		doubtful += w * (below(s+2*e, true) - below(s-2*e, false))
		pairs += w * before[len(negative)]
	}
	return number{won / pairs, doubtful/pairs + rounding, pairs > 0}
}

// ofGroups returns the measures of the groups. Let d be the error of a group minus the error of all
// rows, or the same with losses. The measures are the largest d and the mean of max(0, d - bound).
func (r *evaluator) ofGroups(scores []float64, e slack) []named {
	c := cell{missed: true, phi: r.cells[len(r.cells)-1].phi}
	loss := func(rows []int) float64 {
		sum, weight := 0.0, 0.0
		for _, i := range rows {
			w := weightOf(r.p.Population, i)
			sum, weight = sum+w*r.value(&c, nil, scores, int32(i), r.p.Classes[i]), weight+w
		}
		return sum / weight
	}
	every := all(len(scores))
	total, ofAll, tolerance := r.wrong(every), loss(every), 0.0
	largest, n, most, sum := math.Inf(-1), 0.0, [2]float64{}, [2]float64{}
	for k, g := range r.p.Rows.Groups {
		own := r.wrong(g.Rows)
		if !own.defined {
			continue
		}
		n++
		bound := r.in.Constraints[min(k, len(r.in.Constraints)-1)].Bound
		largest, tolerance = max(largest, own.value-total.value), max(tolerance, own.tolerance+total.tolerance)
		for i, d := range [2]float64{own.value - total.value, loss(g.Rows) - ofAll} {
			over := max(0, d-bound)
			most[i], sum[i] = max(most[i], over), sum[i]+over
		}
	}
	add := func(name string, v, tolerance float64) named { return named{name, number{v, tolerance, n > 0}} }
	soft := smoothNumber(most[1], 2*e.score).tolerance // psi has slopes of at most 1
	return []named{add("group_error_gap_max", largest, tolerance),
		add("group_error_violation_mean", sum[0]/n, tolerance), add("group_error_violation_max", most[0], tolerance),
		add("group_loss_violation_mean", sum[1]/n, soft), add("group_loss_violation_max", most[1], soft),
		{"groups_without_rows", number{float64(len(r.p.Rows.Groups)) - n, 0, true}}}
}
