package method

import (
	"cmp"
	"fmt"
	"math"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/internal/estimate"
	"ppal/trainer/problem"
)

// StepRule selects how SSG derives a step size from the setting c. count is the number of steps of
// the same kind, including the current step.
type StepRule string

// The step rules.
const (
	StepConstant StepRule = "constant" // c
	StepDecay    StepRule = "decay"    // c/sqrt(count)
	StepPolyak   StepRule = "polyak"   // g(x)/||zeta_g||^2: for the steps on g only; needs no c
)

// SSG is the single-loop switching subgradient method of Huang and Lin, "Oracle Complexity of
// Single-Loop Switching Subgradient Methods for Non-Smooth Weakly Convex Functional Constrained
// Optimization", NeurIPS 2023, Algorithm 1. The method uses the maximum of the constraints, g(x) =
// max_j g_j(x). zeta_f and zeta_g are subgradients of f and g at x:
//
//	g(x) <= tol:  x+ = prox_{eta r}(x - eta zeta_f), and x counts
//	otherwise:    x+ = Proj(x - (g(x)/||zeta_g||^2) zeta_g)
//
// The theory draws an iterate that counts, with a probability proportional to the iterate's eta;
// OutputRandom draws in this way among x_1..x_K. The Polyak step aims at g = 0, and tol must be
// positive: with tol = 0 the iterates would stay on the boundary.
//
// The published eta is a constant of the order of the squared accuracy. The accuracy is unknown in
// advance. Therefore the default eta is measured at the start and decays; StepConstant selects the
// published rule. The method has no certified multiplier of its own.
type SSG struct {
	// Tolerance is tol > 0; 0 is the default, 1e-3.
	Tolerance float64
	// Step is c > 0 of eta (see StepRule). 0 is the default: 2/L, the longest stable step for a smooth
	// f. L is the largest curvature of f that estimate.Curvatures finds at the start (19 gradients,
	// counted). StepConstant needs a positive Step.
	Step float64
	// StepRule is the rule of eta: StepDecay, the default for "", or StepConstant.
	StepRule StepRule
	// ViolationRule is the rule of the steps on g: StepPolyak, the default for "", or StepConstant or
	// StepDecay. StepConstant and StepDecay use c = ViolationStep > 0; StepPolyak needs ViolationStep
	// = 0.
	ViolationRule StepRule
	ViolationStep float64

	universal
	d              problem.Vector
	coefficients   []float64
	c              float64 // Step, or the measured c
	steps, repairs int     // number of steps on f, and on g
	last           float64 // last step size
}

var (
	_ trainer.Method  = (*SSG)(nil)
	_ trainer.Weigher = (*SSG)(nil)
)

const (
	// DefaultSSGTolerance is the default of SSG.Tolerance and IPPSSG.Tolerance. It equals the default
	// of Settings.FeasibilityTolerance.
	DefaultSSGTolerance = trainer.DefaultFeasibilityTolerance

	ssgStability = 2 // factor of 1/L
)

func init() {
	describe[SSG](Description{
		Kinks: true, Rival: true,
		Summary: "switching subgradient, single loop",
		About:   "Steps on the objective while the constraints are met and on the largest constraint otherwise.",
		Source: "Huang and Lin, \"Oracle Complexity of Single-Loop Switching Subgradient Methods for Non-Smooth Weakly Convex Functional Constrained" +
			" Optimization\", NeurIPS 2023, Algorithm 1",
	})
}

// Name implements trainer.Method.
func (m *SSG) Name() string { return "ssg" }

// validate returns an error that wraps problem.ErrSettings if a setting is invalid.
func (m *SSG) validate() error {
	if err := checkNumbers(number{"SSG's tolerance", m.Tolerance}, number{"SSG's step", m.Step},
		number{"SSG's step on the constraints", m.ViolationStep}); err != nil {
		return err
	}
	switch m.StepRule {
	case "", StepDecay:
	case StepConstant:
		if m.Step == 0 {
			return fmt.Errorf("method: %w: SSG's constant step needs a step size", problem.ErrSettings)
		}
	default:
		return fmt.Errorf("method: %w: unknown step rule %q of SSG (supported: decay, constant)", problem.ErrSettings, m.StepRule)
	}
	switch m.ViolationRule {
	case "", StepPolyak:
		if m.ViolationStep != 0 {
			return fmt.Errorf("method: %w: SSG's Polyak step on the constraints does not take a step size", problem.ErrSettings)
		}
	case StepConstant, StepDecay:
		if m.ViolationStep == 0 {
			return fmt.Errorf("method: %w: SSG's %s step on the constraints needs a step size", problem.ErrSettings, m.ViolationRule)
		}
	default:
		return fmt.Errorf("method: %w: unknown violation rule %q of SSG (supported: polyak, constant, decay)", problem.ErrSettings, m.ViolationRule)
	}
	return nil
}

// Init implements trainer.Method.
func (m *SSG) Init(p problem.Problem, at *problem.Point) error {
	if err := m.validate(); err != nil {
		return err
	}
	m.d, m.coefficients = p.Space().New(), make([]float64, 1+len(at.Constraints))
	m.c, m.steps, m.repairs, m.last = m.Step, 0, 0, math.NaN()
	return nil
}

