package trainer

import "ppal/trainer/problem"

// Unconstrained is the primal step on f + r alone, w = 0: what the objective could reach without the constraints.
type Unconstrained struct {
	Primal PrimalSettings

	firstOrder
}

var (
	_ Method   = (*Unconstrained)(nil)
	_ DualRule = (*Unconstrained)(nil)
)

// Name implements Method.
func (m *Unconstrained) Name() string { return "unconstrained" }

// Init implements Method.
func (m *Unconstrained) Init(p problem.Problem, at *problem.Point) error { return m.init(m, p, at) }

// StartDual implements DualRule.
func (m *Unconstrained) StartDual([]float64) error { return nil }

// PrimalStep implements DualRule.
func (m *Unconstrained) PrimalStep() PrimalSettings { return m.Primal }

// Coefficients implements DualRule.
func (m *Unconstrained) Coefficients(w, _ []float64) { clear(w) }

// UpdateDual implements DualRule.
func (m *Unconstrained) UpdateDual([]float64) {}

// Report implements Method.
func (m *Unconstrained) Report() Report { return newReport(m.stepSize(), nil) }

// VisitDual implements DualRule.
func (m *Unconstrained) VisitDual(problem.StateVisitor) {}
