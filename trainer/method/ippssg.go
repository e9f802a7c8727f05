package method

import (
	"cmp"
	"math"
	"strconv"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// IPPSSG is the inexact proximal point method with the switching subgradient method as its inner
// loop (Huang and Lin, NeurIPS 2023, and Jia and Grimmer, "First-Order Methods for Nonsmooth
// Nonconvex Functional Constrained Optimization with or without Slater Points", 2022). With s =
// rho^ - modulus, g~ = max_j g~_j, and t from 0 at the centre x_0 = x_c (see ProximalPoint):
//
//	g~(x_t) <= tol:  x_{t+1} = prox_{e r}(x_t - e (zeta_f + rho^ (x_t - x_c))), and x_t counts
//	otherwise:       x_{t+1} = Proj(x_t - e (zeta_g + rho^ (x_t - x_c)))
//	e = 2/(s (t+2) + L^2/(s (t+1)))
//
// The next centre is the (t+1)-weighted mean of the inner iterates x_0..x_N that count; if no
// iterate counts, the next centre is x_N. e is at most 1/L: in the published rule L is a curvature,
// ||zeta||^2 <= L_0^2 + L (f~ - min f~), and the bound 1/L keeps the first steps stable for a
// smooth f. The method has no certified multiplier of its own.
//
// If the feasible set is narrow, all of x_1..x_N can be infeasible, and the centre never approaches
// the solution. Therefore N, at first Inner, doubles after a loop in which none of x_1..x_N counts
// and g at the centre does not fall. N never shrinks.
type IPPSSG struct {
	ProximalPoint
	// Tolerance is tol > 0; 0 is the default, 1e-3.
	Tolerance float64
	// Bound is L > 0. 0 is the default: the largest of the norms of zeta_f and of the subgradients of
	// g at x_c, and of the curvatures of f~ and g~ estimated at the start.
	Bound float64

	universal
	loop         proximalLoop
	d            problem.Vector
	coefficients []float64
	l, last      float64 // L, and the last step size
	counted      int     // number of iterates after x_0 in this loop that count

	centerWorst float64 // g at the centre
}

var (
	_ trainer.Method    = (*IPPSSG)(nil)
	_ trainer.Weigher   = (*IPPSSG)(nil)
	_ trainer.Returner  = (*IPPSSG)(nil)
	_ trainer.Concluder = (*IPPSSG)(nil)
)

// ippSSGMost is the limit at which N stops doubling.
const ippSSGMost = 1 << 20

func init() {
	describe[IPPSSG](Description{
		Kinks: true, Rival: true,
		Summary: "inexact proximal point, inner loop by switching subgradients",
		About:   "Solves strongly convex problems around a centre, one after the other, by switching subgradient steps.",
		Source:  "Huang and Lin, NeurIPS 2023; Jia and Grimmer 2022; Boob, Deng and Lan, Mathematical Programming 2022, section 3",
	})
}

// Name implements trainer.Method.
func (m *IPPSSG) Name() string { return "ipp-ssg" }

// Init implements trainer.Method.
func (m *IPPSSG) Init(p problem.Problem, at *problem.Point) error {
	if err := m.validate(m.Name()); err != nil {
		return err
	}
	if err := checkNumbers(number{"ipp-ssg's tolerance", m.Tolerance}, number{"ipp-ssg's bound", m.Bound}); err != nil {
		return err
	}
	m.loop, m.d, m.coefficients = newProximalLoop(m.ProximalPoint, m.Bound == 0, p), p.Space().New(), make([]float64, 1+len(at.Constraints))
	m.l, m.last = m.Bound, math.NaN()
	return nil
}

// Iterate implements trainer.Method.
func (m *IPPSSG) Iterate(p problem.Problem, at *problem.Point) error {
	if m.loop.t == 0 {
		if err := m.open(p, at); err != nil {
			return err
		}
	}
	worst, j := largestConstraint(at.Constraints)
	feasible := m.counts(p, worst)
	clear(m.coefficients)
	if feasible {
		m.coefficients[0] = 1
	} else {
		m.coefficients[1+j] = 1
	}
	if err := at.Backward(p, m.coefficients, m.d); err != nil {
		return err
	}
	t, s := float64(m.loop.t), m.loop.strong
	m.last = 2 / (s*(t+2) + m.l*m.l/(s*(t+1)))
	m.loop.descend(p, m.last, m.d, 1)
	if feasible {
		p.Space().Prox(m.last, problem.Iterate)
	} else {
		p.Space().Project()
	}
	ended, err := m.loop.advance(p, at, m)
	if ended && err == nil {
		m.lengthen(at)
	}
	return err
}

// lengthen doubles N, up to ippSSGMost, if no iterate of the loop counts and g at the new centre is
// not below g at the old centre.
func (m *IPPSSG) lengthen(at *problem.Point) {
	worst, _ := largestConstraint(at.Constraints)
	if m.counted == 0 && worst >= m.centerWorst && m.loop.inner < ippSSGMost {
		m.loop.inner *= 2
	}
}

// open starts an inner loop at the iterate, the new centre, and measures L if Bound is 0.
func (m *IPPSSG) open(p problem.Problem, at *problem.Point) error {
	if err := m.loop.open(p, at); err != nil {
		return err
	}
	m.see(p, at)
	m.counted = 0
	m.centerWorst, _ = largestConstraint(at.Constraints)
	if m.Bound > 0 {
		return nil
	}
	if err := m.loop.bounds(at); err != nil {
		return err
	}
	clear(m.coefficients)
	m.coefficients[0] = 1
	if err := at.Backward(p, m.coefficients, m.d); err != nil {
		return err
	}
	m.l = math.Max(math.Sqrt(p.Space().Dot(m.d, m.d)), m.loop.rho+math.Max(m.loop.measured.Objective, m.loop.measured.Constraint))
	for _, b := range m.loop.bound {
		m.l = math.Max(m.l, b)
	}
	return nil
}

// counts reports whether g~ <= tol at the iterate. The argument g is the largest constraint.
func (m *IPPSSG) counts(p problem.Problem, g float64) bool {
	return g+m.loop.proximity(p) <= cmp.Or(m.Tolerance, DefaultSSGTolerance)
}

// see implements innerObserver. see adds the inner iterate to the mean if the iterate counts.
func (m *IPPSSG) see(p problem.Problem, at *problem.Point) {
	if worst, _ := largestConstraint(at.Constraints); m.counts(p, worst) {
		m.loop.add(p, float64(m.loop.t+1))
		m.counted++
	}
}

// Return implements trainer.Returner.
func (m *IPPSSG) Return(p problem.Problem) bool { return m.loop.moveToMean(p) }

// OutputWeight implements trainer.Weigher.
func (m *IPPSSG) OutputWeight(*problem.Point) float64 { return m.loop.outputWeight() }

// Conclude implements trainer.Concluder.
func (m *IPPSSG) Conclude(*problem.Point, certify.Certificate) (warnings, notes []string) {
	return m.loop.conclude("--ipp-ssg-rho")
}

// Report implements trainer.Method.
func (m *IPPSSG) Report() trainer.Report { return trainer.NewReport(m.last, nil) }

// VisitState implements trainer.Method.
func (m *IPPSSG) VisitState(v problem.StateVisitor) {
	v.Number("ipp-ssg.bound", &m.l)
	v.Number("ipp-ssg.step", &m.last)
	v.Count("ipp-ssg.counted", &m.counted)
	v.Number("ipp-ssg.center", &m.centerWorst)
	m.loop.visitState(v)
}

// options returns the settings, bound to the fields of m.
func (m *IPPSSG) options() []*option.Option {
	return []*option.Option{
		option.Number("ipp-ssg-tolerance", &m.Tolerance, option.Positive, "step on the objective while the largest constraint is at most this").
			Or(option.Float(DefaultSSGTolerance)),
		option.NumberOr("ipp-ssg-bound", &m.Bound, option.Positive, "auto", "set the bound L of the inner steps; auto measures it"),
		m.rhoOption("ipp-ssg-rho"),
		option.Count("ipp-ssg-inner", &m.Inner, option.AtLeast(1), "set the first number of inner steps on a proximal problem").
			Or(strconv.Itoa(DefaultInnerLoop)).In("iterations"),
	}
}
