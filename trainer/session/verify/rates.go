package verify

import (
	"ppal/trainer/session"
)

// linear is a problem with constraints in words. A rate h_k is the mean, over the rows of a cell,
// of the probability of the decision that counts. The constraints are linear in the rates:
//
//	g_j = C_j h + constant_j - bound_j - shift_j
//
// The probability is 1/(1 + e^-s) or its complement for one score, and the softmax for several. The
// rate of a loss is the mean logistic loss or cross-entropy.
type linear struct {
	in      *session.Inputs
	p       *session.Part
	outputs int
	cells   []cell
	// shifts are added to the bounds of the smooth problem; nil: nothing.
	shifts []float64
	// norm is the l1 norm of the weights, the last term of a system that names the norm.
	norm float64
	// minimised and plans say what the objective and the constraints in words count.
	minimised *plan
	plans     []*plan
	// The last counted decisions, the class that each row is decided as, the share that is accepted,
	// and the hits of each cell. doubt is the largest change of a rate by decisions that the error of
	// the scores can change.
	objective counted
	values    []counted
	decided   []int
	accepted  float64
	hits      []int
	doubt     float64
}

// cell is an elementary rate: its rows with the decisions that count, -1 for none.
type cell struct {
	rows    []int32
	targets []int
	loss    bool
}

func newLinear(in *session.Inputs, p *session.Part) (*linear, error) {
	r := &linear{in: in, p: p, outputs: in.Outputs()}
	for k := range in.System.Rates {
		rows, targets := p.Sample.Targets(k)
		r.cells = append(r.cells, cell{rows, targets, in.System.Rates[k].IsLoss()})
	}
	var err error
	train := in.Parts[0].Population
	if r.minimised, err = newPlan(in.System.Minimize.String(), train); err != nil {
		return nil, err
	}
	for _, s := range in.System.Subject {
		own, err := newPlan(s.Measure().String(), train)
		if err != nil {
			return nil, err
		}
		r.plans = append(r.plans, own)
	}
	return r, nil
}

// probability returns the probability that row i is decided as class t.
func (r *linear) probability(p, scores []float64, i int32, t int) float64 {
	if r.outputs > 1 {
		softmax(p, scores[int(i)*r.outputs:][:r.outputs])
		return p[t]
	}
	if t == 1 {
		return logisticOf(scores[i])
	}
	return logisticOf(-scores[i])
}

// loss returns the loss of row i.
func (r *linear) loss(scores []float64, i int32, y int) float64 {
	if r.outputs > 1 {
		return crossEntropy(scores[int(i)*r.outputs:][:r.outputs], y)
	}
	return logisticLoss(float64(2*y-1) * scores[i])
}

// terms returns h.
func (r *linear) terms(scores []float64) []float64 {
	h, p := make([]float64, len(r.cells)), make([]float64, r.outputs)
	for k, c := range r.cells {
		for e, i := range c.rows {
			switch t := c.targets[e]; {
			case c.loss:
				h[k] += r.loss(scores, i, t)
			case t >= 0:
				h[k] += r.probability(p, scores, i, t)
			}
		}
		if len(c.rows) > 0 {
			h[k] /= float64(len(c.rows))
		}
	}
	if r.in.System.L1 {
		h = append(h, r.norm)
	}
	return h
}

func (r *linear) smooth(scores []float64) (f float64, g []float64) {
	h := r.terms(scores)
	row, f := r.in.System.ObjectiveRow()
	for k, c := range row {
		f += c * h[k]
	}
	for j, b := range r.in.System.Bounds {
		v := b.Constant - b.Bound
		for k, c := range b.Coefficients {
			v += c * h[k]
		}
		if r.shifts != nil {
			v -= r.shifts[j]
		}
		g = append(g, v)
	}
	return f, g
}

// weights returns the coefficient of each term in f + nu.g.
func (r *linear) weights(nu []float64) []float64 {
	row, _ := r.in.System.ObjectiveRow()
	for j, b := range r.in.System.Bounds {
		for k, c := range b.Coefficients {
			row[k] += nu[j] * c
		}
	}
	return row
}

func (r *linear) direction(scores, nu []float64) ([]float64, bool) {
	d, p, w := make([]float64, len(scores)), make([]float64, r.outputs), r.weights(nu)
	for k, c := range r.cells {
		if w[k] == 0 || len(c.rows) == 0 {
			continue
		}
		own := w[k] / float64(len(c.rows))
		for e, i := range c.rows {
			t := c.targets[e]
			if t < 0 {
				continue
			}
			if r.outputs == 1 {
				s := scores[i]
				up := float64(2*t - 1) // the sign with which the score favours the target
				if c.loss {
					d[i] -= own * up * logisticOf(-up*s)
				} else {
					d[i] += own * up * logisticOf(s) * logisticOf(-s)
				}
				continue
			}
			to := d[int(i)*r.outputs:][:r.outputs]
			softmax(p, scores[int(i)*r.outputs:][:r.outputs])
			for j, q := range p {
				indicator := 0.0
				if j == t {
					indicator = 1
				}
				if c.loss {
					to[j] += own * (q - indicator)
				} else {
					to[j] += own * p[t] * (indicator - q)
				}
			}
		}
	}
	return d, false
}

