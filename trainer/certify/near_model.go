package certify

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"ppal/internal/vec"
	"ppal/trainer/internal/qp"
	"ppal/trainer/problem"
)

// ballModel is the moving balls model (Auslender, Shefi and Teboulle 2010) of min f + r s.t. g_j <=
// 0 at y. The model replaces each function by its linearisation with the curvature s. Each
// constraint then describes a ball,
//
//	minimise v.d + (s/2)||d||^2 + r(y + d)  subject to  c_j + a_j.d + (s/2)||d||^2 <= t,
//	v = grad f(y), a_j = grad g_j(y).
//
// solve maximises the dual of the model over the few multipliers l. With A the matrix of the rows
// a_j and S = s (1 + sum l), the minimiser of the Lagrangian is
//
//	z(l) = y + d = prox_{r/S}(y - (v + A'l)/S).
//
// The dual's gradient holds the model's constraints at d, minus t. With the rows b_j = a_j + s d,
// -B B'/S is the dual's Hessian if r is smooth, and a bound of the Hessian if r has kinks. Each
// Newton step is therefore a non-negative least squares problem. The vectors are on the host in
// float64 for every precision of the problem, because the relevant numbers are small differences.
type ballModel struct {
	*problem.HostSpace[float64]                  // the iterate is z
	curvature                   float64          // s
	level                       float64          // t
	values                      []float64        // c_j
	y, v, d, pull               problem.Vector   // y, v, d, and the result of combined
	columns                     []problem.Vector // a_j
	gram                        *mat.SymDense    // A A'
	slope                       []float64        // the dual's gradient
	along                       []float64        // a_j.d
	size                        float64          // ||d||^2
}

// ballNewton holds the settings of the Newton steps on the dual, whose value has terms that cancel.
var ballNewton = qp.Newton{Iterations: 100, Still: -1, Rounding: 1e-15}

// restoration is the share of the constraints' excess that a step from an infeasible point leaves.
// The excess is the constraints' maximum minus the least maximum that the model can reach. A model
// without the share may have an empty interior, and then no finite multiplier.
const restoration = 0.1

// newBallModel returns a model of n variables without constraints.
func newBallModel(n int, r problem.Regularizer) *ballModel {
	b := &ballModel{HostSpace: problem.NewHostSpace(make([]float64, n), r)}
	b.y, b.v, b.d, b.pull = b.New(), b.New(), b.New(), b.New()
	return b
}

// add makes room for another constraint; the caller sets its value and gradient, and then calls
// products.
func (b *ballModel) add() {
	b.columns = append(b.columns, b.New())
	b.values = append(b.values, 0)
	b.slope = append(b.slope, 0)
	b.along = append(b.along, 0)
}

// products computes the products of the current columns.
func (b *ballModel) products() {
	if len(b.columns) == 0 {
		return
	}
	b.gram = mat.NewSymDense(len(b.columns), nil)
	for i, a := range b.columns {
		for k := range i + 1 {
			b.gram.SetSym(i, k, b.Dot(a, b.columns[k]))
		}
	}
}

// combined sets pull = weight v + A'l.
func (b *ballModel) combined(weight float64, l []float64) {
	b.Combine(b.pull, weight, b.v, 0, b.v)
	for j, a := range b.columns {
		if l[j] != 0 {
			b.Combine(b.pull, 1, b.pull, l[j], a)
		}
	}
}

// evaluate sets z, d and the slope at the multipliers l, and returns the dual's value and the size
// of its terms. The weight of f and r is 1, or 0 to minimise a mean of the constraints alone.
func (b *ballModel) evaluate(weight, s float64, l []float64) (value, terms float64) {
	b.combined(weight, l)
	total := s * (weight + vec.Norm1(l))
	b.Combine(problem.Iterate, 1, b.y, -1/total, b.pull)
	if weight > 0 {
		b.Space().Prox(1/total, problem.Iterate)
		value = b.Space().Regularizer.Value(b.Slice(problem.Iterate))
	} else {
		b.Space().Project()
	}
	b.Combine(b.d, 1, problem.Iterate, -1, b.y)
	b.size = b.Dot(b.d, b.d)
	add := func(v float64) { value, terms = value+v, terms+math.Abs(v) }
	terms = math.Abs(value)
	add(b.Dot(b.pull, b.d))
	add(total / 2 * b.size)
	for j, a := range b.columns {
		b.along[j] = b.Dot(a, b.d)
		b.slope[j] = b.values[j] - b.level + b.along[j] + s/2*b.size
		add(l[j] * (b.values[j] - b.level))
	}
	return value, terms
}

// solve maximises the dual from l, which it changes, and leaves z and d at the maximum.
func (b *ballModel) solve(l []float64) { b.ascend(1, l) }

// restore sets t, which is above 0 only if a constraint is above 0. If a constraint is above 0,
// restore returns w, the convex combination of the constraints with the largest minimum in the
// model: the largest minimum is the least maximum that the model can reach. Otherwise it returns
// nil.
func (b *ballModel) restore() []float64 {
	b.level = 0
	most := problem.MaxViolation(b.values)
	if most == 0 {
		return nil
	}
	w := make([]float64, len(b.columns))
	for j, v := range b.values {
		if v == most {
			w[j] = 1
			break
		}
	}
	least := b.ascend(0, w)
	b.level = math.Max(0, least+restoration*math.Max(0, most-least))
	return w
}

// least returns the minimum over all x of the combination w of the constraints, whose modulus of
// strong convexity is s: a lower bound of the constraints' maximum.
func (b *ballModel) least(s float64, w []float64) float64 {
	level := b.level
	b.level = 0
	value, _ := b.evaluate(0, s, w)
	b.level = level
	return value
}

// ascend maximises the dual: over l >= 0 if the weight of f is 1, and over the convex combinations
// of the constraints if the weight is 0. It changes l and returns the dual's value.
func (b *ballModel) ascend(weight float64, l []float64) float64 {
	ballNewton.Minimise(l, &negativeDual{b, weight, make([]float64, len(l))})
	value, _ := b.evaluate(weight, b.curvature, l)
	return value
}

// negativeDual is the negative dual as a qp.Objective.
type negativeDual struct {
	*ballModel
	weight float64
	slopes []float64
}

// Value implements qp.Objective.
func (d *negativeDual) Value(l []float64) (value, terms float64) {
	value, terms = d.evaluate(d.weight, d.curvature, l)
	return -value, terms
}

// Model implements qp.Objective.
func (d *negativeDual) Model(l []float64) (target, slope []float64) {
	q, s := qp.New(len(l)), d.curvature
	total := s * (d.weight + vec.Norm1(l))
	for i := range l {
		d.slopes[i] = -d.slope[i]
		for k := range i + 1 {
			q.Hessian.SetSym(i, k, (d.gram.At(i, k)+s*(d.along[i]+d.along[k]+s*d.size))/total)
		}
	}
	q.Shift(d.slopes, l)
	if d.weight == 0 {
		return q.WithSums(make([]int, len(l)), []float64{1}), d.slopes
	}
	return q.NonNegative(), d.slopes
}
