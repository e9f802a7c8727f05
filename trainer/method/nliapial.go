package method

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"ppal/internal/option"
	"ppal/internal/vec"
	"ppal/trainer"
	"ppal/trainer/internal/estimate"
	"ppal/trainer/problem"
)

// NLIAPIAL is the nonlinear inner-accelerated proximal inexact augmented Lagrangian method of Kong,
// Melo and Monteiro, "Iteration Complexity of a Proximal Augmented Lagrangian Method for Solving
// Nonconvex Composite Optimization Problems with Nonlinear Convex Constraints", Mathematics of
// Operations Research 2023. The constraints must be convex. With z_0 = x_0, p_0 = 0, lambda =
// 1/(2m) for the modulus m of weak convexity of f, and c_0 = max(1, M/K^2) for the Lipschitz
// constants M of grad f and K of g:
//
//	z_k = approximate minimiser of lambda L_c(.; p_{k-1}) + lambda r + ||. - z_{k-1}||^2/2
//	p_k = max(0, p_{k-1} + c g(z_k))
//
// Accelerated composite gradient steps compute z_k. The steps end when lambda v <= sigma ||z_k -
// z_{k-1}||, or after Inner steps. v is the distance from 0 to the subdifferential of the inner
// objective divided by lambda. The method doubles c when the mean decrease of the potential since
// the last change of c is small:
//
//	(L_c(z_j; p_j) - L_c(z_k; p_k))/(k - j) <= lambda (1 - sigma^2) tol^2/4.
//
// j is the first k with the current c. An iteration is an inner step: one backward pass and usually
// two forward passes; the backtracking of composite can need more forward passes. M, K and m are
// estimates at the start. m is at least a twentieth of M, because for a convex f every m is valid.
type NLIAPIAL struct {
	// Penalty is c_0 > 0; 0 is the default, max(1, M/K^2).
	Penalty float64
	// Modulus is m > 0 and Lipschitz is M > 0; 0 is the default: an estimate at the start.
	Modulus, Lipschitz float64
	// Sigma is the relative accuracy of the inner problems, in (0, 1); 0 is the default, 0.3.
	Sigma float64
	// Tolerance is tol > 0, the target accuracy; 0 is the default, 1e-3.
	Tolerance float64
	// Inner limits the steps of an inner problem; 0 is the default, 100.
	Inner int

	q         *problem.Proximal
	acg       *composite
	t, k      int     // inner steps, and outer iterations with the current c
	potential float64 // L_c(z_j; p_j)
}

var _ trainer.Method = (*NLIAPIAL)(nil)

// The defaults of NLIAPIAL.
const (
	DefaultNLIAPIALSigma     = 0.3
	DefaultNLIAPIALTolerance = 1e-3
	DefaultNLIAPIALInner     = 100
)

func init() {
	describe[NLIAPIAL](Description{
		Rival:   true,
		Summary: "inner-accelerated proximal inexact augmented Lagrangian, for convex constraints",
		About:   "A double loop of accelerated gradient steps with backtracking, which searches its step sizes on all rows. For smooth convex constraints.",
		Source: "Kong, Melo and Monteiro, \"Iteration Complexity of a Proximal Augmented Lagrangian Method for Solving Nonconvex Composite" +
			" Optimization Problems with Nonlinear Convex Constraints\", Mathematics of Operations Research 2023",
	})
}

// Name implements trainer.Method.
func (m *NLIAPIAL) Name() string { return "nl-iapial" }

// Needs implements trainer.Method.
func (m *NLIAPIAL) Needs() trainer.Needs {
	return trainer.Needs{Of: "nl-iapial", Convex: true, AllRows: true, Instead: "use another method"}
}

// Init implements trainer.Method.
func (m *NLIAPIAL) Init(p problem.Problem, at *problem.Point) error {
	if err := checkNumbers(number{"nl-iapial's penalty", m.Penalty}, number{"nl-iapial's modulus", m.Modulus},
		number{"nl-iapial's Lipschitz constant", m.Lipschitz}, number{"nl-iapial's tolerance", m.Tolerance}); err != nil {
		return err
	}
	if !(m.Sigma >= 0 && m.Sigma < 1) || m.Inner < 0 {
		return fmt.Errorf("method: %w: nl-iapial's sigma is %v and the number of inner steps %d, want sigma in (0, 1) and a positive number of steps",
			problem.ErrSettings, m.Sigma, m.Inner)
	}
	m.q = problem.NewProximal(p, 0)
	m.q.Plain = true
	m.acg = newComposite(newAugmentedLagrangian(m.Penalty, len(at.Constraints)), 0, p)
	m.t, m.k, m.potential = 0, 0, math.NaN()
	return nil
}

