package method

import (
	"math"
	"strconv"

	"ppal/internal/option"
	"ppal/internal/vec"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/internal/estimate"
	"ppal/trainer/problem"
)

// IPPConEx is the inexact proximal point method with constraint extrapolation as its inner loop
// (Boob, Deng and Lan 2022, ConEx). t counts from 0 at the centre x_0 = x_c (see ProximalPoint).
// l_t is g~ linearised at x_{t-1} and evaluated at x_t, with l_0 = l_{-1} = g~(x_0):
//
//	q       = (1 + theta_t) l_t - theta_t l_{t-1}
//	y       = max(0, y + (t+1) rho^/(32 M^2) q)
//	d       = zeta_f + rho^ (x_t - x_c) + sum_j y_j (zeta_gj + rho^ (x_t - x_c))
//	x_{t+1} = prox_{e r}(x_t - e d)
//	theta_t = (t+t0+1)/(t+t0+2),  e = 2/(rho^ (t+t0+1))
//
// The next centre is the mean of x_1..x_N; x_{t+1} has the weight t+t0+2. The linearisations need
// the derivative of each g_j along x_t - x_{t-1}. For up to 4 constraints the gradients of the
// constraints give the derivatives: 1 + m backward passes an iteration. For more constraints,
// central differences of the constraints' smooth terms give the derivatives: one backward and three
// forward passes an iteration.
//
// The published method restarts every inner loop from the same y. This implementation continues
// each inner loop with the last y, because few inner steps are efficient, and in few steps a
// multiplier that restarts from 0 stays too small. Restart selects the published rule.
type IPPConEx struct {
	ProximalPoint
	// T0 is t0 > 0. 0 is the default: 2 + L/rho^ at each centre, L = L_f + sum_j y_j (L_g + rho^). L_f
	// and L_g are the curvatures of f and g estimated at the start. With the default, e is at most
	// 1/(L + rho^) for the current y. The published 2 + 4 L/rho^, with a bound of y, is slower.
	T0 float64
	// Bound is M > 0, a bound on the norm of the constraints' subgradients. 0 is the default: the root
	// of the sum of the squared norms of the subgradients at x_c. The sum covers at most 4 smooth
	// terms: the terms of the largest pieces. With more than 4 constraints M is at least the
	// Jacobian's norm at the start (12 gradients, counted).
	Bound float64
	// Restart begins each inner loop with y = 0.
	Restart bool

	universal
	loop            proximalLoop
	slopes          estimate.Slopes
	values          []float64 // g at x_t
	before, now     []float64 // l_{t-1} and l_t
	y, coefficients []float64 // y, and 1, y
	t0, bound2      float64   // t0, M^2
	norm2           float64   // squared norm of the Jacobian at the start
	last            float64   // last step size
}

var (
	_ trainer.Method    = (*IPPConEx)(nil)
	_ trainer.Weigher   = (*IPPConEx)(nil)
	_ trainer.Returner  = (*IPPConEx)(nil)
	_ trainer.Concluder = (*IPPConEx)(nil)
)

const conexDual = 32 // factor of M^2 in the step of y

func init() {
	describe[IPPConEx](Description{
		Kinks: true, Rival: true,
		Summary: "inexact proximal point, inner loop by constraint extrapolation",
		About:   "Solves strongly convex problems around a centre, one after the other, by extrapolated linearised constraints.",
		Source: "Boob, Deng and Lan, \"Stochastic First-order Methods for Convex and Nonconvex Functional Constrained Optimization\"," +
			" Mathematical Programming 2022",
	})
}

// Name implements trainer.Method.
func (m *IPPConEx) Name() string { return "ipp-conex" }

// Init implements trainer.Method.
func (m *IPPConEx) Init(p problem.Problem, at *problem.Point) error {
	if err := m.validate(m.Name()); err != nil {
		return err
	}
	if err := checkNumbers(number{"ipp-conex's t0", m.T0}, number{"ipp-conex's bound", m.Bound}); err != nil {
		return err
	}
	m.loop = newProximalLoop(m.ProximalPoint, m.T0 == 0, p)
	m.slopes = estimate.NewSlopes(p, m.loop.terms)
	count := len(at.Constraints)
	m.coefficients = make([]float64, 1+count)
	for _, s := range []*[]float64{&m.values, &m.before, &m.now, &m.y} {
		*s = make([]float64, count)
	}
	m.t0, m.norm2, m.last = m.T0, 0, math.NaN()
	return nil
}

// Iterate implements trainer.Method.
func (m *IPPConEx) Iterate(p problem.Problem, at *problem.Point) error {
	if m.loop.t == 0 {
		if err := m.open(p, at); err != nil {
			return err
		}
	}
	t := float64(m.loop.t)
	m.ascend(t)
	if err := m.gradients(p, at); err != nil {
		return err
	}
	if err := m.descend(p, t); err != nil {
		return err
	}
	_, err := m.loop.advance(p, at, m)
	return err
}

// open starts an inner loop at the iterate, the new centre.
func (m *IPPConEx) open(p problem.Problem, at *problem.Point) error {
	if err := m.loop.open(p, at); err != nil {
		return err
	}
	if m.Restart {
		clear(m.y)
	}
	if m.T0 == 0 {
		m.t0 = 2 + m.curvature()/m.loop.rho
	}
	if err := m.size(p, at); err != nil {
		return err
	}
	copy(m.now, at.Constraints) // at the centre g~ = g
	copy(m.before, m.now)
	return nil
}

