package verify

import (
	"math"

	"ppal/trainer/session"
)

// groups bounds the loss of each group, or of the average group, relative to the loss of all rows:
//
//	g_G = mean over G of psi(y s) - mean over all rows of psi(y s) - eps_G
type groups struct {
	binary
	rows [][]int
	eps  []float64
	mean bool // a single constraint, the mean over the groups
	own  bool // the groups have bounds of their own
}

func newGroups(in *session.Inputs, p *session.Part, t session.Intersectional) (*groups, error) {
	b, err := newBinary(p, t.Phi, t.Psi)
	g := &groups{binary: b, mean: t.Form == session.AverageGroup || t.Form == session.SampledGroup, own: len(t.Epsilon) > 1}
	for k, group := range p.Rows.Groups {
		g.rows = append(g.rows, group.Rows)
		g.eps = append(g.eps, t.Epsilon[min(k, len(t.Epsilon)-1)])
	}
	return g, err
}

// excess returns, for each group, the mean of a value minus the mean of all rows. A group without
// rows has NaN.
func (g *groups) excess(of func(i int) float64) []float64 {
	total := 0.0
	for i := range g.y {
		total += of(i)
	}
	total /= float64(len(g.y))
	list := make([]float64, len(g.rows))
	for k, rows := range g.rows {
		for _, i := range rows {
			list[k] += of(i)
		}
		list[k] = list[k]/float64(len(rows)) - total
	}
	return list
}

// average returns the mean of the numbers that are defined.
func average(list []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range list {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return sum / float64(n)
}

func (g *groups) smooth(scores []float64) (float64, []float64) {
	h := g.excess(func(i int) float64 { return g.psi.value(g.y[i] * scores[i]) })
	if g.mean {
		return g.objective(scores), []float64{average(h) - g.eps[0]}
	}
	for k, v := range h {
		if math.IsNaN(v) {
			h[k] = 0 // a group without rows counts as an average group
		}
		h[k] -= g.eps[k]
	}
	return g.objective(scores), h
}

func (g *groups) direction(scores, nu []float64) ([]float64, bool) {
	d, sum := g.slopes(scores), 0.0
	weights := make([]float64, len(scores))
	for k, rows := range g.rows {
		w := nu[0] / float64(len(g.rows))
		if !g.mean {
			w = nu[k]
		}
		sum += w
		for _, i := range rows {
			weights[i] += w / float64(len(rows))
		}
	}
	for i, s := range scores {
		d[i] += (weights[i] - sum/float64(len(scores))) * g.y[i] * g.psi.slope(g.y[i]*s)
	}
	return d, false
}

// errors returns, for each group, the error minus the error of all rows, and the tolerance.
func (g *groups) errors(scores []float64, e float64) (list []float64, tolerance float64) {
	total := g.wrong(all(len(scores)), scores, e)
	for _, rows := range g.rows {
		own := g.wrong(rows, scores, e)
		if !own.defined {
			own.value = math.NaN()
		}
		list = append(list, own.value-total.value)
		tolerance = max(tolerance, own.tolerance+total.tolerance)
	}
	return list, tolerance
}

func (g *groups) measures(scores []float64, e slack) ([]named, error) {
	_, c := g.smooth(scores)
	errors, tolerance := g.errors(scores, e.score)
	losses := g.excess(func(i int) float64 { return g.psi.value(g.y[i] * scores[i]) })
	empty := 0
	above := func(list []float64) (most, mean float64) {
		over := make([]float64, len(list))
		for k, v := range list {
			over[k] = max(0, v-g.eps[k])
			if math.IsNaN(v) {
				over[k] = v
				continue
			}
			most = max(most, over[k])
		}
		return most, average(over)
	}
	largest := math.Inf(-1)
	for _, v := range errors {
		if math.IsNaN(v) {
			empty++
		} else {
			largest = max(largest, v)
		}
	}
	add := func(name string, v, tolerance float64) named { return named{name, number{v, tolerance, true}} }
	errorMost, errorMean := above(errors)
	lossMost, lossMean := above(losses)
	soft := smoothNumber(lossMost, 2*e.score).tolerance // psi has slopes of at most 1
	return append(g.binary.measures(scores, worst(c), e),
		add("group_error_gap_max", largest, tolerance),
		add("group_error_violation_mean", errorMean, tolerance), add("group_error_violation_max", errorMost, tolerance),
		add("group_loss_violation_mean", lossMean, soft), add("group_loss_violation_max", lossMost, soft),
		add("groups_without_rows", float64(empty), 0)), nil
}

func (g *groups) decisions(scores []float64, e float64) (number, []number, error) {
	list, tolerance := g.errors(scores, e)
	objective := g.wrong(all(len(scores)), scores, e)
	switch {
	case g.mean:
		return objective, []number{{average(list), tolerance, true}}, nil
	case g.own:
		var each []number
		for _, v := range list {
			if math.IsNaN(v) {
				v = 0
			}
			each = append(each, number{v, tolerance, true})
		}
		return objective, each, nil
	}
	largest := math.Inf(-1)
	for _, v := range list {
		if math.IsNaN(v) {
			v = 0 // a group without rows counts as an average group
		}
		largest = max(largest, v)
	}
	return objective, []number{{largest, tolerance, true}}, nil
}

func (g *groups) meanings() [][]int {
	switch {
	case g.mean:
		return [][]int{{0}}
	case g.own:
		var list [][]int
		for k := range g.rows {
			list = append(list, []int{k})
		}
		return list
	}
	return [][]int{all(len(g.rows))}
}

var _ evaluator = (*groups)(nil)
