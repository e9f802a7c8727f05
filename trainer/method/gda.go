package method

import (
	"cmp"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// GDA is gradient descent-ascent on the Lagrangian, the plain baseline of constrained training
// (Arrow, Hurwicz and Uzawa 1958):
//
//	x+      = primal step along grad f(x) + J(x)^T lambda
//	lambda+ = max(0, lambda + gamma g(x+))
//
// The result depends on gamma: a gamma that converges on one problem can diverge on another. PPALA
// needs no gamma. The zero value uses the automatic step size.
type GDA struct {
	Primal step.Settings
	// DualStep is gamma > 0; 0 is the default, 0.05.
	DualStep float64

	firstOrder
	lambda []float64
}

var (
	_ trainer.Method   = (*GDA)(nil)
	_ chooser          = (*GDA)(nil)
	_ trainer.DualRule = (*GDA)(nil)
)

// DefaultGDADualStep is the default of GDA.DualStep, gamma.
const DefaultGDADualStep = 0.05

func init() {
	describe[GDA](Description{
		Rival:   true,
		Summary: "gradient descent-ascent on the Lagrangian",
		About:   "The plain reference. A dual step that suits one problem diverges on another.",
		Source:  "Arrow, Hurwicz and Uzawa 1958",
	})
}

// Name implements trainer.Method.
func (m *GDA) Name() string { return "gda" }

// primal implements chooser.
func (m *GDA) primal() *step.Settings { return &m.Primal }

// Init implements trainer.Method.
func (m *GDA) Init(p problem.Problem, at *problem.Point) error { return m.init(m, p, at) }

// StartDual implements trainer.DualRule.
func (m *GDA) StartDual(g []float64) error {
	if err := checkNumbers(number{"the dual step", m.DualStep}); err != nil {
		return err
	}
	m.lambda = make([]float64, len(g))
	return nil
}

// PrimalStep implements trainer.DualRule.
func (m *GDA) PrimalStep() step.Settings { return m.Primal }

// Coefficients implements trainer.DualRule.
func (m *GDA) Coefficients(w, _ []float64) { copy(w, m.lambda) }

// UpdateDual implements trainer.DualRule.
func (m *GDA) UpdateDual(g []float64) {
	gamma := cmp.Or(m.DualStep, DefaultGDADualStep)
	for j, l := range m.lambda {
		m.lambda[j] = max(0, l+gamma*g[j])
	}
}

// Report implements trainer.Method.
func (m *GDA) Report() trainer.Report { return trainer.NewReport(m.stepSize(), m.lambda) }

// VisitDual implements trainer.DualRule.
func (m *GDA) VisitDual(v problem.StateVisitor) { v.Numbers("gda.multipliers", m.lambda) }

// options returns the settings, bound to the fields of m.
func (m *GDA) options() []*option.Option {
	return append(option.Of(&m.Primal),
		option.Number("gda-dual-step", &m.DualStep, option.Positive, "set the step size of the multipliers").
			Or(option.Float(DefaultGDADualStep)))
}
