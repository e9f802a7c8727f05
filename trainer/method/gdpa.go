package method

import (
	"cmp"
	"fmt"
	"math"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// GDPA is the gradient descent and perturbed ascent method of Lu, "A Single-Loop Gradient Descent
// and Perturbed Ascent Algorithm for Nonconvex Functional Constrained Optimization", ICML 2022.
// With r from 0 and lambda_0 = 0:
//
//	y       = max(0, (1 - tau) lambda + beta_r g(x))
//	x+      = Proj(x - alpha_r (grad f(x) + J(x)^T y))
//	lambda+ = max(0, (1 - tau) lambda + beta_r g(x+))
//	alpha_r = alpha_0 (r+1)^(-1/3),  beta_r = beta_0 (r+1)^(1/3)
//
// The method has no certified multiplier of its own.
type GDPA struct {
	// Step is alpha_0 > 0, Penalty is beta_0 > 0, Perturbation is tau in (0, 1). 0 is the default:
	// 1e-3, 1 and 0.1.
	Step, Penalty, Perturbation float64
	// ConstantStep keeps alpha_r = alpha_0.
	ConstantStep bool
	// Ratio > 1 makes the penalty geometric, beta_r = beta_0 Ratio^r. According to Moon et al., the
	// method diverges with a large ratio. 0 is the default: beta_r = beta_0 (r+1)^(1/3), as published.
	Ratio float64
	// Primal is the x-step; nil is the default, the published gradient step with the step size
	// alpha_r. The curvature rule and Adam use alpha_r instead of eta.
	Primal *step.Settings
	// Automatic removes the cap alpha_r from Primal's curvature rule. Automatic needs a Primal with
	// the curvature rule.
	Automatic bool

	firstOrder
	r         int
	beta      float64 // beta_0
	lambda, y []float64
}

var (
	_ trainer.Method    = (*GDPA)(nil)
	_ chooser           = (*GDPA)(nil)
	_ trainer.DualRule  = (*GDPA)(nil)
	_ trainer.Penalizer = (*GDPA)(nil)
)

// The names of the options of the published step.
const (
	nameGDPAStep  = "gdpa-step"
	nameGDPADecay = "gdpa-step-decay"
)

func init() {
	describe[GDPA](Description{
		Comparison: Comparison{
			Size: nameGDPAStep, Equal: map[string]string{namePrimal: step.Nesterov.String(), nameGDPAStep: "auto"},
			Published: []string{nameGDPAStep, nameGDPADecay},
		},
		Rival:   true,
		Summary: "gradient descent and perturbed ascent",
		About:   "A single loop with a step size that falls and a penalty that grows. Its published step size needs tuning for each problem.",
		Source:  "Lu, \"A Single-Loop Gradient Descent and Perturbed Ascent Algorithm for Nonconvex Functional Constrained Optimization\", ICML 2022",
	})
}

// Name implements trainer.Method.
func (m *GDPA) Name() string { return "gdpa" }

// primal implements chooser.
func (m *GDPA) primal() *step.Settings { return m.Primal }

// Init implements trainer.Method.
func (m *GDPA) Init(p problem.Problem, at *problem.Point) error { return m.init(m, p, at) }

// StartDual implements trainer.DualRule.
func (m *GDPA) StartDual(g []float64) error {
	if err := checkNumbers(number{"GDPA's step", m.Step}, number{"GDPA's penalty", m.Penalty}, number{"GDPA's ratio", m.Ratio}); err != nil {
		return err
	}
	if !(m.Perturbation >= 0 && m.Perturbation < 1) {
		return fmt.Errorf("method: %w: GDPA's perturbation is %v, want a number in (0, 1)", problem.ErrSettings, m.Perturbation)
	}
	if m.Ratio != 0 && m.Ratio < 1 {
		return fmt.Errorf("method: %w: GDPA's penalty ratio is %v, want at least 1", problem.ErrSettings, m.Ratio)
	}
	if s := m.PrimalStep(); m.Automatic && (s.Fixed || s.Kind == step.Adam) {
		return fmt.Errorf("method: %w: GDPA's automatic step needs a primal step with the curvature rule", problem.ErrSettings)
	}
	m.beta = cmp.Or(m.Penalty, DefaultGDPAPenalty)
	m.r, m.lambda, m.y = 0, make([]float64, len(g)), make([]float64, len(g))
	return nil
}

// PrimalStep implements trainer.DualRule.
func (m *GDPA) PrimalStep() step.Settings {
	if m.Primal == nil {
		return step.Settings{Kind: step.Gradient, Fixed: true, Eta: cmp.Or(m.Step, DefaultGDPAStep)}
	}
	return *m.Primal
}

// The defaults of GDPA: alpha_0, beta_0 and tau.
const (
	DefaultGDPAStep         = 1e-3
	DefaultGDPAPenalty      = 1
	DefaultGDPAPerturbation = 0.1
)

// penalty returns beta_r.
func (m *GDPA) penalty() float64 {
	beta := m.beta
	if m.Ratio > 0 {
		return beta * math.Pow(m.Ratio, float64(m.r))
	}
	return beta * math.Cbrt(float64(m.r+1))
}

// ascend writes max(0, (1 - tau) lambda + beta_r g) to dst.
func (m *GDPA) ascend(dst, g []float64) {
	keep, beta := 1-cmp.Or(m.Perturbation, DefaultGDPAPerturbation), m.penalty()
	for j, l := range m.lambda {
		dst[j] = max(0, keep*l+beta*g[j])
	}
}

// Coefficients implements trainer.DualRule: w = y.
func (m *GDPA) Coefficients(w, g []float64) {
	m.ascend(m.y, g)
	copy(w, m.y)
}

// UpdateDual implements trainer.DualRule.
func (m *GDPA) UpdateDual(g []float64) {
	m.ascend(m.lambda, g)
	m.r++
}

// Demand implements trainer.DualRule: the step size alpha_r replaces eta, unless Automatic is set.
func (m *GDPA) Demand() step.Demand {
	d := step.Demand{PenaltyCurvature: m.penalty()}
	switch {
	case m.Automatic:
	case m.ConstantStep:
		d.ScheduledStep = cmp.Or(m.Step, DefaultGDPAStep)
	default:
		d.ScheduledStep = cmp.Or(m.Step, DefaultGDPAStep) / math.Cbrt(float64(m.r+1))
	}
	return d
}

// Report implements trainer.Method.
func (m *GDPA) Report() trainer.Report { return trainer.NewReport(m.stepSize(), m.lambda) }

// CurrentPenalty implements trainer.Penalizer with beta_0. The published step size alpha_r is a
// schedule that does not follow the penalty.
func (m *GDPA) CurrentPenalty() float64 {
	if !m.Automatic {
		return 0
	}
	return m.beta
}

// BeginWith implements trainer.Penalizer.
func (m *GDPA) BeginWith(c float64) { m.beta = max(m.beta, c) }

// VisitDual implements trainer.DualRule.
func (m *GDPA) VisitDual(v problem.StateVisitor) {
	v.Count("gdpa.r", &m.r)
	v.Number("gdpa.penalty", &m.beta)
	v.Numbers("gdpa.multipliers", m.lambda)
}

// options returns the settings, bound to the fields of m.
func (m *GDPA) options() []*option.Option {
	primal := m.Primal
	if primal == nil {
		primal = &step.Settings{}
	}
	list := option.Of(primal)
	return []*option.Option{
		list[0].Through(func() string {
			if m.Primal == nil {
				return "gradient"
			}
			return primalOf(m).String()
		}, func(word string) {
			if primal.Kind, _ = step.Parse(word); primal.Kind == step.Gradient || primal.Kind == step.Auto {
				m.Primal = nil // the published step
			} else {
				m.Primal = primal
			}
		}).Or("gradient"),
		list[1],
		option.Custom(nameGDPAStep, "X|auto", m.setStep, func() string {
			if m.Automatic {
				return "auto"
			}
			return option.Float(cmp.Or(m.Step, DefaultGDPAStep))
		}, "set the first step size alpha_0; auto, with --primal nesterov, follows the measured curvature", "auto").
			Or(option.Float(DefaultGDPAStep)).
			Check(func() string {
				if m.Automatic && (m.Primal == nil || primalOf(m) != step.Nesterov) {
					return "needs --primal nesterov"
				}
				return ""
			}),
		option.Either(nameGDPADecay, &m.ConstantStep, "cubic", "constant",
			"cubic: let the step size fall as alpha_0 (r+1)^(-1/3); constant: keep alpha_0"),
		option.Number("gdpa-penalty", &m.Penalty, option.Positive, "set the first penalty beta_0").Or(option.Float(DefaultGDPAPenalty)),
		option.Number("gdpa-perturbation", &m.Perturbation, option.Between(0, 1), "set the perturbation tau").
			Or(option.Float(DefaultGDPAPerturbation)),
		option.NumberOr("gdpa-ratio", &m.Ratio, option.AtLeast(1), "none",
			"let the penalty grow as beta_0 X^r; none: grow as beta_0 (r+1)^(1/3)"),
	}
}

// setStep reads alpha_0, or auto.
func (m *GDPA) setStep(text string) error {
	step := option.NumberOr("", &m.Step, option.Positive, "auto", "")
	m.Automatic = text == "auto"
	return step.Set(text)
}
