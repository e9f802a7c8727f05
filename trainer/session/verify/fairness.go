package verify

import (
	"math"
	"slices"

	"ppal/trainer/session"
)

// binary holds the parts that the problems of two classes share: the labels y, and f, the mean of
// phi(y s).
type binary struct {
	phi, psi surrogate
	y        []float64
}

func newBinary(p *session.Part, phi, psi session.Surrogate) (b binary, err error) {
	if b.phi, err = surrogateOf(phi); err != nil {
		return b, err
	}
	b.psi, err = surrogateOf(psi)
	for _, label := range p.Rows.Labels {
		b.y = append(b.y, float64(label))
	}
	return b, err
}

// objective returns the mean of phi(y s).
func (b *binary) objective(scores []float64) float64 {
	sum := 0.0
	for i, s := range scores {
		sum += b.phi.value(b.y[i] * s)
	}
	return sum / float64(len(scores))
}

// slopes returns the derivative of the objective by the scores.
func (b *binary) slopes(scores []float64) []float64 {
	d := make([]float64, len(scores))
	for i, s := range scores {
		d[i] = b.y[i] * b.phi.slope(b.y[i]*s) / float64(len(scores))
	}
	return d
}

// wrong returns the share of wrong decisions among the rows.
func (b *binary) wrong(rows []int, scores []float64, e float64) number {
	return share(rows, func(i int) bool { return (scores[i] > 0) != (b.y[i] > 0) }, func(i int) bool { return unsureOf(scores[i:i+1], e) })
}

// measures returns the measures of every problem of two classes.
func (b *binary) measures(scores []float64, violation float64, e slack) []named {
	return []named{
		{"loss", smoothNumber(b.objective(scores), e.f)}, {"max_violation", smoothNumber(violation, worst(e.g))},
		{"error", b.wrong(all(len(scores)), scores, e.score)}, {"auc", b.area(scores, e.score)},
	}
}

// area returns the share of the pairs of a positive and a negative row in which the positive row
// has the higher score; equal scores count half.
func (b *binary) area(scores []float64, e float64) number {
	var positive, negative []float64
	for i, s := range scores {
		if b.y[i] > 0 {
			positive = append(positive, s)
		} else {
			negative = append(negative, s)
		}
	}
	slices.Sort(negative)
	below := func(limit float64, equal bool) float64 {
		at, _ := slices.BinarySearchFunc(negative, limit, func(s, limit float64) int {
			if s < limit || equal && s == limit {
				return -1
			}
			return 1
		})
		return float64(at)
	}
	won, doubtful := 0.0, 0.0
	for _, s := range positive {
		won += (below(s, false) + below(s, true)) / 2
		doubtful += below(s+2*e, true) - below(s-2*e, false)
	}
	pairs := float64(len(positive)) * float64(len(negative))
	return number{won / pairs, doubtful/pairs + rounding, pairs > 0}
}

// gaps bounds differences between the rates of two groups:
//
//	h_t = mean over group 0 of psi(-s) - mean over group 1 of psi(-s)
//
// over all rows, or over the rows with a label. The constraints are h - eps and -h - eps, or |h| -
// eps, or the largest |h| - eps.
type gaps struct {
	binary
	labels []int // of each gap, 0: all rows
	sides  [][2][]int
	eps    []float64
	form   session.GapForm
	pair   [2][]int // all rows of the groups
}

func newGaps(in *session.Inputs, p *session.Part, phi, psi session.Surrogate, form session.GapForm, eps []float64, labels ...int) (*gaps, error) {
	b, err := newBinary(p, phi, psi)
	if form == "" {
		form = session.AbsoluteGaps
		if in.Split {
			form = session.SplitGaps
		}
	}
	g := &gaps{binary: b, labels: labels, form: form}
	of := func(k, label int) (rows []int) {
		for _, i := range p.Rows.Groups[k].Rows {
			if label == 0 || p.Rows.Labels[i] == label {
				rows = append(rows, i)
			}
		}
		return rows
	}
	for t, label := range labels {
		g.sides = append(g.sides, [2][]int{of(0, label), of(1, label)})
		g.eps = append(g.eps, eps[min(t, len(eps)-1)])
	}
	g.pair = [2][]int{of(0, 0), of(1, 0)}
	return g, err
}

