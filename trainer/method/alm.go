package method

import (
	"cmp"
	"fmt"
	"strconv"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// ALM is the method of multipliers, or augmented Lagrangian method (Hestenes 1969, Powell 1969,
// Rockafellar 1973). The method is a double loop. The inner loop takes primal steps on
//
//	f(x) + (1/2c) sum_j (max(0, lambda_j + c g_j(x))^2 - lambda_j^2),   w = max(0, lambda + c g(x)).
//
// The outer loop then sets lambda+ = max(0, lambda + c g(x)). An iteration is an inner step.
//
// ALM is the limit of PPALA with exact inner minimisation: with s = 1, and with u at the minimiser
// of PPALA's Lagrangian, PPALA's dual steps give the same lambda+.
//
// The primal steps are quasi-Newton steps (step.LBFGS) if they suit the problem. A measured
// criterion then ends the inner loop, and c doubles while the violation does not halve
// (secondOrder). With first-order steps, the inner loop has Inner steps, and c is fixed.
//
// With Adam's steps on mini-batches, the training of a model with hidden layers begins differently,
// has a guard, and returns a mean of its iterates (passes).
//
// After quasi-Newton steps, w at the iterate certifies the iterate. The zero value has the
// practical settings.
type ALM struct {
	Primal step.Settings
	// Penalty is c > 0, the first c of quasi-Newton steps. 0 is the default: 1 for quasi-Newton steps,
	// and for Adam's steps on mini-batches, on a model with hidden layers, else 10.
	Penalty float64
	// Inner is the number of first-order steps between updates of lambda; 0 is the default, 20. On
	// T mini-batches, each step updates lambda with c/max(T, Inner) in place of c: a pass over the
	// rows moves lambda at most as far as an update with the constraints on all rows.
	Inner int
	// Tolerance is the largest violation that counts as feasible, so that c need not grow. A session
	// replaces 0 by the feasibility tolerance of the run; without a session 0 is the default, 1e-3.
	Tolerance float64

	firstOrder
	passes    *passes // on mini-batches with Adam's steps of a network; nil: other steps
	collapsed func(f float64, g []float64) bool
	k         int
	batches   int // T; 0: each step uses all rows
	c         float64
	lambda    []float64
	nu        []float64 // the coefficients w in the gradient at the iterate
	settled   bool      // settle has set nu
}

var (
	_ trainer.Method    = (*ALM)(nil)
	_ quasiNewton       = (*ALM)(nil)
	_ finisher          = (*ALM)(nil)
	_ averager          = (*ALM)(nil)
	_ trainer.DualRule  = (*ALM)(nil)
	_ trainer.Penalizer = (*ALM)(nil)
	_ batchRule         = (*ALM)(nil)
	_ trainer.Returner  = (*ALM)(nil)
)

// The defaults of ALM: c, and the number of first-order steps between updates of lambda.
const (
	DefaultALMPenalty = 10
	DefaultALMInner   = 20
	networkPenalty    = 1 // c for quasi-Newton steps on a model with hidden layers
)

// mostPenalty bounds the c of quasi-Newton steps. Constraints that cannot be met would double c
// until the coefficients overflow float32.
const mostPenalty = 1e6

// nameALMPenalty is the name of the option of the first penalty.
const nameALMPenalty = "alm-penalty"

func init() {
	describe[ALM](Description{
		Summary: "method of multipliers, or augmented Lagrangian",
		About: "With quasi-Newton steps: the limit of PPALA with exact inner minimisation, for smooth functions on all rows. With first-order" +
			" steps: a fixed number of x-steps between the updates of the multipliers.",
		Source: "Hestenes 1969; Powell 1969; Rockafellar 1973",
	})
}

// Name implements trainer.Method.
func (m *ALM) Name() string { return "alm" }

// primal implements chooser.
func (m *ALM) primal() *step.Settings { return &m.Primal }

// firstOrderOnly implements quasiNewton.
func (m *ALM) firstOrderOnly() bool { return m.Inner != 0 }

// onAllRows implements finisher.
func (m *ALM) onAllRows() trainer.Method { return &ALM{Penalty: m.Penalty, Tolerance: m.Tolerance} }

// setRun implements runSetter.
func (m *ALM) setRun(tolerance float64, _ uint64) { m.Tolerance = cmp.Or(m.Tolerance, tolerance) }

// Init implements trainer.Method.
func (m *ALM) Init(p problem.Problem, at *problem.Point) error {
	ChoosePrimal(m, p)
	if m.Primal.Kind != step.LBFGS {
		return m.initFirst(p, at)
	}
	err := m.initSecond(m, p, at, cmp.Or(m.Tolerance, trainer.DefaultFeasibilityTolerance))
	m.c = m.firstPenalty(p)
	return err
}

// initFirst prepares a run with first-order steps. A later round of a run keeps the multipliers of
// passes.
func (m *ALM) initFirst(p problem.Problem, at *problem.Point) error {
	earlier := m.lambda
	if err := m.init(m, p, at); err != nil || !m.averagesOn(p) {
		m.passes = nil
		return err
	}
	m.c = m.firstPenalty(p)
	again := m.passes != nil && len(earlier) == len(m.lambda)
	first := 0
	if !again {
		first = (max(m.batches, cmp.Or(m.Inner, DefaultALMInner)) + m.batches - 1) / m.batches
	}
	m.passes = newPasses(p, m.batches, len(m.lambda), first)
	if copy(m.lambda, m.passes.bestDual); again {
		copy(m.lambda, earlier)
		copy(m.passes.bestDual, earlier)
	}
	return nil
}

// setCollapsed implements averager.
func (m *ALM) setCollapsed(collapsed func(f float64, g []float64) bool) { m.collapsed = collapsed }

// averagesOn implements averager: on mini-batches with Adam's steps of a model with hidden layers.
func (m *ALM) averagesOn(p problem.Problem) bool {
	_, blocks := p.(problem.BlockSampler)
	return blocks && m.Primal.Kind == step.Adam && !problem.FeaturesOf(p).Shallow
}

// beginWith sets the first multipliers of the last iterations of a run on mini-batches, after Init.
func (m *ALM) beginWith(multipliers []float64) {
	for j, v := range multipliers {
		m.lambda[j] = max(0, v)
	}
}

// automatic returns the settings of Automatic: the first penalty.
func (m *ALM) automatic(p problem.Problem) map[string]string {
	if m.Penalty != 0 {
		return nil
	}
	return map[string]string{nameALMPenalty: option.Float(m.firstPenalty(p))}
}

// firstPenalty returns the c with which a run on p begins, after ChoosePrimal.
func (m *ALM) firstPenalty(p problem.Problem) float64 {
	if (m.Primal.Kind == step.LBFGS || m.averagesOn(p)) && !problem.FeaturesOf(p).Shallow {
		return cmp.Or(m.Penalty, networkPenalty)
	}
	return cmp.Or(m.Penalty, DefaultALMPenalty)
}

// StartDual implements trainer.DualRule.
func (m *ALM) StartDual(g []float64) error {
	if !option.IsSize(m.Penalty) || m.Inner < 0 {
		return fmt.Errorf("method: %w: ALM's penalty is %v and the number of inner steps %d, want positive numbers",
			problem.ErrSettings, m.Penalty, m.Inner)
	}
	m.k, m.batches, m.c, m.settled = 0, 0, cmp.Or(m.Penalty, DefaultALMPenalty), false
	m.lambda, m.nu = make([]float64, len(g)), make([]float64, len(g))
	return nil
}

// Needs implements trainer.Method and trainer.DualRule.
func (m *ALM) Needs() trainer.Needs { return primalNeeds(m.Primal) }

// PrimalStep implements trainer.DualRule.
func (m *ALM) PrimalStep() step.Settings { return m.Primal }

// Coefficients implements trainer.DualRule.
func (m *ALM) Coefficients(w, g []float64) {
	if m.passes != nil && m.passes.first > 0 {
		for j := range w {
			w[j] = 1
		}
		return
	}
	m.augmented().Coefficients(w, g)
}

// Iterate implements trainer.Method.
func (m *ALM) Iterate(p problem.Problem, at *problem.Point) error {
	if err := m.firstOrder.Iterate(p, at); err != nil || m.passes == nil {
		return err
	}
	if !m.passes.observe(p, at, m.lambda, m.collapsed) {
		return nil
	}
	m.step.VisitState(restart{p.Space()})
	err := at.Forward(p)
	copy(m.constraints.g, at.Constraints)
	return err
}

// Return implements trainer.Returner: the mean of passes.
func (m *ALM) Return(p problem.Problem) bool {
	if m.passes == nil || m.passes.count == 0 {
		return false
	}
	p.Space().Combine(problem.Iterate, 1, m.passes.mean, 0, m.passes.mean)
	return true
}

// UpdateDual implements trainer.DualRule.
func (m *ALM) UpdateDual(g []float64) {
	inner := cmp.Or(m.Inner, DefaultALMInner)
	m.k++
	switch {
	case m.passes != nil && m.passes.first > 0:
	case m.batches > 0:
		part := step.Augmented{Multipliers: m.lambda, Penalty: m.c / float64(max(m.batches, inner))}
		part.Coefficients(m.lambda, g)
	case m.k%inner == 0:
		m.Coefficients(m.lambda, g)
	}
}

// onBatches implements batchRule.
func (m *ALM) onBatches(t int) { m.batches = t }

// Demand implements trainer.DualRule.
func (m *ALM) Demand() step.Demand {
	d := step.Demand{PenaltyCurvature: m.c}
	if m.passes != nil && m.passes.returns > 0 {
		d.ScheduledStep = m.passes.scale * cmp.Or(m.Primal.Eta, step.DefaultAdamStep)
	}
	return d
}

// Report implements trainer.Method.
func (m *ALM) Report() trainer.Report {
	r := trainer.NewReport(m.stepSize(), m.lambda)
	switch {
	case m.settled:
		r.Nu = m.nu
	case m.passes != nil: // a certificate that finds a multiplier differentiates each constraint on all rows
		r.Nu = m.lambda
	}
	return m.reported(r)
}

// augmented implements augmentedRule.
func (m *ALM) augmented() step.Augmented {
	return step.Augmented{Multipliers: m.lambda, Penalty: m.c}
}

// updateOuter implements augmentedRule.
func (m *ALM) updateOuter(g []float64) bool {
	m.Coefficients(m.lambda, g)
	return true
}

// tighten implements augmentedRule: c doubles, up to mostPenalty.
func (m *ALM) tighten() bool {
	if m.c >= mostPenalty {
		return false
	}
	m.c *= 2
	return true
}

// settle implements augmentedRule: w is the certified multiplier.
func (m *ALM) settle(w []float64) {
	copy(m.nu, w)
	m.settled = true
}

// CurrentPenalty implements trainer.Penalizer with c.
func (m *ALM) CurrentPenalty() float64 { return unlessFixed(m.c, m.Primal) }

// BeginWith implements trainer.Penalizer.
func (m *ALM) BeginWith(c float64) { m.c = max(m.c, c) }

// VisitDual implements trainer.DualRule.
func (m *ALM) VisitDual(v problem.StateVisitor) {
	v.Count("alm.k", &m.k)
	v.Number("alm.penalty", &m.c)
	v.Numbers("alm.multipliers", m.lambda)
	v.Numbers("alm.nu", m.nu)
	problem.VisitFlag(v, "alm.settled", &m.settled)
	if m.passes != nil {
		m.passes.visitState(v)
	}
}

// options returns the settings, bound to the fields of m.
func (m *ALM) options() []*option.Option {
	return append(quasiNewtonOptions(&m.Primal),
		option.NumberOr(nameALMPenalty, &m.Penalty, option.Positive, "auto",
			"set the penalty c of the augmented Lagrangian, the first c of lbfgs; auto: 1 for lbfgs on models with hidden layers, else 10"),
		option.Count("alm-inner", &m.Inner, option.AtLeast(1), "set the number of x-steps between updates of the multipliers").
			Or(strconv.Itoa(DefaultALMInner)).In("iterations").With(option.FirstOrder()))
}

// quasiNewtonOptions returns the settings of the steps of a method that supports step.LBFGS.
func quasiNewtonOptions(s *step.Settings) []*option.Option {
	list := option.Of(s)
	list[0].Or(step.Auto.String()).Check(nil)
	return list
}
