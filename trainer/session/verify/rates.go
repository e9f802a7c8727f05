package verify

import (
	"math"
	"slices"

	"ppal/constraints"
	"ppal/trainer/problem"
	"ppal/trainer/session"
)

// evaluator evaluates the task of a run on the rows of a part. A rate h_k is the mean, over the
// rows of a cell by their weights, of the surrogate of the decision that counts. The constraints
// are linear in the rates, or the largest of several linear functions:
//
//	g_j = C_j h + constant_j - bound_j - shift_j
//
// The surrogate is a probability, or a function phi of margins. The probability is 1/(1 + e^-s) or
// its complement for one score, and the softmax for several. The functions of margins are
//
//	one score        phi(-s) for the decision s > 0, phi(y s) for a wrong decision
//	several scores   sum over j != c of phi(s_c - s_j) for a decision other than the class c
//
// The rate of a loss is the mean logistic loss or cross-entropy.
type evaluator struct {
	in      *session.Inputs
	p       *session.Part
	outputs int
	cells   []cell
	// shifts are added to the bounds of the smooth problem; nil: nothing.
	shifts []float64
	// norm is the l1 norm of the weights, the last term of a system that names the norm.
	norm float64
	// custom is the objective that the program defines, as a function of the scores; nil: the system's
	// objective. With in.Nodes, custom also has the constraints.
	custom problem.Problem
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
	// hitWeights are the weights of the hits.
	hitWeights []float64
	doubt      float64
	unsure     []bool // rows whose decision the error of the scores can change
}

// cell is an elementary rate: its rows with the decisions that count, -1 for none.
type cell struct {
	rows    []int32
	targets []int
	weight  float64 // of all rows
	loss    bool
	// For margins: the surrogate, and whether the decisions other than the target count.
	phi    *surrogate
	missed bool
	pairs  *pairSet // of a system of pairs
}

// empty reports whether the cell has no rows or pairs in the population.
func (c *cell) empty(p *constraints.Population) bool {
	return c.pairs == nil && len(c.rows) == 0 || c.pairs != nil && c.pairs.size(p) == 0
}