// terms returns the gaps h of the smooth rates.
func (g *gaps) terms(scores []float64) []float64 {
	var h []float64
	for _, sides := range g.sides {
		var mean [2]float64
		for k, rows := range sides {
			for _, i := range rows {
				mean[k] += g.psi.value(-scores[i])
			}
			mean[k] /= float64(len(rows))
		}
		h = append(h, mean[0]-mean[1])
	}
	return h
}

func (g *gaps) smooth(scores []float64) (float64, []float64) {
	return g.objective(scores), g.constraints(g.terms(scores))
}

// constraints returns g at the gaps h.
func (g *gaps) constraints(h []float64) (list []float64) {
	for t, v := range h {
		switch g.form {
		case session.SplitGaps:
			list = append(list, v-g.eps[t], -v-g.eps[t])
		default:
			list = append(list, math.Abs(v)-g.eps[t])
		}
	}
	if g.form == session.LargestGap {
		return []float64{slices.Max(list)}
	}
	return list
}

// tie is the relative difference within which two pieces of a maximum count as equal.
const tie = 2e-7

func (g *gaps) direction(scores, nu []float64) ([]float64, bool) {
	d, h, ties := g.slopes(scores), g.terms(scores), false
	each := make([]float64, len(h)) // multiplier of each gap
	sign := func(v float64) float64 {
		ties = ties || math.Abs(v) <= tie
		return math.Copysign(1, v)
	}
	switch g.form {
	case session.SplitGaps:
		for t := range h {
			each[t] = nu[2*t] - nu[2*t+1]
		}
	case session.LargestGap:
		values, largest := make([]float64, len(h)), 0
		for t, v := range h {
			values[t] = math.Abs(v) - g.eps[t]
			if values[t] > values[largest] {
				largest = t
			}
		}
		for t, v := range values {
			ties = ties || t != largest && values[largest]-v <= tie*(1+math.Abs(h[t]))
		}
		each[largest] = nu[0] * sign(h[largest])
	default:
		for t, v := range h {
			if nu[t] != 0 {
				each[t] = nu[t] * sign(v)
			}
		}
	}
	for t, sides := range g.sides {
		for k, rows := range sides {
			w := each[t] / float64(len(rows))
			if k == 1 {
				w = -w
			}
			for _, i := range rows {
				d[i] -= w * g.psi.slope(-scores[i])
			}
		}
	}
	return d, ties
}

// gap returns the absolute difference between the shares of positive decisions of two sets.
func (g *gaps) gap(sides [2][]int, scores []float64, e float64) number {
	var of [2]number
	for k, rows := range sides {
		of[k] = share(rows, func(i int) bool { return scores[i] > 0 }, func(i int) bool { return unsureOf(scores[i:i+1], e) })
	}
	return number{math.Abs(of[0].value - of[1].value), of[0].tolerance + of[1].tolerance, of[0].defined && of[1].defined}
}

func (g *gaps) measures(scores []float64, e slack) ([]named, error) {
	_, c := g.smooth(scores)
	list := append(g.binary.measures(scores, worst(c), e), named{"dp_gap", g.gap(g.pair, scores, e.score)})
	for t, label := range g.labels {
		name := map[int]string{1: "tpr_gap", -1: "fpr_gap"}[label]
		if name != "" {
			list = append(list, named{name, g.gap(g.sides[t], scores, e.score)})
		}
	}
	return list, nil
}

func (g *gaps) decisions(scores []float64, e float64) (number, []number, error) {
	var list []number
	for _, sides := range g.sides {
		list = append(list, g.gap(sides, scores, e))
	}
	if g.form == session.LargestGap {
		largest := list[0]
		for _, n := range list[1:] {
			largest.value, largest.tolerance = max(largest.value, n.value), max(largest.tolerance, n.tolerance)
		}
		list = []number{largest}
	}
	return g.wrong(all(len(scores)), scores, e), list, nil
}

func (g *gaps) meanings() [][]int {
	var list [][]int
	switch g.form {
	case session.LargestGap:
		return [][]int{{0}}
	case session.SplitGaps:
		for t := range g.sides {
			list = append(list, []int{2 * t, 2*t + 1})
		}
	default:
		for t := range g.sides {
			list = append(list, []int{t})
		}
	}
	return list
}

var _ evaluator = (*gaps)(nil)
