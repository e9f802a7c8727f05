package verify

import (
	"strings"

	"ppal/constraints"
)

// count counts the decisions of the scores on the rows of the part.
func (r *evaluator) count(scores []float64, e float64) {
	n := len(r.p.Classes)
	d := &decided{scores: scores, error: e, class: make([]int, n), unsure: make([]bool, n), norm: r.norm, rows: r.p.Population}
	for i := range n {
		own := scores[i*r.outputs:][:r.outputs]
		d.unsure[i] = unsureOf(own, e)
		switch {
		case r.outputs > 1:
			d.class[i] = largestAt(own)
		case own[0] > 0:
			d.class[i] = 1
		}
	}
	p := make([]float64, r.outputs)
	r.unsure = d.unsure
	hit, miss := &cell{}, &cell{missed: true}
	if m := r.in.System.Margins; m != nil {
		hit.phi, _ = surrogateOf(m.Constraints) // newEvaluator has checked the surrogate
		miss.phi = hit.phi
	}
	d.chance = func(i, class int) float64 { return r.value(hit, p, scores, int32(i), class) }
	d.miss = func(i, class int) float64 {
		if miss.phi == nil {
			return 1 - d.chance(i, class)
		}
		return r.value(miss, p, scores, int32(i), class)
	}
	d.loss = func(i, y int) float64 { return r.loss(scores, int32(i), y) }
	r.objective, r.values = r.minimised.count(d, false), nil
	r.doubt = r.objective.doubt
	for j, own := range r.plans {
		v := own.count(d, r.in.System.Subject[j].IsAtLeast())
		r.values, r.doubt = append(r.values, v), max(r.doubt, v.doubt)
	}
	r.decided = d.class
	var accepted, every mass
	for i, k := range d.class {
		every.add(weightOf(d.rows, i))
		if k == 1 {
			accepted.add(weightOf(d.rows, i))
		}
	}
	r.accepted = accepted.weight / every.weight
	r.hits, r.hitWeights = make([]int, len(r.cells)), make([]float64, len(r.cells))
	for k, cell := range r.cells {
		for at, i := range cell.rows {
			if !cell.loss && (d.class[i] == cell.targets[at]) != cell.missed {
				r.hits[k]++
				r.hitWeights[k] += weightOf(d.rows, int(i))
			}
		}
	}
}

// number returns a counted value with its tolerance. soft is the tolerance of losses and norms.
func (r *evaluator) number(v counted, p *plan, soft float64) number {
	tolerance := 2*r.doubt + 1e-12
	if p.form == "ratio" && v.value > 0 {
		tolerance /= v.value // at least the reciprocal of the larger rate
	}
	if !v.defined {
		v.value = 0
	}
	return number{v.value, tolerance + r.lossError(soft), v.defined}
}

// measures returns the measures of the part, as the summary names them.
func (r *evaluator) measures(scores []float64, e slack) []named {
	r.count(scores, e.score)
	f, g := r.smooth(scores)
	violation := named{"max_violation", smoothNumber(worst(g), worst(e.g)+r.normError())}
	if list := r.published(scores, f, e); list != nil {
		return append(list, violation)
	}
	soft := 2*e.score + r.normError()
	list := []named{{"objective", smoothNumber(f, e.f)}, violation}
	switch n := r.in.Nodes; {
	case n != nil && n.Measures != nil:
		list = nil // the program has its own
	case n != nil:
		for j, c := range r.in.Constraints {
			list = append(list, named{strings.ReplaceAll(c.Name, " ", "_"), smoothNumber(g[j]+c.Bound, e.g[j])})
		}
	}
	if r.objective.defined {
		list = append(list, named{r.minimised.text, r.number(r.objective, r.minimised, soft)})
	}
	for j, name := range constraints.NameValues(r.in.System.Subject) {
		if v := r.values[j]; v.defined {
			list = append(list, named{name, r.number(v, r.plans[j], soft)})
		}
	}
	list = append(list, r.ndcg(scores, e.score)...)
	if len(r.p.Rows.Classes) == 2 && !r.in.System.OfPairs() {
		list = append(list, named{"acceptance_rate", number{r.accepted, 2*r.doubt + 1e-12, true}})
	}
	return list
}

// normError is the tolerance of the l1 norm: several roundings of the weights in float32.
func (r *evaluator) normError() float64 {
	if !r.in.System.L1 {
		return 0
	}
	return 0x1p-20 * r.norm
}

// lossError is the tolerance of counted values that contain losses or the norm.
func (r *evaluator) lossError(soft float64) float64 {
	if r.in.System.NeedsSmooth() {
		return soft + rounding*(1+r.norm)
	}
	return 0
}

// decisions returns the minimised rate and the constraints on counted decisions.
func (r *evaluator) decisions(scores []float64, e float64) (number, []number) {
	r.count(scores, e)
	soft := 2*e + r.normError()
	var list []number
	for j, v := range r.values {
		list = append(list, r.number(v, r.plans[j], soft))
	}
	return r.number(r.objective, r.minimised, soft), list
}

// meanings lists, for each constraint on decisions, the constraints g that state it.
func (r *evaluator) meanings() [][]int {
	list := make([][]int, len(r.in.System.Subject))
	if r.in.Nodes != nil {
		for j := range list {
			list[j] = []int{j}
		}
		return list
	}
	for k, b := range r.in.System.Bounds {
		own := &list[b.Constraint]
		if at := r.place(k); len(*own) == 0 || (*own)[len(*own)-1] != at {
			*own = append(*own, at)
		}
	}
	return list
}
