package trainer

import (
	"fmt"
	"strconv"
	"strings"

	"ppal/trainer/option"
)

// Options describes the x-step's settings.
func (s *PrimalSettings) Options() []*option.Option {
	return []*option.Option{
		primalOption(func() string { return s.Kind.String() }, func(word string) { s.Kind, _ = ParsePrimal(word) }).
			For("gradient", option.Paper()),
		s.momentumOption(),
		option.Either("eta-scale", &s.Fixed, "weights", "fixed",
			"take eta as a cap on the curvature rule, divided by 1 + ||w||_1 (weights), or as the step size itself (fixed)").
			For("fixed", option.Paper()).
			With(option.If("primal", "nesterov", "gradient")),
		option.NumberOr("eta", &s.Eta, option.Positive, "auto", "set the step size; auto follows the measured curvature").
			For(option.Float(DefaultAdamStep), option.If("primal", "adam")).
			For("0.1", option.Paper(), option.Problem(option.Intersectional), option.If("eta-scale", "fixed")).
			For("0.001", option.Paper(), option.If("eta-scale", "fixed")).
			Check(func() string {
				switch {
				case s.Eta == 0 && s.Kind == Adam:
					return "the adam step has no automatic size; give a number"
				case s.Eta == 0 && s.Fixed:
					return "an automatic step follows the weights; give a number with --eta-scale fixed"
				}
				return ""
			}),
	}
}

// primalOption describes the choice of the x-step.
func primalOption(get func() string, put func(word string)) *option.Option {
	return option.Words("primal", get, put, "choose the step of x", primalNames[:]...)
}

func (s *PrimalSettings) momentumOption() *option.Option {
	return option.Number("momentum", &s.Momentum, option.Between(0, 1), "limit the ramp of Nesterov's momentum").
		Or(option.Float(DefaultMomentum)).With(option.If("primal", "nesterov"))
}

// options describes the settings of a method whose tau rho has the default slackRatio.
func (s *Perturbation) options(slackRatio float64, rule string) []*option.Option {
	return []*option.Option{
		option.Number("alpha", &s.Alpha, option.Positive, "set the penalty on the perturbation, above 1 in the theorems").
			Or(option.Float(DefaultAlpha)),
		option.Number("beta", &s.Beta, option.Positive, "set the proximal parameter of the multipliers, below 1 in the theorems").
			Or(option.Float(DefaultBeta)).
			For("0.2", option.Problem(option.NeymanPearson)).For("0.5", option.Problem(option.Intersectional)),
		option.Number("tau", &s.Tau, option.Positive, "set the step size of the slack").
			OrRule(rule, func() string {
				set := s.withDefaults(deltaSlow)
				return option.Float(slackRatio * (1 + set.Alpha*set.Beta) / set.Alpha)
			}, "alpha", "beta").
			For("0.1", option.Paper(), option.OnGaps()).For("0.01", option.Paper(), option.Problem(option.Intersectional)),
		option.Enum("delta", &s.Delta, "choose the sequence delta_k: 1/(p k^q + 1) (power) or delta0/(k+1)^q (harmonic)", deltaNames[:]...).
			For("harmonic", option.Paper(), option.OnTables()),
		option.Number("delta-p", &s.DeltaP, option.Positive, "set p of --delta power; a smaller p lets the violation shrink sooner").
			Or(option.Float(deltaRamped)).
			For(option.Float(deltaSlow), option.If("primal", "adam")).
			For(option.Float(deltaSlow), option.If("primal", "gradient"), option.If("eta-scale", "fixed")).
			For(option.Float(deltaFast), option.If("primal", "gradient")).
			With(option.If("delta", "power")),
		option.Number("delta-q", &s.DeltaQ, option.UpTo(0, 1), "set the exponent q of delta_k, above 2/3 in the theorems").
			Or(option.Float(DefaultDeltaQ)),
		option.Number("delta0", &s.Delta0, option.UpTo(0, 1), "set delta0 of --delta harmonic").
			Or(option.Float(DefaultDelta0)).For("0.1", option.Paper(), option.OnTables()).
			With(option.If("delta", "harmonic")),
		option.NumberOr("slack-cap", &s.SlackCap, option.Positive, "none", "bound the slack from above"),
		option.Either("slack-start", &s.ZeroSlack, "residual", "zero", "start the slack at max(0, -g(x_0)) (residual) or at 0 (zero)"),
	}
}

// Options implements Configurable.
func (m *PPALA) Options() []*option.Option {
	return append(m.Primal.Options(), m.Perturbation.options(DefaultPPALASlackRatio, "0.9/(2 rho)")...)
}