// count counts the decisions of the scores on the rows of the part.
func (r *linear) count(scores []float64, e float64) {
	n := len(r.p.Classes)
	d := &decided{of: make([]int, n), unsure: make([]bool, n), norm: r.norm, rows: r.p.Population}
	for i := range n {
		own := scores[i*r.outputs:][:r.outputs]
		d.unsure[i] = unsureOf(own, e)
		switch {
		case r.outputs > 1:
			d.of[i] = largestAt(own)
		case own[0] > 0:
			d.of[i] = 1
		}
	}
	p := make([]float64, r.outputs)
	d.chance = func(i, class int) float64 { return r.probability(p, scores, int32(i), class) }
	d.loss = func(i, y int) float64 { return r.loss(scores, int32(i), y) }
	r.objective, r.values = r.minimised.count(d, false), nil
	r.doubt = r.objective.doubt
	for j, own := range r.plans {
		v := own.count(d, r.in.System.Subject[j].IsAtLeast())
		r.values, r.doubt = append(r.values, v), max(r.doubt, v.doubt)
	}
	r.decided = d.of
	accepted := 0
	for _, k := range d.of {
		if k == 1 {
			accepted++
		}
	}
	r.accepted = float64(accepted) / float64(n)
	r.hits = make([]int, len(r.cells))
	for k, cell := range r.cells {
		for at, i := range cell.rows {
			if !cell.loss && d.of[i] == cell.targets[at] {
				r.hits[k]++
			}
		}
	}
}

// number returns a counted value with its tolerance. soft is the tolerance of losses and norms.
func (r *linear) number(v counted, p *plan, soft float64) number {
	tolerance := 2*r.doubt + 1e-12
	if p.form == "ratio" && v.value > 0 {
		tolerance /= v.value // at least the reciprocal of the larger rate
	}
	if !v.defined {
		v.value = 0
	}
	return number{v.value, tolerance + r.lossError(soft), v.defined}
}

func (r *linear) measures(scores []float64, e slack) ([]named, error) {
	r.count(scores, e.score)
	h := r.terms(scores)
	row, f := r.in.System.ObjectiveRow()
	for k, w := range row {
		f += w * h[k]
	}
	violation := 0.0
	for _, b := range r.in.System.Bounds {
		v := b.Constant - b.Bound
		for k, w := range b.Coefficients {
			v += w * h[k]
		}
		violation = max(violation, v)
	}
	soft := 2*e.score + r.normError()
	list := []named{{"objective", smoothNumber(f, e.f)}, {"max_violation", smoothNumber(violation, worst(e.g)+r.normError())}}
	if r.objective.defined {
		list = append(list, named{r.minimised.text, r.number(r.objective, r.minimised, soft)})
	}
	for j, p := range r.plans {
		if v := r.values[j]; v.defined {
			list = append(list, named{p.text, r.number(v, p, soft)})
		}
	}
	if len(r.p.Rows.Classes) == 2 {
		list = append(list, named{"acceptance_rate", number{r.accepted, 2*r.doubt + 1e-12, true}})
	}
	return list, nil
}

// normError is the tolerance of the l1 norm: several roundings of the weights in float32.
func (r *linear) normError() float64 {
	if !r.in.System.L1 {
		return 0
	}
	return 0x1p-20 * r.norm
}

// lossError is the tolerance of counted values that contain losses or the norm.
func (r *linear) lossError(soft float64) float64 {
	if r.in.System.NeedsSmooth() {
		return soft + rounding*(1+r.norm)
	}
	return 0
}

func (r *linear) decisions(scores []float64, e float64) (number, []number, error) {
	r.count(scores, e)
	soft := 2*e + r.normError()
	var list []number
	for j, v := range r.values {
		list = append(list, r.number(v, r.plans[j], soft))
	}
	return r.number(r.objective, r.minimised, soft), list, nil
}

func (r *linear) meanings() [][]int {
	list := make([][]int, len(r.in.System.Subject))
	for j, b := range r.in.System.Bounds {
		list[b.Constraint] = append(list[b.Constraint], j)
	}
	return list
}

var _ evaluator = (*linear)(nil)
