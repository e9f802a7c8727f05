package method

import (
	"cmp"
	"fmt"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// NuPI is gradient descent on the Lagrangian with multipliers that a controller with integral and
// proportional terms moves: Sohrabi, Ramirez, Zhang, Lacoste-Julien and Gallego-Posada, "On PI
// Controllers for Updating Lagrange Multipliers in Constrained Optimization", ICML 2024, Algorithm
// 1. With xi = g(x_1) at first:
//
//	x+      = primal step along grad f(x) + J(x)^T lambda
//	xi+     = nu xi + (1 - nu) g(x+)
//	lambda+ = max(0, lambda + K_I g(x+) + K_P (xi+ - xi))
//
// With K_P = 0 it is GDA. The proportional term damps the oscillations of GDA. The zero value uses
// the automatic step size.
type NuPI struct {
	Primal step.Settings
	// Integral is K_I > 0, Proportional K_P > 0; 0 is the default: 0.5 and 5.
	Integral, Proportional float64
	// Memory is nu in [0, 1), the weight of the past in xi.
	Memory float64

	firstOrder
	lambda, xi []float64
	updates    int
}

var (
	_ trainer.Method   = (*NuPI)(nil)
	_ trainer.DualRule = (*NuPI)(nil)
)

// The defaults of NuPI: K_I and K_P. Of six pairs with the step nesterov, two ended feasible
// on Fashion-MNIST, for parity on COMPAS and for equalized odds on Adult; this one had the smaller
// objective.
const (
	DefaultNuPIIntegral     = 0.5
	DefaultNuPIProportional = 5
)

func init() {
	describe[NuPI](Description{
		Rival:   true,
		Summary: "gradient descent with a PI controller of the multipliers",
		About:   "Gradient descent-ascent with a proportional term, which damps the oscillations of the multipliers. The gains need tuning.",
		Source: "Sohrabi, Ramirez, Zhang, Lacoste-Julien and Gallego-Posada, \"On PI Controllers for Updating Lagrange Multipliers in Constrained" +
			" Optimization\", ICML 2024, Algorithm 1",
	})
}

// Name implements trainer.Method.
func (m *NuPI) Name() string { return "nupi" }

// Init implements trainer.Method.
func (m *NuPI) Init(p problem.Problem, at *problem.Point) error { return m.init(m, p, at) }

// StartDual implements trainer.DualRule.
func (m *NuPI) StartDual(g []float64) error {
	if err := checkNumbers(number{"nuPI's integral gain", m.Integral}, number{"nuPI's proportional gain", m.Proportional}); err != nil {
		return err
	}
	if !(m.Memory >= 0 && m.Memory < 1) {
		return fmt.Errorf("method: %w: nuPI's memory is %v, want a number in [0, 1)", problem.ErrSettings, m.Memory)
	}
	m.lambda, m.xi, m.updates = make([]float64, len(g)), make([]float64, len(g)), 0
	return nil
}

// PrimalStep implements trainer.DualRule.
func (m *NuPI) PrimalStep() step.Settings { return m.Primal }

// Coefficients implements trainer.DualRule.
func (m *NuPI) Coefficients(w, _ []float64) { copy(w, m.lambda) }

// UpdateDual implements trainer.DualRule.
func (m *NuPI) UpdateDual(g []float64) {
	if m.updates == 0 {
		copy(m.xi, g)
	}
	m.updates++
	integral, proportional := cmp.Or(m.Integral, DefaultNuPIIntegral), cmp.Or(m.Proportional, DefaultNuPIProportional)
	for j, l := range m.lambda {
		next := m.Memory*m.xi[j] + (1-m.Memory)*g[j]
		m.lambda[j] = max(0, l+integral*g[j]+proportional*(next-m.xi[j]))
		m.xi[j] = next
	}
}

// Report implements trainer.Method.
func (m *NuPI) Report() trainer.Report { return trainer.NewReport(m.stepSize(), m.lambda) }

// VisitDual implements trainer.DualRule.
func (m *NuPI) VisitDual(v problem.StateVisitor) {
	v.Count("nupi.updates", &m.updates)
	v.Numbers("nupi.multipliers", m.lambda)
	v.Numbers("nupi.errors", m.xi)
}

// options returns the settings, bound to the fields of m.
func (m *NuPI) options() []*option.Option {
	return append(option.Of(&m.Primal),
		option.Number("nupi-integral", &m.Integral, option.Positive, "set the integral gain of the multipliers").
			Or(option.Float(DefaultNuPIIntegral)),
		option.Number("nupi-proportional", &m.Proportional, option.Positive, "set the proportional gain of the multipliers").
			Or(option.Float(DefaultNuPIProportional)),
		option.Number("nupi-memory", &m.Memory, option.Within(0, 1), "set nu, the weight of the past in the smoothed constraints").Or("0"))
}
