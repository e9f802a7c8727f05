package verify

import (
	"math"
	"slices"

	"ppal/constraints"
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