// Iterate implements trainer.Method.
func (m *SSG) Iterate(p problem.Problem, at *problem.Point) error {
	if m.c == 0 {
		if err := m.measure(p, at); err != nil {
			return err
		}
	}
	var err error
	if worst, j := largestConstraint(at.Constraints); m.counts(worst) {
		err = m.descend(p, at)
	} else {
		err = m.repair(p, at, worst, j)
	}
	if err != nil {
		return err
	}
	return at.SampleAndForward(p, at.Iteration+1)
}

// measure sets c from the curvature of f at the start; Iterate calls measure if Step is 0.
func (m *SSG) measure(p problem.Problem, at *problem.Point) error {
	s, err := estimate.Curvatures(p, at, false)
	if m.c = 1; s.Objective > 0 { // a linear f has no curvature: c = 1
		m.c = ssgStability / s.Objective
	}
	return err
}

// counts reports whether g <= tol; the iterate then counts.
func (m *SSG) counts(g float64) bool { return g <= cmp.Or(m.Tolerance, DefaultSSGTolerance) }

// descend takes the step on f.
func (m *SSG) descend(p problem.Problem, at *problem.Point) error {
	clear(m.coefficients)
	m.coefficients[0] = 1
	if err := at.Backward(p, m.coefficients, m.d); err != nil {
		return err
	}
	m.last = m.stepOnObjective()
	m.steps++
	p.Space().Descend(problem.Descent{Direction: m.d, Step: m.last, Length: m.last})
	return nil
}

// repair takes the step on the largest constraint, g_j with the value g.
func (m *SSG) repair(p problem.Problem, at *problem.Point, g float64, j int) error {
	clear(m.coefficients)
	m.coefficients[1+j] = 1
	if err := at.Backward(p, m.coefficients, m.d); err != nil {
		return err
	}
	m.repairs++
	switch m.ViolationRule {
	case StepConstant:
		m.last = m.ViolationStep
	case StepDecay:
		m.last = m.ViolationStep / math.Sqrt(float64(m.repairs))
	default:
		m.last = 0 // zeta_g = 0: no direction lowers g
		if size := p.Space().Dot(m.d, m.d); size > 0 {
			m.last = g / size
		}
	}
	p.Space().Combine(problem.Iterate, 1, problem.Iterate, -m.last, m.d)
	p.Space().Project()
	return nil
}

// stepOnObjective returns eta of the next step on f.
func (m *SSG) stepOnObjective() float64 {
	if m.StepRule == StepConstant {
		return m.c
	}
	return m.c / math.Sqrt(float64(m.steps+1))
}

// OutputWeight implements trainer.Weigher: the step size eta at an iterate that counts, else 0.
func (m *SSG) OutputWeight(at *problem.Point) float64 {
	if worst, _ := largestConstraint(at.Constraints); !m.counts(worst) {
		return 0
	}
	return m.stepOnObjective()
}

// Report implements trainer.Method.
func (m *SSG) Report() trainer.Report { return trainer.NewReport(m.last, nil) }

// VisitState implements trainer.Method.
func (m *SSG) VisitState(v problem.StateVisitor) {
	v.Number("ssg.c", &m.c)
	v.Number("ssg.step", &m.last)
	v.Count("ssg.steps", &m.steps)
	v.Count("ssg.repairs", &m.repairs)
}

// largestConstraint returns max_j g_j and the first j that attains the maximum, or minus infinity
// and -1 without constraints.
func largestConstraint(g []float64) (value float64, j int) {
	value, j = math.Inf(-1), -1
	for i, v := range g {
		if v > value {
			value, j = v, i
		}
	}
	return value, j
}

// options returns the settings, bound to the fields of m.
func (m *SSG) options() []*option.Option {
	rule := func(name string, field *StepRule, help string, first StepRule, others ...StepRule) *option.Option {
		words := []string{string(first)}
		for _, w := range others {
			words = append(words, string(w))
		}
		return option.Words(name, func() string {
			if *field == "" {
				return string(first)
			}
			return string(*field)
		}, func(word string) { *field = StepRule(word) }, help, words...)
	}
	return []*option.Option{
		option.Number("ssg-tolerance", &m.Tolerance, option.Positive, "step on the objective while the largest constraint is at most this").
			Or(option.Float(DefaultSSGTolerance)),
		option.NumberOr("ssg-step", &m.Step, option.Positive, "auto",
			"set c of the steps on the objective; auto: 2 over the curvature measured at the start"),
		rule("ssg-step-rule", &m.StepRule, "decay: step on the objective by c/sqrt(count); constant: by c", StepDecay, StepConstant),
		rule("ssg-violation-rule", &m.ViolationRule,
			"polyak: step on the constraints by g/||zeta||^2; decay: by c/sqrt(count); constant: by c of --ssg-violation-step",
			StepPolyak, StepDecay, StepConstant),
		option.Number("ssg-violation-step", &m.ViolationStep, option.Positive, "set c of the steps on the constraints").Or("0.1").
			With(option.If("ssg-violation-rule", "decay", "constant")),
	}
}