// newEvaluator returns the evaluator of a part.
func newEvaluator(in *session.Inputs, p *session.Part) (r *evaluator, err error) {
	r = &evaluator{in: in, p: p, outputs: in.Outputs()}
	for k := range in.System.Rates {
		c := cell{loss: in.System.Rates[k].IsLoss(), missed: in.System.Rates[k].IsMissed()}
		if in.System.OfPairs() {
			c.pairs = newPairCell(&in.System.Rates[k], p.Population)
		} else {
			c.rows, c.targets = p.Sample.Targets(k)
			for _, i := range c.rows {
				c.weight += weightOf(p.Population, int(i))
			}
		}
		if in.System.Margins != nil {
			if c.phi, err = surrogateOf(in.System.Rates[k].Phi()); err != nil {
				return nil, err
			}
		}
		r.cells = append(r.cells, c)
	}
	if in.Objective != nil {
		if r.custom, err = in.Objective.On(p.Rows, r.outputs); err != nil {
			return nil, err
		}
	}
	if in.Nodes != nil {
		if r.custom, err = in.Nodes.On(p.Rows); err != nil {
			return nil, err
		}
	}
	train := in.Parts[0].Population
	if r.minimised, err = newObjective(in.System.Minimize.String(), train); err != nil {
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
func (r *evaluator) probability(p, scores []float64, i int32, t int) float64 {
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
func (r *evaluator) loss(scores []float64, i int32, y int) float64 {
	if r.outputs > 1 {
		return crossEntropy(scores[int(i)*r.outputs:][:r.outputs], y)
	}
	return logisticLoss(float64(2*y-1) * scores[i])
}

// value returns the surrogate of row i of the cell with target t.
func (r *evaluator) value(c *cell, p, scores []float64, i int32, t int) float64 {
	switch {
	case t < 0:
		return 0
	case c.loss:
		return r.loss(scores, i, t)
	case c.phi == nil:
		return r.probability(p, scores, i, t)
	case r.outputs == 1 && c.missed:
		return c.phi.value(float64(2*t-1) * scores[i])
	case r.outputs == 1:
		return c.phi.value(-float64(2*t-1) * scores[i])
	}
	own := scores[int(i)*r.outputs:][:r.outputs]
	sum := 0.0
	for j, s := range own {
		if j != t {
			sum += c.phi.value(own[t] - s)
		}
	}
	return sum
}

// terms returns h.
func (r *evaluator) terms(scores []float64) []float64 {
	h, p := make([]float64, len(r.cells)), make([]float64, r.outputs)
	for k := range r.cells {
		c := &r.cells[k]
		if c.pairs != nil {
			h[k] = r.pairTerm(c, scores)
			continue
		}
		for e, i := range c.rows {
			h[k] += weightOf(r.p.Population, int(i)) * r.value(c, p, scores, i, c.targets[e])
		}
		if len(c.rows) > 0 {
			h[k] /= c.weight
		}
	}
	if r.in.System.L1 {
		h = append(h, r.norm)
	}
	return h
}

// inequalities returns the amounts by which the terms h exceed the inequalities, with the shifts.
// An inequality with a rate of no rows counts as met; a group without rows is left out of a mean.
func (r *evaluator) inequalities(h []float64) (list []float64) {
	for j, b := range r.in.System.Bounds {
		v, m := b.Constant, r.in.System.Subject[b.Constraint].Measure()
		with, empty := 0, 0 // rates with rows, and without
		for k, c := range b.Coefficients {
			switch v += c * h[k]; {
			case c == 0:
			case k < len(r.cells) && r.cells[k].empty(r.p.Population):
				empty++
			default:
				with++
			}
		}
		switch {
		case empty == 0:
		case m.IsMean() && with > 1: // the groups have equal coefficients, and all rows the coefficient -1
			v = 0
			for k, c := range b.Coefficients {
				if c > 0 {
					c = 1 / float64(with-1)
				}
				v += c * h[k]
			}
		case m.IsMean():
			v = 0
		default: // an inequality with a rate of no rows counts as met
			v = min(0, b.Bound)
		}
		if v -= b.Bound; r.shifts != nil {
			v -= r.shifts[j]
		}
		list = append(list, v)
	}
	return list
}

// place returns the index of the constraint to which inequality k belongs.
func (r *evaluator) place(k int) int {
	switch m := r.in.System.Margins; {
	case m == nil || m.Form == constraints.Each:
		return k
	case m.Form == constraints.Maximum:
		return 0
	}
	return r.in.System.Bounds[k].Constraint
}

// kinked reports whether constraints are the largest of several inequalities.
func (r *evaluator) kinked() bool {
	if n := r.in.Nodes; n != nil {
		return n.Pieces != nil
	}
	m := r.in.System.Margins
	return m != nil && m.Form != constraints.Each
}

// kinks reports whether the custom objective has kinks.
func (r *evaluator) kinks() bool { return r.custom != nil && problem.FeaturesOf(r.custom).Kinks }

// programValues returns what the program defines at the scores: f, g with in.Nodes, and the
// derivative of f + nu.g by the scores. If it cannot be computed, the results are not finite, so
// that no reported number agrees.
func (r *evaluator) programValues(scores, nu []float64) (f float64, g, d []float64) {
	if r.in.Nodes != nil {
		g = make([]float64, len(r.in.Constraints))
	}
	weights := append([]float64{1}, make([]float64, len(g))...)
	copy(weights[1:], nu)
	r.custom.Space().Write(problem.Iterate, scores)
	f, err := r.custom.Forward(g)
	d = make([]float64, len(scores))
	if err == nil {
		v := r.custom.Space().New()
		err = r.custom.Backward(weights, v)
		r.custom.Space().Read(d, v)
	}
	if err != nil {
		nan := []float64{math.NaN()}
		return nan[0], slices.Repeat(nan, len(g)), slices.Repeat(nan, len(scores))
	}
	return f, g, d
}

// smooth returns f without the regularizer, and g, at the scores.
func (r *evaluator) smooth(scores []float64) (f float64, g []float64) {
	h := r.terms(scores)
	row, f := r.in.System.ObjectiveRow()
	for k, c := range row {
		f += c * h[k]
	}
	if r.custom != nil {
		f, g, _ = r.programValues(scores, nil)
	}
	if r.in.Nodes != nil {
		return f, g
	}
	for k, v := range r.inequalities(h) {
		if at := r.place(k); at < len(g) {
			g[at] = max(g[at], v)
		} else {
			g = append(g, v)
		}
	}
	return f, g
}

// tie is the relative difference within which two inequalities of a maximum count as equal.
const tie = 4e-7

// weights returns the coefficient of each term in f + nu.g. ties says that a constraint with a
// multiplier has several largest inequalities, so that its derivative is not unique.
func (r *evaluator) weights(scores, nu []float64) (row []float64, ties bool) {
	row, _ = r.in.System.ObjectiveRow()
	if r.custom != nil {
		clear(row)
	}
	var values []float64
	largest := map[int]int{} // the inequality of each constraint
	if r.kinked() {
		values = r.inequalities(r.terms(scores))
		for k, v := range values {
			if at, known := largest[r.place(k)]; !known || v > values[at] {
				largest[r.place(k)] = k
			}
		}
	}
	for k, b := range r.in.System.Bounds {
		place := r.place(k)
		if at, known := largest[place]; known && at != k {
			ties = ties || nu[place] != 0 && values[at]-values[k] <= tie*(1+math.Abs(values[at]))
			continue
		}
		for i, c := range b.Coefficients {
			row[i] += nu[place] * c
		}
	}
	return row, ties
}

// direction returns the derivative of f + nu.g by the scores: see weights.
func (r *evaluator) direction(scores, nu []float64) ([]float64, bool) {
	d, p := make([]float64, len(scores)), make([]float64, r.outputs)
	if r.in.Nodes != nil {
		_, _, d = r.programValues(scores, nu)
		return d, r.kinked() // another piece of a maximum may be equally large
	}
	if r.custom != nil {
		_, _, d = r.programValues(scores, nil)
	}
	w, ties := r.weights(scores, nu)
	for k := range r.cells {
		c := &r.cells[k]
		if c.pairs != nil && w[k] != 0 {
			r.addPairSlope(c, scores, d, w[k])
		}
		if w[k] == 0 || len(c.rows) == 0 {
			continue
		}
		own := w[k] / c.weight
		for e, i := range c.rows {
			if t := c.targets[e]; t >= 0 {
				r.slope(c, d[int(i)*r.outputs:][:r.outputs], p, scores[int(i)*r.outputs:][:r.outputs], t, own*weightOf(r.p.Population, int(i)))
			}
		}
	}
	return d, ties
}

// slope adds a weight times the derivative of a row's surrogate by the row's scores s. t is the
// target of the row.
func (r *evaluator) slope(c *cell, to, p, s []float64, t int, weight float64) {
	up := float64(2*t - 1) // the sign with which one score favours the target
	switch {
	case r.outputs == 1 && c.loss:
		to[0] -= weight * up * logisticOf(-up*s[0])
	case r.outputs == 1 && c.phi == nil:
		to[0] += weight * up * logisticOf(s[0]) * logisticOf(-s[0])
	case r.outputs == 1 && c.missed:
		to[0] += weight * up * c.phi.slope(up*s[0])
	case r.outputs == 1:
		to[0] -= weight * up * c.phi.slope(-up*s[0])
	case c.phi != nil:
		for j := range s {
			if j != t {
				v := weight * c.phi.slope(s[t]-s[j])
				to[t] += v
				to[j] -= v
			}
		}
	default:
		softmax(p, s)
		for j, q := range p {
			indicator := 0.0
			if j == t {
				indicator = 1
			}
			if c.loss {
				to[j] += weight * (q - indicator)
			} else {
				to[j] += weight * p[t] * (indicator - q)
			}
		}
	}
}
