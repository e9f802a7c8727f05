package method

import (
	"cmp"
	"context"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/internal/estimate"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// PPALA is the proximal-perturbed augmented Lagrangian method for smooth constraints (Moon et al.,
// Algorithm 2). With rho = alpha/(1 + alpha beta), an iteration is
//
//	w    = lambda + rho (g(x) + u)                      coefficients of the constraints at x_k
//	x+   = primal step along grad f(x) + J(x)^T w       in the paper: prox_{eta r}(x - eta d)
//	u+   = max(0, u - tau (lambda + rho (g(x+) + u)))
//	s    = delta_k/(||lambda - mu||^2 + 1)
//	mu+  = mu + s (lambda - mu)
//	lambda+ = mu+ + rho (g(x+) + u+)
//
// The step of u uses g at the new x; the paper prints the gradient at x_k by mistake. An iteration
// costs one forward and one backward pass. The method never projects lambda: lambda_j may be
// negative while the constraint g_j is inactive and falls.
//
// The primal step is of the first order. ALM is the limit of PPALA with exact inner minimisation.
//
// The multiplier nu = max(0, lambda_k + rho (g(x_{k+1}) + u_k) - u_k/tau) certifies x_{k+1}:
// nu.u_{k+1} = 0. The zero value has the practical settings.
type PPALA struct {
	Perturbation
	Primal step.Settings
	// Tolerance is the largest violation without a closing warning. A session replaces 0 by the
	// feasibility tolerance of the run; without a session 0 is the default, 1e-3.
	Tolerance float64

	firstOrder
	dual perturbed
}

var (
	_ trainer.Method    = (*PPALA)(nil)
	_ chooser           = (*PPALA)(nil)
	_ finisher          = (*PPALA)(nil)
	_ trainer.DualRule  = (*PPALA)(nil)
	_ trainer.Penalizer = (*PPALA)(nil)
	_ batchRule         = (*PPALA)(nil)
	_ trainer.Diagnoser = (*PPALA)(nil)
	_ trainer.Concluder = (*PPALA)(nil)
)

const (
	// DefaultPPALASlackRatio is the default of tau rho in PPALA, inside the theorem's bound 1/2.
	DefaultPPALASlackRatio = 0.9 / 2

	ppalaTauBound = 1.0 / 2 // the theorem's bound of tau rho
)

func init() {
	describe[PPALA](Description{
		Summary: "proximal-perturbed augmented Lagrangian, for smooth constraints",
		About: "One gradient and one evaluation an iteration. The multipliers follow the constraints through an auxiliary multiplier, so that alpha" +
			" and beta need no tuning. For networks, kinks and mini-batches.",
		Source: "Moon et al., Algorithm 2",
	})
}

// Name implements trainer.Method.
func (m *PPALA) Name() string { return "ppala" }

// primal implements chooser.
func (m *PPALA) primal() *step.Settings { return &m.Primal }

// onAllRows implements finisher.
func (m *PPALA) onAllRows() trainer.Method { return &ALM{Tolerance: m.Tolerance} }

// setRun implements runSetter.
func (m *PPALA) setRun(tolerance float64, _ uint64) { m.Tolerance = cmp.Or(m.Tolerance, tolerance) }

// Init implements trainer.Method.
func (m *PPALA) Init(p problem.Problem, at *problem.Point) error {
	return m.init(m, p, at)
}

// Report implements trainer.Method.
func (m *PPALA) Report() trainer.Report { return m.reported(m.dual.report(m.stepSize())) }

// PrimalStep implements trainer.DualRule.
func (m *PPALA) PrimalStep() step.Settings { return m.Primal }

// StartDual implements trainer.DualRule.
func (m *PPALA) StartDual(g []float64) error {
	return m.dual.start(m.Perturbation, DefaultDeltaP(m.Primal), DefaultPPALASlackRatio, g)
}

// onBatches implements batchRule.
func (m *PPALA) onBatches(t int) { m.dual.batches = t }

// Coefficients implements trainer.DualRule: w = lambda + rho (g + u).
func (m *PPALA) Coefficients(w, g []float64) {
	d := &m.dual
	for j := range w {
		w[j] = d.lambda[j] + d.rho*(g[j]+d.u[j])
	}
}

// UpdateDual implements trainer.DualRule.
func (m *PPALA) UpdateDual(g []float64) {
	d := &m.dual
	s := d.share()
	for j := range g {
		slope := d.lambda[j] + d.rho*(g[j]+d.u[j])
		d.nu[j] = max(0, slope-d.u[j]/d.tau)
		d.u[j] = d.slack(d.u[j] - d.tau*slope)
	}
	d.advance(s, g)
}

// Demand implements trainer.DualRule: lambda_k follows rho g, and the penalty term has the
// curvature rho.
func (m *PPALA) Demand() step.Demand {
	return step.Demand{PenaltyCurvature: 2 * m.dual.rho, Follows: true}
}

// CurrentPenalty implements trainer.Penalizer with rho.
func (m *PPALA) CurrentPenalty() float64 { return unlessFixed(m.dual.rho, m.Primal) }

// BeginWith implements trainer.Penalizer.
func (m *PPALA) BeginWith(c float64) { m.dual.beginWith(c) }

// VisitDual implements trainer.DualRule.
func (m *PPALA) VisitDual(v problem.StateVisitor) { m.dual.VisitDual(v) }

// Diagnose implements trainer.Diagnoser. Diagnose warns about settings outside the theorem.
func (m *PPALA) Diagnose(ctx context.Context, p problem.Problem, at *problem.Point) ([]string, error) {
	d := &m.dual
	warnings := d.diagnose(ppalaTauBound / d.rho)
	if !m.Primal.Fixed {
		return warnings, nil
	}
	// L_ell is the smoothness of grad f + J^T (lambda + rho (g + u)). The coefficients change by
	// rho dg if g changes by dg.
	w, err := estimate.StepWarning(ctx, p, at, m.Primal.Eta, d.rho, func(w, g []float64) { m.Coefficients(w, g) })
	return append(warnings, w...), err
}

// Conclude implements trainer.Concluder.
func (m *PPALA) Conclude(at *problem.Point, _ certify.Certificate) (warnings, notes []string) {
	if m.ended() {
		return nil, nil
	}
	return m.dual.conclude(at, cmp.Or(m.Tolerance, trainer.DefaultFeasibilityTolerance))
}

// options returns the settings, bound to the fields of m.
func (m *PPALA) options() []*option.Option {
	return append(option.Of(&m.Primal), m.Perturbation.options(DefaultPPALASlackRatio, "0.9/(2 rho)")...)
}
