package trainer

import (
	"fmt"
	"math"

	"ppal/trainer/problem"
)

// XStep names PLADA's x-step.
type XStep int

// PLADA's x-steps. The smooth form of a piecewise problem (Split) is a problem of its own, for every method.
const (
	// XStepAuto is ProxLinear where it applies to at most 4 constraints |h| - eps, or other maxima of at most 4 smooth terms in all
	// (it pays a backward pass for each), else Subgradient.
	XStepAuto XStep = iota
	// Subgradient takes the primal step along grad f + d^T lambda, d a subgradient of g at x_k (sign(0) = 0). It is outside the
	// paper's proof, which minimises over <lambda_k, g(x)> itself; near a kink it can chatter.
	Subgradient
	// ProxLinear linearises the smooth terms inside the maxima (|h| - eps, or any Piecewise constraints) and solves the rest exactly;
	// r is none. A coordinate with lambda_j < 0 is held at a stationary value (see proxLinear and pieceShares).
	ProxLinear
	// Inner does a number of subgradient steps on the exact subproblem (see innerStep).
	Inner
	// Split is Subgradient on a problem whose gaps |h| <= eps stand as h <= eps and -h <= eps. The
	// caller builds that problem.
	Split
)

// PLADA is the proximal-perturbed Lagrangian alternating direction method for non-smooth constraints (Moon et al., Algorithm 1):
//
//	x+   = argmin <grad f(x_k), x> + <lambda_k, g(x)> + ||x - x_k||^2/(2 eta) + r(x)     see XStep
//	u+   = max(0, u - tau lambda)
//	s    = min(sigma_0/rho, delta_k/(||lambda - mu||^2 + 1))
//	mu+  = mu + s (lambda - mu)
//	lambda+ = mu+ + rho (g(x+) + u+)
//
// The step s of mu is that of the text's equation and the lemmas (||mu+ - mu|| <= delta_k/2); BoxStep takes the algorithm box
// literally. The multiplier nu = max(0, lambda_k - u_k/tau) certifies x_{k+1}. The zero value has the practical settings.
type PLADA struct {
	Perturbation
	Primal PrimalSettings
	XStep  XStep
	// InnerSteps is the number of steps of Inner; 0 is the default, 10.
	InnerSteps int
	// Sigma0 caps the step of mu; 0 is the default: no cap.
	Sigma0 float64
	// BoxStep is the algorithm box's s = min(sigma_0, rho delta_k/(||lambda - mu||^2 + 1)), without 1/rho. It warns when s > 1.
	BoxStep bool
	// Tolerance is the violation that counts as met in the closing warnings; 0 is the default, 1e-3.
	Tolerance float64

	firstOrder
	dual perturbed
}

var (
	_ Method    = (*PLADA)(nil)
	_ DualRule  = (*PLADA)(nil)
	_ Diagnoser = (*PLADA)(nil)
	_ Concluder = (*PLADA)(nil)
)

const (
	// DefaultPLADASlackRatio is the default of tau rho in PLADA, inside the theorem's bound 1/3.
	DefaultPLADASlackRatio = 0.9 / 3
	// DefaultInnerSteps is the default of PLADA.InnerSteps.
	DefaultInnerSteps = 10

	pladaTauBound  = 1.0 / 3
	proxLinearMost = 4 // rows up to which XStepAuto pays a backward pass for each
)

// Name implements Method.
func (m *PLADA) Name() string { return "plada" }

// validate checks what the dual state does not.
func (m *PLADA) validate() error {
	switch {
	case !isSize(m.Sigma0) || m.InnerSteps < 0:
		return fmt.Errorf("trainer: %w: sigma0 is %v and inner steps %d, want positive numbers", problem.ErrSettings, m.Sigma0, m.InnerSteps)
	case m.XStep < XStepAuto || m.XStep > Split:
		return fmt.Errorf("trainer: %w: PLADA has no x-step %d", problem.ErrSettings, m.XStep)
	}
	return nil
}

// Init implements Method.
func (m *PLADA) Init(p problem.Problem, at *problem.Point) error {
	step, err := m.newXStep(p)
	if err != nil {
		return err
	}
	return m.start(m, step, at)
}