// Options implements Configurable.
func (m *PLADA) Options() []*option.Option {
	primal := m.Primal.Options()
	primal[0].For("gradient", option.If("x-step", "inner")).Check(func() string {
		if m.XStep == Inner && m.Primal.Kind != Gradient {
			return "--x-step inner takes gradient steps only; choose --primal gradient"
		}
		return ""
	})
	list := append(primal, m.Perturbation.options(DefaultPLADASlackRatio, "0.9/(3 rho)")...)
	return append(list,
		option.Custom("x-step", "subgradient|proxlinear|split|inner:N", m.setXStep, m.xStepText,
			"choose the step of x: along a subgradient, exact for linearised gaps |h| <= eps (proxlinear), on the two smooth"+
				" constraints of each gap (split), or N steps on the exact subproblem (inner:N)", "subgradient", "proxlinear", "split").
			Or("subgradient").
			For("proxlinear", option.Practical(), option.OnGaps(), option.If("regularizer", "none")),
		option.Either("mu-step", &m.BoxStep, "analysed", "box", "step mu as the paper's analysis does (analysed) or as its algorithm box does (box)"),
		option.NumberOr("sigma0", &m.Sigma0, option.Positive, "none", "cap the step of mu"))
}

// xStepNames are the words of the x-steps without a number.
var xStepNames = map[XStep]string{XStepAuto: "auto", Subgradient: "subgradient", ProxLinear: "proxlinear", Split: "split"}

func (m *PLADA) xStepText() string {
	if m.XStep == Inner {
		return "inner:" + strconv.Itoa(m.InnerSteps)
	}
	return xStepNames[m.XStep]
}

func (m *PLADA) setXStep(text string) error {
	for step, name := range xStepNames {
		if name == text && step != XStepAuto {
			m.XStep, m.InnerSteps = step, 0
			return nil
		}
	}
	steps, inner := strings.CutPrefix(text, "inner:")
	n, err := strconv.Atoi(steps)
	if !inner || err != nil || n < 1 {
		return fmt.Errorf("must be subgradient, proxlinear, split, or inner:N with N at least 1")
	}
	m.XStep, m.InnerSteps = Inner, n
	return nil
}

// Options implements Configurable.
func (m *GDPA) Options() []*option.Option {
	primal := m.Primal
	if primal == nil {
		primal = &PrimalSettings{}
	}
	return []*option.Option{
		primalOption(func() string {
			if m.Primal == nil {
				return "gradient"
			}
			return m.Primal.Kind.String()
		}, func(word string) {
			if primal.Kind, _ = ParsePrimal(word); primal.Kind == Gradient {
				m.Primal = nil // the published step
			} else {
				m.Primal = primal
			}
		}).Or("gradient"),
		primal.momentumOption(),
		option.Custom("gdpa-step", "X|auto", m.setStep, func() string {
			if m.Automatic {
				return "auto"
			}
			return option.Float(orDefault(m.Step, DefaultGDPAStep))
		}, "set the first step size alpha_0; auto, with --primal nesterov, follows the measured curvature", "auto").
			Or(option.Float(DefaultGDPAStep)).
			Check(func() string {
				if m.Automatic && (m.Primal == nil || m.Primal.Kind != Nesterov) {
					return "needs --primal nesterov"
				}
				return ""
			}),
		option.Either("gdpa-step-decay", &m.ConstantStep, "cubic", "constant",
			"let the step size fall like alpha_0 (r+1)^(-1/3) (cubic), or keep it (constant)"),
		option.Number("gdpa-penalty", &m.Penalty, option.Positive, "set the first penalty beta_0").Or(option.Float(DefaultGDPAPenalty)),
		option.Number("gdpa-perturbation", &m.Perturbation, option.Between(0, 1), "set the perturbation tau").
			Or(option.Float(DefaultGDPAPerturbation)),
		option.NumberOr("gdpa-ratio", &m.Ratio, option.AtLeast(1), "none",
			"let the penalty grow as beta_0 X^r; none: as beta_0 (r+1)^(1/3)"),
	}
}

func (m *GDPA) setStep(text string) error {
	step := option.NumberOr("", &m.Step, option.Positive, "auto", "")
	m.Automatic = text == "auto"
	return step.Set(text)
}

// Options implements Configurable.
func (m *Penalty) Options() []*option.Option {
	return append(m.Primal.Options(),
		option.Number("penalty-coefficient", &m.Coefficient, option.Positive, "set the first c of c/2 ||max(0, g)||^2").
			Or(option.Float(DefaultPenaltyCoefficient)),
		option.Number("penalty-growth", &m.Growth, option.AtLeast(1), "multiply c by this factor after every period").
			Or(option.Float(DefaultPenaltyGrowth)),
		option.Count("penalty-period", &m.Period, option.AtLeast(1), "set the length of a period").
			Or(strconv.Itoa(DefaultPenaltyPeriod)).In("iterations"))
}

// Options implements Configurable.
func (m *GDA) Options() []*option.Option {
	return append(m.Primal.Options(),
		option.Number("gda-dual-step", &m.DualStep, option.Positive, "set the step size of the multipliers").
			Or(option.Float(DefaultGDADualStep)))
}

