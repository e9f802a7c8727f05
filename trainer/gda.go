package trainer

import "ppal/trainer/problem"

// GDA is gradient descent-ascent on the Lagrangian, the plain reference of constrained training (Arrow, Hurwicz and Uzawa 1958):
//
//	x+      = primal step along grad f(x) + J(x)^T lambda
//	lambda+ = max(0, lambda + gamma g(x+))
//
// It depends on gamma where PPALA does not: what suits one problem diverges on another. The zero value has the automatic step.
type GDA struct {
	Primal PrimalSettings
	// DualStep is gamma > 0; 0 is the default, 0.05.
	DualStep float64

	firstOrder
	lambda []float64
}

var (
	_ Method   = (*GDA)(nil)
	_ DualRule = (*GDA)(nil)
)

// DefaultGDADualStep is the default of GDA.DualStep, gamma.
const DefaultGDADualStep = 0.05

// Name implements Method.
func (m *GDA) Name() string { return "gda" }

// Init implements Method.
func (m *GDA) Init(p problem.Problem, at *problem.Point) error { return m.init(m, p, at) }

// StartDual implements DualRule.
func (m *GDA) StartDual(g []float64) error {
	if err := checkSizes(sizeOf("the dual step", m.DualStep)); err != nil {
		return err
	}
	m.lambda = make([]float64, len(g))
	return nil
}

// PrimalStep implements DualRule.
func (m *GDA) PrimalStep() PrimalSettings { return m.Primal }

// Coefficients implements DualRule.
func (m *GDA) Coefficients(w, _ []float64) { copy(w, m.lambda) }

// UpdateDual implements DualRule.
func (m *GDA) UpdateDual(g []float64) {
	gamma := orDefault(m.DualStep, DefaultGDADualStep)
	for j, l := range m.lambda {
		m.lambda[j] = max(0, l+gamma*g[j])
	}
}

// Report implements Method.
func (m *GDA) Report() Report { return newReport(m.stepSize(), m.lambda) }

// VisitDual implements DualRule.
func (m *GDA) VisitDual(v problem.StateVisitor) { v.Numbers("gda.multipliers", m.lambda) }
