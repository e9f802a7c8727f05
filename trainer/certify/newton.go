package certify

import (
	"math"
	"slices"

	"ppal/internal/vec"
	"ppal/trainer/internal/qp"
	"ppal/trainer/problem"
)

// distanceNewton holds the settings of the Newton steps on the distance to the subdifferential.
var distanceNewton = qp.Newton{Iterations: 50, Still: 1e-15}

// shareSet is the feasible set of the pieces' shares y of the multipliers: y >= 0, and, if sums are
// given, the shares of each constraint add up to the constraint's sum.
type shareSet struct {
	constraint []int // constraint of each share
	sums       []float64
}

// each returns the set with one share for each of m constraints.
func each(m int) shareSet {
	s := shareSet{constraint: make([]int, m)}
	for j := range m {
		s.constraint[j] = j
	}
	return s
}

// newton minimises (D(a_0 + sum_i y_i a_i)^2 + sum_j (nu_j g_j)^2)/2 over the set of shares. nu_j
// is the sum of the shares of constraint j. D(v) is the distance from 0 to v + subdifferential of
// r. D^2/2 is convex and piecewise smooth; its gradient at v is p, the smallest element of v +
// subdifferential of r. Semismooth Newton steps (Qi and Sun 1993), each a least-squares problem
// over the set, therefore reach the minimiser after few steps. columns are a_0 = grad f, a_1, ...
// Every y of the set certifies x: the accuracy affects only the size of the residual.
func (c *certifier) newton(set shareSet, columns []problem.Vector) []float64 {
	w := &distanceModel{certifier: c, set: set, columns: make([][]float64, len(columns)),
		combined: make([]float64, len(c.x)), slope: make([]float64, len(columns)-1), nu: make([]float64, len(c.at.Constraints))}
	for i, a := range columns {
		w.columns[i] = make([]float64, len(c.x))
		c.p.Space().Read(w.columns[i], a)
	}
	y := make([]float64, len(columns)-1)
	if set.sums != nil {
		y = qp.New(len(y)).WithSums(set.constraint, set.sums)
	}
	distanceNewton.Minimise(y, w)
	return y
}

// distanceModel evaluates newton's objective on the host.
type distanceModel struct {
	*certifier
	set      shareSet
	columns  [][]float64
	combined []float64 // a_0 + sum_i y_i a_i
	slope    []float64 // the objective's gradient in y
	nu       []float64 // the sum of each constraint's shares
}

// Value implements qp.Objective; combined, residual and nu hold the parts of the value.
func (w *distanceModel) Value(y []float64) (value, terms float64) {
	copy(w.combined, w.columns[0])
	clear(w.nu)
	for i, share := range y {
		for k, v := range w.columns[1+i] {
			w.combined[k] += share * v
		}
		w.nu[w.set.constraint[i]] += share
	}
	w.certifier.p.Space().Regularizer.WithMultipliers(w.nu).Residual(w.residual, w.x, w.combined, w.certifier.set.Sphere)
	sum := vec.Dot(w.residual, w.residual)
	for j, nu := range w.nu {
		sum += nu * nu * w.at.Constraints[j] * w.at.Constraints[j]
	}
	return sum / 2, 0
}

// Model implements qp.Objective.
func (w *distanceModel) Model(y []float64) (target, slope []float64) {
	r, tolerance := w.certifier.p.Space().Regularizer, w.certifier.set.Sphere
	q := qp.New(len(y))
	image, columns := make([]float64, len(w.x)), w.moves()
	for i := range y {
		j := w.set.constraint[i]
		g := w.at.Constraints[j]
		w.slope[i] = vec.Dot(columns[i], w.residual) + g*g*w.nu[j]
		copy(image, columns[i])
		r.ResidualDerivative(image, w.residual, w.x, w.combined, tolerance)
		for k := 0; k <= i; k++ {
			h := vec.Dot(image, columns[k])
			if w.set.constraint[k] == j {
				h += g * g
			}
			q.Hessian.SetSym(i, k, h)
		}
	}
	q.Shift(w.slope, y)
	if w.set.sums != nil {
		return q.WithSums(w.set.constraint, w.set.sums), w.slope
	}
	return q.NonNegative(), w.slope
}

// moves returns the derivatives of v in y: a_1, ... The multiplier of an l1 ball lowers |p_k| at
// each weight x_k = 0 with p_k != 0.
func (w *distanceModel) moves() [][]float64 {
	list, b := slices.Clone(w.columns[1:]), w.certifier.p.Space().Regularizer.L1Ball
	for i, j := range w.set.constraint {
		if b == nil || j != b.Constraint {
			continue
		}
		list[i] = slices.Clone(list[i])
		for k, x := range w.x[:b.Count] {
			if p := w.residual[k]; x == 0 && p != 0 {
				list[i][k] = -math.Copysign(1, p)
			}
		}
	}
	return list
}