// curvature returns L.
func (m *IPPConEx) curvature() float64 {
	return m.loop.measured.Objective + vec.Norm1(m.y)*(m.loop.measured.Constraint+m.loop.rho)
}

// size sets M^2.
func (m *IPPConEx) size(p problem.Problem, at *problem.Point) error {
	if m.Bound > 0 {
		m.bound2 = m.Bound * m.Bound
		return nil
	}
	if m.norm2 == 0 && len(m.y) > estimate.MostTerms {
		norm, err := estimate.Jacobian(p, at)
		if err != nil {
			return err
		}
		m.norm2 = norm * norm
	}
	if err := m.loop.bounds(at); err != nil {
		return err
	}
	m.bound2 = math.Max(m.norm2, vec.Dot(m.loop.bound, m.loop.bound))
	return nil
}

// ascend takes the step of y at the inner step t.
func (m *IPPConEx) ascend(t float64) {
	if m.bound2 == 0 { // all subgradients are 0: the constraints do not depend on x
		return
	}
	theta, step := (t+m.t0+1)/(t+m.t0+2), (t+1)*m.loop.rho/(conexDual*m.bound2)
	for j, now := range m.now {
		m.y[j] = math.Max(0, m.y[j]+step*((1+theta)*now-theta*m.before[j]))
	}
}

// gradients sets d = zeta_f + sum_j y_j zeta_gj at the iterate x_t, and prepares the slopes at x_t.
func (m *IPPConEx) gradients(p problem.Problem, at *problem.Point) error {
	copy(m.values, at.Constraints)
	m.coefficients[0] = 1
	copy(m.coefficients[1:], m.y)
	if err := at.Backward(p, m.coefficients, m.loop.d); err != nil {
		return err
	}
	return m.slopes.Start(p, at)
}

// descend takes the step of x and linearises the constraints along the step.
func (m *IPPConEx) descend(p problem.Problem, t float64) error {
	m.last = 2 / (m.loop.rho * (t + m.t0 + 1))
	if m.T0 == 0 {
		m.last = math.Min(m.last, 1/(m.curvature()+m.loop.rho))
	}
	m.loop.descend(p, m.last, m.loop.d, 1+vec.Norm1(m.y))
	p.Space().Prox(m.last, problem.Iterate)
	return m.slopes.Along(p)
}

// see implements innerObserver. see adds x_{t+1} to the mean and evaluates at x_{t+1} the
// linearisation of g~ at x_t,
//
//	g_j(x_t) + zeta_gj.(x_{t+1} - x_t) + (rho^/2)(||x_{t+1} - x_c||^2 - ||x_{t+1} - x_t||^2).
func (m *IPPConEx) see(p problem.Problem, _ *problem.Point) {
	m.loop.add(p, float64(m.loop.t)+m.t0+1)
	quadratic := m.loop.proximity(p) - m.loop.rho/2*m.slopes.Length*m.slopes.Length
	copy(m.before, m.now)
	for j, g := range m.values {
		m.now[j] = g + m.slopes.Slope[j] + quadratic
	}
}

// Return implements trainer.Returner.
func (m *IPPConEx) Return(p problem.Problem) bool { return m.loop.moveToMean(p) }

// OutputWeight implements trainer.Weigher.
func (m *IPPConEx) OutputWeight(*problem.Point) float64 { return m.loop.outputWeight() }

// Conclude implements trainer.Concluder.
func (m *IPPConEx) Conclude(*problem.Point, certify.Certificate) (warnings, notes []string) {
	return m.loop.conclude("--ipp-conex-rho")
}

// Report implements trainer.Method.
func (m *IPPConEx) Report() trainer.Report { return trainer.NewReport(m.last, m.y) }

// VisitState implements trainer.Method.
func (m *IPPConEx) VisitState(v problem.StateVisitor) {
	v.Numbers("ipp-conex.y", m.y)
	v.Numbers("ipp-conex.before", m.before)
	v.Numbers("ipp-conex.now", m.now)
	v.Number("ipp-conex.t0", &m.t0)
	v.Number("ipp-conex.bound2", &m.bound2)
	v.Number("ipp-conex.norm2", &m.norm2)
	v.Number("ipp-conex.step", &m.last)
	m.loop.visitState(v)
}

// options returns the settings, bound to the fields of m.
func (m *IPPConEx) options() []*option.Option {
	return []*option.Option{
		option.NumberOr("ipp-conex-t0", &m.T0, option.Positive, "auto", "set t0 of the inner steps; auto derives it from the measured curvature"),
		option.NumberOr("ipp-conex-bound", &m.Bound, option.Positive, "auto",
			"set the bound M on the constraints' subgradients; auto measures it"),
		m.rhoOption("ipp-conex-rho"),
		option.Count("ipp-conex-inner", &m.Inner, option.AtLeast(1), "set the number of inner steps on a proximal problem").
			Or(strconv.Itoa(DefaultInnerLoop)).In("iterations"),
		option.Switch("ipp-conex-restart", &m.Restart, "begin each inner loop with multipliers of 0, as published"),
	}
}
