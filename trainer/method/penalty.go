package method

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// Penalty is the quadratic penalty method (Nocedal and Wright, Numerical Optimization, ch. 17). An
// iteration is a primal step on f(x) + (c/2)||max(0, g(x))||^2, with w = c max(0, g(x)). Every
// Period iterations the method multiplies c by Growth. With a fixed c, the limit of the iterates
// violates the constraints by about lambda/c.
type Penalty struct {
	Primal step.Settings
	// Coefficient is the first c > 0; 0 is the default, 10.
	Coefficient float64
	// Growth >= 1 multiplies c every Period iterations; 0 is the default, 1: c is constant. A Period
	// of 0 is the default, 100.
	Growth float64
	Period int

	firstOrder
	k int
	c float64   // the first c
	w []float64 // w at the iterate, for Report
}

var (
	_ trainer.Method    = (*Penalty)(nil)
	_ chooser           = (*Penalty)(nil)
	_ trainer.DualRule  = (*Penalty)(nil)
	_ trainer.Penalizer = (*Penalty)(nil)
)

// The defaults of Penalty: the first c, the factor of c after a period, and the iterations of a
// period.
const (
	DefaultPenaltyCoefficient = 10
	DefaultPenaltyGrowth      = 1
	DefaultPenaltyPeriod      = 100
)

func init() {
	describe[Penalty](Description{
		Rival:   true,
		Summary: "quadratic penalty",
		About:   "Minimises f + (c/2)||max(0, g)||^2. With a fixed c the limit violates the constraints by about lambda/c.",
		Source:  "Nocedal and Wright, \"Numerical Optimization\", chapter 17",
	})
}

// Name implements trainer.Method.
func (m *Penalty) Name() string { return "penalty" }

// primal implements chooser.
func (m *Penalty) primal() *step.Settings { return &m.Primal }

// Init implements trainer.Method.
func (m *Penalty) Init(p problem.Problem, at *problem.Point) error { return m.init(m, p, at) }

// StartDual implements trainer.DualRule.
func (m *Penalty) StartDual(g []float64) error {
	switch {
	case !option.IsSize(m.Coefficient):
		return fmt.Errorf("method: %w: the penalty coefficient is %v, want a positive number", problem.ErrSettings, m.Coefficient)
	case m.Growth != 0 && !(m.Growth >= 1) || math.IsInf(m.Growth, 0):
		return fmt.Errorf("method: %w: the penalty's growth is %v, want at least 1", problem.ErrSettings, m.Growth)
	case m.Period < 0:
		return fmt.Errorf("method: %w: the penalty's period is %d, want a positive number", problem.ErrSettings, m.Period)
	}
	m.c = cmp.Or(m.Coefficient, DefaultPenaltyCoefficient)
	m.k, m.w = 0, make([]float64, len(g))
	m.Coefficients(m.w, g)
	return nil
}

// coefficient returns c at iteration k.
func (m *Penalty) coefficient() float64 {
	period := m.Period
	if period == 0 {
		period = DefaultPenaltyPeriod
	}
	return m.c * math.Pow(cmp.Or(m.Growth, DefaultPenaltyGrowth), float64(m.k/period))
}

// PrimalStep implements trainer.DualRule.
func (m *Penalty) PrimalStep() step.Settings { return m.Primal }

// Coefficients implements trainer.DualRule.
func (m *Penalty) Coefficients(w, g []float64) {
	c := m.coefficient()
	for j, v := range g {
		w[j] = c * max(0, v)
	}
}

// UpdateDual implements trainer.DualRule.
func (m *Penalty) UpdateDual(g []float64) {
	m.k++
	m.Coefficients(m.w, g)
}

// Demand implements trainer.DualRule.
func (m *Penalty) Demand() step.Demand {
	return step.Demand{PenaltyCurvature: m.coefficient()}
}

// Report implements trainer.Method: the coefficients c max(0, g) estimate the multipliers.
func (m *Penalty) Report() trainer.Report { return trainer.NewReport(m.stepSize(), m.w) }

// CurrentPenalty implements trainer.Penalizer with the first c.
func (m *Penalty) CurrentPenalty() float64 { return unlessFixed(m.c, m.Primal) }

// BeginWith implements trainer.Penalizer.
func (m *Penalty) BeginWith(c float64) { m.c = max(m.c, c) }

// VisitDual implements trainer.DualRule.
func (m *Penalty) VisitDual(v problem.StateVisitor) {
	v.Count("penalty.k", &m.k)
	v.Number("penalty.coefficient", &m.c)
	v.Numbers("penalty.weights", m.w)
}

// options returns the settings, bound to the fields of m.
func (m *Penalty) options() []*option.Option {
	return append(option.Of(&m.Primal),
		option.Number("penalty-coefficient", &m.Coefficient, option.Positive, "set the first c of c/2 ||max(0, g)||^2").
			Or(option.Float(DefaultPenaltyCoefficient)),
		option.Number("penalty-growth", &m.Growth, option.AtLeast(1), "multiply c by this factor after every period").
			Or(option.Float(DefaultPenaltyGrowth)),
		option.Count("penalty-period", &m.Period, option.AtLeast(1), "set the length of a period").
			Or(strconv.Itoa(DefaultPenaltyPeriod)).In("iterations"))
}
