package method

import (
	"fmt"
	"strconv"

	"ppal/trainer"
	"ppal/trainer/internal/setting"
	"ppal/trainer/option"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// ALM is the augmented Lagrangian method, or method of multipliers (Hestenes 1969, Powell 1969,
// Rockafellar 1973). The method is a double loop. The inner loop takes Inner primal steps on
//
//	f(x) + (1/2c) sum_j (max(0, lambda_j + c g_j(x))^2 - lambda_j^2),   w = max(0, lambda + c g(x)).
//
// The outer loop then sets lambda+ = max(0, lambda + c g(x)). An iteration is an inner step. With
// Primal.Kind LBFGS a measured criterion ends the inner loop instead of Inner (secondOrder).
type ALM struct {
	Primal step.Settings
	// Penalty is c > 0; 0 is the default, 10.
	Penalty float64
	// Inner is the number of steps between updates of lambda; 0 is the default, 20.
	Inner int

	firstOrder
	k      int
	lambda []float64
}

var (
	_ trainer.Method   = (*ALM)(nil)
	_ trainer.DualRule = (*ALM)(nil)
)

// The defaults of ALM: c, and the number of steps between updates of lambda.
const (
	DefaultALMPenalty = 10
	DefaultALMInner   = 20
)

// Name implements trainer.Method.
func (m *ALM) Name() string { return "alm" }

// Init implements trainer.Method.
func (m *ALM) Init(p problem.Problem, at *problem.Point) error { return m.init(m, p, at) }

// StartDual implements trainer.DualRule.
func (m *ALM) StartDual(g []float64) error {
	if !setting.IsSize(m.Penalty) || m.Inner < 0 {
		return fmt.Errorf("method: %w: ALM's penalty is %v and the number of inner steps %d, want positive numbers",
			problem.ErrSettings, m.Penalty, m.Inner)
	}
	m.k, m.lambda = 0, make([]float64, len(g))
	return nil
}

// Needs implements trainer.Method and trainer.DualRule.
func (m *ALM) Needs() trainer.Needs { return primalNeeds(m.Primal) }

// PrimalStep implements trainer.DualRule.
func (m *ALM) PrimalStep() step.Settings { return m.Primal }

// Coefficients implements trainer.DualRule.
func (m *ALM) Coefficients(w, g []float64) {
	c := setting.OrDefault(m.Penalty, DefaultALMPenalty)
	for j, l := range m.lambda {
		w[j] = max(0, l+c*g[j])
	}
}

// UpdateDual implements trainer.DualRule.
func (m *ALM) UpdateDual(g []float64) {
	inner := m.Inner
	if inner == 0 {
		inner = DefaultALMInner
	}
	m.k++
	if m.k%inner == 0 {
		m.Coefficients(m.lambda, g)
	}
}

// Demand implements trainer.DualRule.
func (m *ALM) Demand() step.Demand {
	return step.Demand{PenaltyCurvature: setting.OrDefault(m.Penalty, DefaultALMPenalty)}
}

// Report implements trainer.Method.
func (m *ALM) Report() trainer.Report { return trainer.NewReport(m.stepSize(), m.lambda) }

// augmented implements augmentedRule.
func (m *ALM) augmented() step.Augmented {
	return step.Augmented{Multipliers: m.lambda, Penalty: setting.OrDefault(m.Penalty, DefaultALMPenalty)}
}

// begin implements augmentedRule: c is a setting.
func (m *ALM) begin(float64) {}

// updateOuter implements augmentedRule.
func (m *ALM) updateOuter(g []float64) bool {
	m.Coefficients(m.lambda, g)
	return true
}

// tighten implements augmentedRule: c is fixed.
func (m *ALM) tighten() bool { return false }

// settle implements augmentedRule.
func (m *ALM) settle([]float64) {}

// VisitDual implements trainer.DualRule.
func (m *ALM) VisitDual(v problem.StateVisitor) {
	v.Count("alm.k", &m.k)
	v.Numbers("alm.multipliers", m.lambda)
}

// Options implements Method.
func (m *ALM) Options() []*option.Option {
	return append(m.Primal.Options(),
		option.Number("alm-penalty", &m.Penalty, option.Positive, "set the penalty c of the augmented Lagrangian").
			Or(option.Float(DefaultALMPenalty)),
		option.Count("alm-inner", &m.Inner, option.AtLeast(1), "set the number of x-steps between updates of the multipliers").
			Or(strconv.Itoa(DefaultALMInner)).In("iterations").With(step.IfFirstOrder()))
}