// Options implements Configurable.
func (m *ALM) Options() []*option.Option {
	return append(m.Primal.Options(),
		option.Number("alm-penalty", &m.Penalty, option.Positive, "set the penalty c of the augmented Lagrangian").
			Or(option.Float(DefaultALMPenalty)),
		option.Count("alm-inner", &m.Inner, option.AtLeast(1), "set the number of x-steps between updates of the multipliers").
			Or(strconv.Itoa(DefaultALMInner)).In("iterations"))
}

// Options implements Configurable.
func (m *Unconstrained) Options() []*option.Option { return m.Primal.Options() }

// Options implements Configurable.
func (m *SSG) Options() []*option.Option {
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
		rule("ssg-step-rule", &m.StepRule, "step on the objective by c/sqrt(count) (decay) or by c (constant)", StepDecay, StepConstant),
		rule("ssg-violation-rule", &m.ViolationRule,
			"step on the constraints by g/||zeta||^2 (polyak), or with c of --ssg-violation-step by c/sqrt(count) (decay) or c (constant)",
			StepPolyak, StepDecay, StepConstant),
		option.Number("ssg-violation-step", &m.ViolationStep, option.Positive, "set c of the steps on the constraints").Or("0.1").
			With(option.If("ssg-violation-rule", "decay", "constant")),
	}
}

// Options implements Configurable.
func (m *IPPSSG) Options() []*option.Option {
	return []*option.Option{
		option.Number("ipp-ssg-tolerance", &m.Tolerance, option.Positive, "step on the objective while the largest constraint is at most this").
			Or(option.Float(DefaultSSGTolerance)),
		option.NumberOr("ipp-ssg-bound", &m.Bound, option.Positive, "auto", "set the bound L of the inner steps; auto measures it"),
		m.rhoOption("ipp-ssg-rho"),
		option.Count("ipp-ssg-inner", &m.Inner, option.AtLeast(1), "set the first number of inner steps on a proximal problem").
			Or(strconv.Itoa(DefaultInnerLoop)).In("iterations"),
	}
}

func (s *ProximalPoint) rhoOption(name string) *option.Option {
	return option.NumberOr(name, &s.RhoHat, option.Positive, "auto",
		"set rho^ of the proximal problems; auto: twice the modulus of weak convexity measured at the start")
}

// Options implements Configurable.
func (m *IPPConEx) Options() []*option.Option {
	return []*option.Option{
		option.NumberOr("ipp-conex-t0", &m.T0, option.Positive, "auto", "set t0 of the inner steps; auto derives it from the measured curvature"),
		option.NumberOr("ipp-conex-bound", &m.Bound, option.Positive, "auto",
			"set the bound M on the constraints' subgradients; auto measures it"),
		m.rhoOption("ipp-conex-rho"),
		option.Count("ipp-conex-inner", &m.Inner, option.AtLeast(1), "set the number of inner steps on a proximal problem").
			Or(strconv.Itoa(DefaultInnerLoop)).In("iterations"),
		option.Switch("ipp-conex-restart", &m.Restart, "begin each inner loop with multipliers of 0, as published"),
	}
}

// Options implements Configurable.
func (m *MultiplierModel) Options() []*option.Option {
	return []*option.Option{
		option.Number("multiplier-model-step", &m.Step, option.Positive, "set the Adagrad step size of the model").
			Or(option.Float(DefaultMultiplierStep)),
		option.Number("multiplier-model-network-step", &m.NetworkStep, option.Positive, "set the Adagrad step size of the multipliers' network").
			Or(option.Float(DefaultMultiplierStep)),
		option.Count("multiplier-model-units", &m.Units, option.AtLeast(1), "set the number of hidden units of the multipliers' network").
			Or(strconv.Itoa(DefaultMultiplierUnits)),
	}
}

// Options implements Configurable.
func (m *NLIAPIAL) Options() []*option.Option {
	return []*option.Option{
		option.NumberOr("nl-iapial-penalty", &m.Penalty, option.Positive, "auto",
			"set the first penalty c_0; auto: max(1, M/K^2) with the Lipschitz constants measured at the start"),
		option.NumberOr("nl-iapial-modulus", &m.Modulus, option.Positive, "auto", "set the modulus m of weak convexity of f; auto measures it"),
		option.NumberOr("nl-iapial-lipschitz", &m.Lipschitz, option.Positive, "auto",
			"set the Lipschitz constant M of the gradient of f; auto measures it"),
		option.Number("nl-iapial-sigma", &m.Sigma, option.Between(0, 1), "set the relative accuracy of the inner problems").
			Or(option.Float(DefaultNLIAPIALSigma)),
		option.Number("nl-iapial-tolerance", &m.Tolerance, option.Positive, "set the accuracy that decides when the penalty grows").
			Or(option.Float(DefaultNLIAPIALTolerance)),
		option.Count("nl-iapial-inner", &m.Inner, option.AtLeast(1), "limit the steps on an inner problem").
			Or(strconv.Itoa(DefaultNLIAPIALInner)).In("iterations"),
	}
}