func (m *PLADA) newXStep(p problem.Problem) (primalStep, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	if err := m.Primal.validate(); err != nil {
		return nil, err
	}
	switch m.xStep(p) {
	case ProxLinear:
		return newProxLinear(m.Primal, p)
	case Inner:
		steps := m.InnerSteps
		if steps == 0 {
			steps = DefaultInnerSteps
		}
		return newInnerStep(m.Primal, steps, p)
	}
	return newPrimalStep(m.Primal, p)
}

// xStep resolves XStepAuto.
func (m *PLADA) xStep(p problem.Problem) XStep {
	if m.XStep != XStepAuto {
		return m.XStep
	}
	if m.Primal.Kind == Adam || proxLinearApplies(p) != nil {
		return Subgradient
	}
	if rows, _ := rowTerms(p.(problem.Piecewise)); len(rows) > proxLinearMost {
		return Subgradient
	}
	return ProxLinear
}

// Report implements Method.
func (m *PLADA) Report() Report { return m.dual.report(m.stepSize()) }

// PrimalStep implements DualRule.
func (m *PLADA) PrimalStep() PrimalSettings { return m.Primal }

// StartDual implements DualRule.
func (m *PLADA) StartDual(g []float64) error {
	if err := m.validate(); err != nil {
		return err
	}
	step := m.Primal
	if m.XStep == Inner { // without momentum
		step.Kind = Gradient
	}
	return m.dual.start(m.Perturbation, DefaultDeltaP(step), DefaultPLADASlackRatio, g)
}

// Weights implements DualRule: w = lambda.
func (m *PLADA) Weights(w, _ []float64) { copy(w, m.dual.lambda) }

// stepsAlone says why the x-step does not fit a loop in which only the gradient along the weights is known (Stepper).
func (m *PLADA) stepsAlone() error {
	switch m.XStep {
	case ProxLinear:
		return fmt.Errorf("trainer: %w: PLADA's x-step proxlinear needs each term's gradient, which a loop of one's own does not give: "+
			"use Subgradient, or Train", problem.ErrSettings)
	case Inner:
		return fmt.Errorf("trainer: %w: PLADA's x-step inner evaluates the constraints between gradients, which a loop of one's own "+
			"does not do: use Subgradient, or Train", problem.ErrSettings)
	}
	return nil
}

// UpdateDual implements DualRule.
func (m *PLADA) UpdateDual(g []float64) {
	d := &m.dual
	s := d.share()
	for j, l := range d.lambda {
		d.nu[j] = max(0, l-d.u[j]/d.tau)
		d.u[j] = d.slack(d.u[j] - d.tau*l)
	}
	limit := m.Sigma0 / d.rho
	if m.BoxStep {
		s, limit = d.rho*s, m.Sigma0
	}
	if m.Sigma0 > 0 {
		s = math.Min(s, limit)
	}
	d.advance(s, g)
}

// PenaltyCurvature implements DualRule: lambda follows rho g.
func (m *PLADA) PenaltyCurvature() float64 { return m.dual.rho }

// follows implements follower.
func (m *PLADA) follows() {}

// ScheduledStep implements DualRule.
func (m *PLADA) ScheduledStep() float64 { return 0 }

// VisitDual implements DualRule.
func (m *PLADA) VisitDual(v StateVisitor) { m.dual.VisitDual(v) }

// Diagnose implements Diagnoser: settings outside the theorem.
func (m *PLADA) Diagnose(p problem.Problem, at *problem.Point) ([]string, error) {
	d := &m.dual
	warnings := d.diagnose(pladaTauBound / d.rho)
	if !m.Primal.Fixed {
		return warnings, nil
	}
	w, err := stepWarning(p, at, m.Primal.Eta, d.rho, nil) // L_f: weights 0
	return append(warnings, w...), err
}

// Conclude implements Concluder.
func (m *PLADA) Conclude(at *problem.Point, c Certificate) (warnings, notes []string) {
	warnings, notes = m.dual.conclude(at, c, orDefault(m.Tolerance, DefaultFeasibilityTolerance))
	if m.BoxStep && m.dual.largestStep > 1 {
		warnings = append(warnings, fmt.Sprintf(
			"the step of mu reached %.3g > 1: mu overshot lambda (it does not without BoxStep)", m.dual.largestStep))
	}
	if s, ok := m.step.(*proxLinear); ok && s.held > 0 {
		notes = append(notes, fmt.Sprintf("the x-step held %d coordinates with a negative multiplier at their stationary value", s.held))
	}
	return warnings, notes
}
