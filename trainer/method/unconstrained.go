package method

import (
	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// Unconstrained is the baseline without constraints: primal steps on f + r, with w = 0. The result
// shows the objective that is possible without the constraints.
type Unconstrained struct {
	Primal step.Settings

	firstOrder
}

var (
	_ trainer.Method   = (*Unconstrained)(nil)
	_ quasiNewton      = (*Unconstrained)(nil)
	_ finisher         = (*Unconstrained)(nil)
	_ trainer.DualRule = (*Unconstrained)(nil)
)

func init() {
	describe[Unconstrained](Description{
		Summary: "the objective alone",
		About:   "Shows what the objective could reach without the constraints.",
		Source:  "gradient descent on f + r",
	})
}

// Name implements trainer.Method.
func (m *Unconstrained) Name() string { return "unconstrained" }

// primal implements chooser.
func (m *Unconstrained) primal() *step.Settings { return &m.Primal }

// firstOrderOnly implements quasiNewton.
func (m *Unconstrained) firstOrderOnly() bool { return false }

// onAllRows implements finisher.
func (m *Unconstrained) onAllRows() trainer.Method { return &Unconstrained{} }

// Init implements trainer.Method.
func (m *Unconstrained) Init(p problem.Problem, at *problem.Point) error { return m.init(m, p, at) }

// StartDual implements trainer.DualRule.
func (m *Unconstrained) StartDual([]float64) error { return nil }

// Needs implements trainer.Method and trainer.DualRule.
func (m *Unconstrained) Needs() trainer.Needs { return primalNeeds(m.Primal) }

// PrimalStep implements trainer.DualRule.
func (m *Unconstrained) PrimalStep() step.Settings { return m.Primal }

// Coefficients implements trainer.DualRule.
func (m *Unconstrained) Coefficients(w, _ []float64) { clear(w) }

// UpdateDual implements trainer.DualRule.
func (m *Unconstrained) UpdateDual([]float64) {}

// Report implements trainer.Method.
func (m *Unconstrained) Report() trainer.Report {
	return m.reported(trainer.NewReport(m.stepSize(), nil))
}

// augmented implements augmentedRule: the objective alone.
func (m *Unconstrained) augmented() step.Augmented { return step.Augmented{} }

// updateOuter implements augmentedRule.
func (m *Unconstrained) updateOuter([]float64) bool { return false }

// tighten implements augmentedRule.
func (m *Unconstrained) tighten() bool { return false }

// settle implements augmentedRule.
func (m *Unconstrained) settle([]float64) {}

// VisitDual implements trainer.DualRule.
func (m *Unconstrained) VisitDual(problem.StateVisitor) {}

// options returns the settings, bound to the fields of m.
func (m *Unconstrained) options() []*option.Option { return quasiNewtonOptions(&m.Primal) }
