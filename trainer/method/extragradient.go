package method

import (
	"cmp"
	"math"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// Extragradient is the extragradient method on the Lagrangian: Korpelevich, "The extragradient
// method for finding saddle points and other problems", Matecon 1976. A trial step gives the point
// at which the step takes its gradients:
//
//	x' = prox_{e r}(x - e (grad f(x) + J(x)^T lambda)),    lambda' = max(0, lambda + gamma e g(x))
//	x+ = prox_{e r}(x - e (grad f(x') + J(x')^T lambda')), lambda+ = max(0, lambda + gamma e g(x'))
//
// It converges on convex problems with a saddle point if e is less than 1/L for the Lipschitz
// constant L of z = (x, lambda/sqrt(gamma)) -> F(z) = (grad f + J^T lambda, -sqrt(gamma) g), where
// GDA can circle for ever. An iteration costs at least two gradients, all on the same mini-batch.
// Cooper has the same method with the steps of any optimizer.
//
// With Step 0, the method finds e by the rule of Khobotov ("Modification of the extra-gradient
// method", 1987): it repeats the trial step with a shorter e until e <= 0.9 ||z - z'||/||F(z) -
// F(z')||. e grows by at most a fifth in an iteration.
type Extragradient struct {
	// Step is e > 0; 0 is the default, Khobotov's rule.
	Step float64
	// DualStep is gamma > 0, the multipliers' step divided by e; 0 is the default, 1.
	DualStep float64

	universal
	start, d, ahead  problem.Vector // x, and the gradients at x and x'
	coefficients     []float64      // 1, lambda or lambda'
	lambda, trial, g []float64      // lambda, lambda', g(x)
	next, last       float64        // the first e of the next iteration, and the last e; NaN at the start
}

var _ trainer.Method = (*Extragradient)(nil)

// DefaultExtragradientDualStep is the default of Extragradient.DualStep.
const DefaultExtragradientDualStep = 1

const (
	extraSafety = 0.9  // factor of the largest e
	extraGrowth = 1.2  // largest growth of e
	extraProbe  = 1e-3 // length of the first trial over 1 + ||x||
	extraTrials = 12   // largest number of trial steps of an iteration: across a kink, no e is short enough
	extraNoise  = 64   // unit roundoffs of 1 + ||x||: a shorter move measures nothing
)

func init() {
	describe[Extragradient](Description{
		Rival:   true,
		Summary: "extragradient steps on the Lagrangian",
		About: "Gradient descent-ascent with the gradients at a trial point, which damps its oscillations. Two gradients an iteration; the automatic" +
			" step size also sets the step of the multipliers.",
		Source: "Korpelevich, \"The extragradient method for finding saddle points and other problems\", Matecon 1976",
	})
}

// Name implements trainer.Method.
func (m *Extragradient) Name() string { return "extragradient" }

// Init implements trainer.Method.
func (m *Extragradient) Init(p problem.Problem, at *problem.Point) error {
	if err := checkNumbers(number{"the extragradient step", m.Step}, number{"the extragradient step of the multipliers", m.DualStep}); err != nil {
		return err
	}
	for _, v := range []*problem.Vector{&m.start, &m.d, &m.ahead} {
		*v = p.Space().New()
	}
	for _, s := range []*[]float64{&m.lambda, &m.trial, &m.g} {
		*s = make([]float64, len(at.Constraints))
	}
	m.coefficients = make([]float64, 1+len(at.Constraints))
	m.coefficients[0] = 1
	m.next, m.last = math.NaN(), math.NaN()
	return nil
}

// Iterate implements trainer.Method.
func (m *Extragradient) Iterate(p problem.Problem, at *problem.Point) error {
	s := p.Space()
	copy(m.coefficients[1:], m.lambda)
	if err := at.Backward(p, m.coefficients, m.d); err != nil {
		return err
	}
	s.Combine(m.start, 1, problem.Iterate, 0, problem.Iterate)
	copy(m.g, at.Constraints)
	e, probe := m.Step, false
	if e == 0 {
		if e, probe = m.next, math.IsNaN(m.next); probe {
			e = extraProbe * (1 + math.Sqrt(s.Dot(m.start, m.start))) / max(math.Sqrt(s.Dot(m.d, m.d)), math.SmallestNonzeroFloat32)
		}
	}
	for trial := 1; ; trial++ {
		if err := m.ascend(p, at, e); err != nil {
			return err
		}
		if m.Step > 0 {
			break
		}
		longest := m.longest(s, at, e)
		if !probe && (e <= longest || trial == extraTrials) {
			m.next = min(extraGrowth*e, longest)
			break
		}
		if e = min(e/2, longest); probe {
			e = longest
		}
		if probe = false; math.IsInf(e, 1) { // F is constant
			e = 1
		}
		s.Combine(problem.Iterate, 1, m.start, 0, m.start)
	}
	s.Combine(problem.Iterate, 1, m.start, 0, m.start)
	s.Descend(problem.Descent{Direction: m.ahead, Step: e, Length: e})
	m.dual(m.lambda, at.Constraints, e)
	m.last = e
	return at.SampleAndForward(p, at.Iteration+1)
}

// ascend moves the iterate from x to x' and evaluates the gradient there.
func (m *Extragradient) ascend(p problem.Problem, at *problem.Point, e float64) error {
	p.Space().Descend(problem.Descent{Direction: m.d, Step: e, Length: e})
	m.dual(m.trial, m.g, e)
	if err := at.Forward(p); err != nil {
		return err
	}
	copy(m.coefficients[1:], m.trial)
	return at.Backward(p, m.coefficients, m.ahead)
}

// dual sets multipliers to max(0, lambda + gamma e g).
func (m *Extragradient) dual(multipliers, g []float64, e float64) {
	for j, l := range m.lambda {
		multipliers[j] = max(0, l+e*cmp.Or(m.DualStep, DefaultExtragradientDualStep)*g[j])
	}
}

// longest returns the largest e by the rule, from the trial step with e; infinity if F does not
// change, e itself if rounding hides the change, and e/10 if a number at x' is not finite.
func (m *Extragradient) longest(s *problem.Space, at *problem.Point, e float64) float64 {
	gamma := cmp.Or(m.DualStep, DefaultExtragradientDualStep)
	move, change := s.Distance(problem.Iterate, m.start), s.Distance(m.ahead, m.d)
	if move <= extraNoise*s.Roundoff()*(1+math.Sqrt(s.Dot(m.start, m.start))) {
		return e
	}
	z, f := move*move, change*change
	for j, l := range m.lambda {
		z += (m.trial[j] - l) * (m.trial[j] - l) / gamma
		f += gamma * (at.Constraints[j] - m.g[j]) * (at.Constraints[j] - m.g[j])
	}
	if math.IsNaN(f) || math.IsInf(f, 1) || at.Check() != nil {
		return e / 10
	}
	return extraSafety * math.Sqrt(z/f)
}

// Report implements trainer.Method.
func (m *Extragradient) Report() trainer.Report { return trainer.NewReport(m.last, m.lambda) }

// VisitState implements trainer.Method.
func (m *Extragradient) VisitState(v problem.StateVisitor) {
	v.Numbers("extragradient.multipliers", m.lambda)
	v.Number("extragradient.next", &m.next)
	v.Number("extragradient.step", &m.last)
}

// options returns the settings, bound to the fields of m.
func (m *Extragradient) options() []*option.Option {
	return []*option.Option{
		option.NumberOr("extragradient-step", &m.Step, option.Positive, "auto", "set the step size; auto measures it, and repeats trial steps that were too long"),
		option.Number("extragradient-dual-step", &m.DualStep, option.Positive, "set the multipliers' step size divided by the weights' step size").
			Or(option.Float(DefaultExtragradientDualStep)),
	}
}