// Iterate implements trainer.Method.
func (m *NLIAPIAL) Iterate(p problem.Problem, at *problem.Point) error {
	m.q.Problem = p
	if m.q.Rho == 0 {
		if err := m.measure(p, at); err != nil {
			return err
		}
	}
	distance := p.Space().Distance(problem.Iterate, m.q.Center)
	at.Objective += m.q.Rho / 2 * distance * distance
	if err := m.acg.step(m.q, at); err != nil {
		return err
	}
	at.Objective = m.q.Objective
	m.t++
	moved := p.Space().Distance(problem.Iterate, m.q.Center)
	if m.acg.residual > cmp.Or(m.Sigma, DefaultNLIAPIALSigma)*m.q.Rho*moved && m.t < m.inner() {
		return nil
	}
	m.update(at)
	return nil
}

// measure sets lambda, stored as rho = 1/lambda, c_0, and the first s of composite. measure
// estimates the constants that the settings leave at 0.
func (m *NLIAPIAL) measure(p problem.Problem, at *problem.Point) error {
	s := estimate.Curvature{Objective: m.Lipschitz}
	if m.Modulus == 0 || m.Lipschitz == 0 {
		var err error
		if s, err = estimate.Curvatures(p, at, false); err != nil {
			return err
		}
		s.Objective = cmp.Or(m.Lipschitz, s.Objective)
	}
	m.q.Rho, _ = estimate.Proximity(0, m.Modulus, s)
	m.acg.smooth = s.Objective + m.q.Rho
	if m.Penalty > 0 {
		return nil
	}
	bound := make([]float64, len(at.Constraints))
	if err := estimate.NewTerms(p).Bounds(at, bound, m.acg.d); err != nil {
		return err
	}
	m.acg.c = 1
	if size := vec.Dot(bound, bound); size > 0 {
		m.acg.c = math.Max(1, s.Objective/size)
	}
	return nil
}

// update ends an outer iteration. update sets p_k, c and the next centre z_k.
func (m *NLIAPIAL) update(at *problem.Point) {
	copy(m.acg.lambda, m.acg.coefficients[1:])
	potential := m.acg.value(at.Objective, at.Constraints)
	m.k++
	switch {
	case m.k == 1:
		m.potential = potential
	case m.stalled(potential):
		m.acg.c *= 2
		m.k = 0
	}
	m.q.Recenter()
	m.acg.restart()
	m.t = 0
}

// stalled reports whether the mean decrease of the potential is too small.
func (m *NLIAPIAL) stalled(potential float64) bool {
	sigma, tolerance := cmp.Or(m.Sigma, DefaultNLIAPIALSigma), cmp.Or(m.Tolerance, DefaultNLIAPIALTolerance)
	return (m.potential-potential)/float64(m.k-1) <= (1-sigma*sigma)*tolerance*tolerance/(4*m.q.Rho)
}

// inner returns Inner or its default.
func (m *NLIAPIAL) inner() int {
	if m.Inner == 0 {
		return DefaultNLIAPIALInner
	}
	return m.Inner
}

// Report implements trainer.Method.
func (m *NLIAPIAL) Report() trainer.Report {
	r := trainer.NewReport(math.NaN(), m.acg.lambda)
	if m.acg.smooth > 0 {
		r.StepSize = 1 / m.acg.smooth
	}
	return r
}

// VisitState implements trainer.Method.
func (m *NLIAPIAL) VisitState(v problem.StateVisitor) {
	v.Count("nl-iapial.t", &m.t)
	v.Count("nl-iapial.k", &m.k)
	v.Number("nl-iapial.potential", &m.potential)
	v.Number("nl-iapial.rho", &m.q.Rho)
	v.Vector("nl-iapial.center", m.q.Center)
	m.acg.visitState(v)
}

// options returns the settings, bound to the fields of m.
func (m *NLIAPIAL) options() []*option.Option {
	return []*option.Option{
		option.NumberOr("nl-iapial-penalty", &m.Penalty, option.Positive, "auto",
			"set the first penalty c_0; auto: max(1, M/K^2) with the Lipschitz constants measured at the start"),
		option.NumberOr("nl-iapial-modulus", &m.Modulus, option.Positive, "auto", "set the modulus m of weak convexity of f; auto measures it"),
		option.NumberOr("nl-iapial-lipschitz", &m.Lipschitz, option.Positive, "auto",
			"set the Lipschitz constant M of the gradient of f; auto measures it"),
		option.Number("nl-iapial-sigma", &m.Sigma, option.Between(0, 1), "set the relative accuracy of the inner problems").
			Or(option.Float(DefaultNLIAPIALSigma)),
		option.Number("nl-iapial-tolerance", &m.Tolerance, option.Positive, "set the accuracy that decides when the penalty grows").
			Or(option.Float(DefaultNLIAPIALTolerance)),
		option.Count("nl-iapial-inner", &m.Inner, option.AtLeast(1), "limit the steps on an inner problem").
			Or(strconv.Itoa(DefaultNLIAPIALInner)).In("iterations"),
	}
}
