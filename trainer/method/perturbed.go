package method

import (
	"fmt"
	"math"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// DeltaKind selects the sequence delta_k that bounds the steps of the auxiliary multiplier: delta_k
// -> 0, sum delta_k = infinity.
type DeltaKind int

// The sequences, k from 0.
const (
	DeltaPower    DeltaKind = iota // delta_k = 1/(p k^q + 1), Moon et al., "Description of Algorithm" 2
	DeltaHarmonic                  // delta_k = delta0/(k+1)^q
)

var deltaNames = [...]string{"power", "harmonic"}

// String returns the kind's name on the command line.
func (k DeltaKind) String() string {
	if k < 0 || int(k) >= len(deltaNames) {
		return fmt.Sprintf("DeltaKind(%d)", int(k))
	}
	return deltaNames[k]
}

// Perturbation holds the settings that PPALA and PLADA share: the parameters of the
// proximal-perturbed Lagrangian and of its dual updates.
type Perturbation struct {
	// Alpha > 1 is the penalty on the perturbation z; Beta in (0, 1) is the proximal parameter of
	// lambda - mu; rho = Alpha/(1 + Alpha Beta). 0 is the default: 10 and 0.1.
	Alpha, Beta float64
	// Tau is the step size of the slack. 0 is the default: 0.9/(2 rho) for PPALA and 0.9/(3 rho) for
	// PLADA, inside the theorems' bounds.
	Tau float64
	// Delta selects delta_k. DeltaP is p > 0 of DeltaPower; 0 is the default: 1e-3 with a fixed
	// gradient step and with Adam, 0.05 with momentum, 0.1 with gradient steps by the curvature rule.
	// Momentum is stable only if delta_k falls with the ramp of the momentum. The curvature rule
	// measures the gradient changes of fast multipliers as curvature. DeltaQ is q in (2/3, 1]; 0 is
	// the default, 1. Delta0 in (0, 1] is delta0 of DeltaHarmonic; 0 is the default, 1. With T
	// mini-batches in a pass, iteration k takes delta_{k/T}/T: a pass over the rows moves the
	// multipliers as far as an iteration on all rows.
	Delta                  DeltaKind
	DeltaP, DeltaQ, Delta0 float64
	// SlackCap U > 0 keeps u in [0, U]; 0 is the default: no upper bound.
	SlackCap float64
	// ZeroSlack starts with u_0 = 0 instead of u_0 = max(0, -g(x_0)).
	ZeroSlack bool
}

// Rho returns rho = alpha/(1 + alpha beta), with the defaults for parameters that are 0.
func (s Perturbation) Rho() float64 {
	s = s.withDefaults(deltaSlow)
	return s.Alpha / (1 + s.Alpha*s.Beta)
}

// defaultTau returns the default of Tau, slackRatio/rho.
func (s Perturbation) defaultTau(slackRatio float64) float64 {
	s = s.withDefaults(deltaSlow)
	return slackRatio * (1 + s.Alpha*s.Beta) / s.Alpha
}

// The defaults of alpha, beta, q and delta0. DefaultPPALASlackRatio and DefaultPLADASlackRatio are
// the defaults of tau rho; DefaultDeltaP returns the default of p.
const (
	DefaultAlpha  = 10
	DefaultBeta   = 0.1
	DefaultDeltaQ = 1
	DefaultDelta0 = 1
)

// The defaults of p.
const (
	deltaSlow   = 1e-3 // with the paper's gradient step
	deltaFast   = 0.1  // with gradient steps by the curvature rule
	deltaRamped = 0.05 // with Nesterov's momentum
)

// DefaultDeltaP returns the default of Perturbation.DeltaP, p, for an x-step: 1e-3 for a fixed
// gradient step and Adam, 0.1 for gradient steps by the curvature rule (and PLADA's Inner), 0.05
// with Nesterov's momentum. With p = 0.05, delta_k is 2 (1 - b_k) for the ramp b_k of the momentum:
// the largest delta_k that is stable for every share of the constraint in the curvature. With a
// smaller delta_k, mu follows lambda more slowly: if lambda moves by D in an iteration, the lag of
// mu leaves a violation of D/(rho delta_k).
func DefaultDeltaP(s step.Settings) float64 {
	switch {
	case s.Kind == step.Adam || s.Kind == step.Gradient && s.Fixed:
		return deltaSlow
	case s.Kind == step.Gradient:
		return deltaFast
	}
	return deltaRamped
}

// withDefaults returns s with the defaults for the numbers that are 0, except Tau. deltaP is the
// default of p.
func (s Perturbation) withDefaults(deltaP float64) Perturbation {
	set := func(x *float64, v float64) {
		if *x == 0 {
			*x = v
		}
	}
	set(&s.Alpha, DefaultAlpha)
	set(&s.Beta, DefaultBeta)
	set(&s.DeltaQ, DefaultDeltaQ)
	set(&s.Delta0, DefaultDelta0)
	set(&s.DeltaP, deltaP)
	return s
}

// validate returns an error that wraps problem.ErrSettings if a setting is invalid.
func (s Perturbation) validate() error {
	if err := checkNumbers(number{"alpha", s.Alpha}, number{"beta", s.Beta}, number{"tau", s.Tau}, number{"delta p", s.DeltaP},
		number{"delta q", s.DeltaQ}, number{"delta0", s.Delta0}, number{"slack cap", s.SlackCap}); err != nil {
		return err
	}
	if s.Delta < DeltaPower || s.Delta > DeltaHarmonic {
		return fmt.Errorf("method: %w: %v", problem.ErrSettings, s.Delta)
	}
	if s.DeltaQ > 1 {
		return fmt.Errorf("method: %w: delta q is %v, want it in (2/3, 1]: the sum of delta_k must be infinite", problem.ErrSettings, s.DeltaQ)
	}
	if s.Delta0 > 1 {
		return fmt.Errorf("method: %w: delta0 is %v, want it in (0, 1]", problem.ErrSettings, s.Delta0)
	}
	return nil
}

// delta returns delta_k.
func (s Perturbation) delta(k float64) float64 {
	if s.Delta == DeltaHarmonic {
		return s.Delta0 / math.Pow(k+1, s.DeltaQ)
	}
	return 1 / (s.DeltaP*math.Pow(k, s.DeltaQ) + 1)
}

// perturbed is the dual state of PPALA and PLADA: the slack u, the multiplier lambda of g + u - z =
// 0, and the auxiliary multiplier mu of z = 0, on the host in float64.
type perturbed struct {
	set           Perturbation // with the defaults filled in
	rho, tau      float64
	k             int
	batches       int // T, the number of mini-batches in a pass; 0: each iteration uses all rows
	u, lambda, mu []float64
	nu            []float64 // nu_k
	delta         float64   // delta_{k-1}
	largestStep   float64   // largest s so far
	negative      int       // iterations in which some lambda_j < 0
}

// start checks set and creates the dual state from g(x_0): lambda = mu = 0, and u_0 by ZeroSlack.
// deltaP and slackRatio are the defaults of p and of tau rho.
func (d *perturbed) start(set Perturbation, deltaP, slackRatio float64, g []float64) error {
	if err := set.validate(); err != nil {
		return err
	}
	m := len(g)
	*d = perturbed{set: set.withDefaults(deltaP), delta: math.NaN(),
		u: make([]float64, m), lambda: make([]float64, m), mu: make([]float64, m), nu: make([]float64, m)}
	d.rho, d.tau = set.Rho(), set.Tau
	if d.tau == 0 {
		d.tau = set.defaultTau(slackRatio)
	}
	for j := range d.u {
		if !set.ZeroSlack {
			d.u[j] = d.slack(-g[j])
		}
	}
	return nil
}

// slack returns the projection of u onto [0, U].
func (d *perturbed) slack(u float64) float64 {
	u = math.Max(0, u)
	if d.set.SlackCap > 0 {
		u = math.Min(u, d.set.SlackCap)
	}
	return u
}

// gap returns ||lambda - mu||.
func (d *perturbed) gap() float64 {
	sum := 0.0
	for j, l := range d.lambda {
		sum += (l - d.mu[j]) * (l - d.mu[j])
	}
	return math.Sqrt(sum)
}

// advance updates the multipliers: mu+ = mu + s (lambda - mu), lambda+ = mu+ + rho (g(x+) + u+).
// The argument g is g(x+), and d.u already holds u+. The perturbation is z = (lambda - mu)/alpha.
func (d *perturbed) advance(s float64, g []float64) {
	d.largestStep = math.Max(d.largestStep, s)
	below := false
	for j, l := range d.lambda {
		d.mu[j] += s * (l - d.mu[j])
		d.lambda[j] = d.mu[j] + d.rho*(g[j]+d.u[j])
		below = below || d.lambda[j] < 0
	}
	if below {
		d.negative++
	}
	d.k++
}

// share sets delta_k and returns the share s = delta_k/(||lambda_k - mu_k||^2 + 1) of the step
// mu+ = mu + s (lambda - mu). The length of the step is at most delta_k/2.
func (d *perturbed) share() float64 {
	t := d.perPass()
	d.delta = d.set.delta(float64(d.k)/t) / t
	gap := d.gap()
	return d.delta / (gap*gap + 1)
}

// perPass returns the number of iterations in a pass over the rows.
func (d *perturbed) perPass() float64 { return float64(max(1, d.batches)) }

// beginWith raises rho to at least c. tau rho keeps its value.
func (d *perturbed) beginWith(c float64) { d.setRho(max(d.rho, c)) }

// setRho changes rho. tau rho keeps its value.
func (d *perturbed) setRho(rho float64) { d.tau, d.rho = d.tau*(d.rho/rho), rho }

// VisitDual implements trainer.DualRule.
func (d *perturbed) VisitDual(v problem.StateVisitor) {
	v.Count("dual.k", &d.k)
	v.Count("dual.negative", &d.negative)
	v.Number("dual.delta", &d.delta)
	rho := d.rho
	v.Number("dual.rho", &rho)
	d.setRho(rho)
	v.Number("dual.largest-step", &d.largestStep)
	v.Numbers("dual.slack", d.u)
	v.Numbers("dual.multipliers", d.lambda)
	v.Numbers("dual.auxiliary", d.mu)
	v.Numbers("dual.nu", d.nu)
}

// report returns the dual state at x_k. step is the step size that produced x_k.
func (d *perturbed) report(step float64) trainer.Report {
	r := trainer.Report{Multipliers: d.lambda, Auxiliary: d.mu, Slack: d.u, Delta: d.delta, StepSize: step}
	if d.k > 0 {
		r.Nu = d.nu
	}
	return r
}

// diagnose returns warnings about settings outside the theorems. tauBound is the bound of tau.
func (d *perturbed) diagnose(tauBound float64) (warnings []string) {
	if d.set.Alpha <= 1 {
		warnings = append(warnings, fmt.Sprintf("alpha = %g is outside the theorems, which need alpha > 1; convergence is not guaranteed (raise --alpha)", d.set.Alpha))
	}
	if d.set.Beta >= 1 {
		warnings = append(warnings, fmt.Sprintf("beta = %g is outside the theorems, which need beta in (0, 1); convergence is not guaranteed (lower --beta)", d.set.Beta))
	}
	if d.tau >= tauBound {
		warnings = append(warnings, fmt.Sprintf("tau = %g is outside the theorem's bound tau < %.4g for rho = %.4g; convergence is not guaranteed (lower --tau)", d.tau, tauBound, d.rho))
	}
	if d.set.DeltaQ <= 2.0/3 {
		warnings = append(warnings, fmt.Sprintf("delta q = %g is outside the complexity bound, which needs q in (2/3, 1]; the convergence rate is not guaranteed (raise --delta-q)", d.set.DeltaQ))
	}
	return warnings
}

const (
	// lagShare is the smallest share of the violation that the lag of mu must explain.
	lagShare = 0.5
	// lagDelta is the largest delta_k at which mu hardly moves: in a pass over the rows, mu moves
	// towards lambda by at most this share of lambda - mu. With a larger delta_k, more iterations
	// suffice.
	lagDelta = 0.1
)

// slower returns the advice, for a warning, that makes delta_k fall more slowly.
func (s Perturbation) slower() string {
	if s.Delta == DeltaHarmonic {
		return "raise --delta0 or lower --delta-q"
	}
	return "lower --delta-p"
}

// conclude returns the closing warnings and notes. conclude warns if the lag of mu behind lambda
// explains the remaining violation. After every dual update g + u = (lambda - mu)/rho. Therefore
// the violation shrinks only as fast as mu follows lambda. tolerance is the largest violation
// without a warning.
func (d *perturbed) conclude(at *problem.Point, tolerance float64) (warnings, notes []string) {
	lag := d.gap() / d.rho
	v := problem.MaxViolation(at.Constraints)
	if v > tolerance && lag >= lagShare*v && d.delta*d.perPass() <= lagDelta { // false before the first update: NaN
		warnings = append(warnings, fmt.Sprintf(
			"the largest violation, %.2g, now shrinks slowly, because the multipliers take small steps at the end of the run: "+
				"use more --iterations, or %s", v, d.set.slower()))
	}
	if d.negative > 0 {
		notes = append(notes, fmt.Sprintf(
			"a multiplier was negative in %.1f%% of the iterations, while its constraint fell below its bound; this does no harm",
			100*float64(d.negative)/float64(d.k)))
	}
	return warnings, notes
}

// options describes the settings. slackRatio is the default of tau rho; rule is the text of the
// default of tau.
func (s *Perturbation) options(slackRatio float64, rule string) []*option.Option {
	return []*option.Option{
		option.Number("alpha", &s.Alpha, option.Positive, "set the penalty on the perturbation, above 1 in the theorems").
			Or(option.Float(DefaultAlpha)),
		option.Number("beta", &s.Beta, option.Positive, "set the proximal parameter of the multipliers, below 1 in the theorems").
			Or(option.Float(DefaultBeta)),
		option.Number("tau", &s.Tau, option.Positive, "set the step size of the slack").
			OrRule(rule, func() string { return option.Float(s.defaultTau(slackRatio)) }, "alpha", "beta"),
		option.Enum("delta", &s.Delta, "choose the sequence delta_k: power: 1/(p k^q + 1); harmonic: delta0/(k+1)^q", deltaNames[:]...),
		option.Number("delta-p", &s.DeltaP, option.Positive, "set p of --delta power; a smaller p lets the violation shrink sooner").
			Or(option.Float(deltaRamped)).
			For(option.Float(deltaSlow), option.If("primal", "adam")).
			For(option.Float(deltaSlow), option.If("primal", "gradient"), option.If("eta-scale", "fixed")).
			For(option.Float(deltaFast), option.If("primal", "gradient")).
			With(option.If("delta", "power")),
		option.Number("delta-q", &s.DeltaQ, option.UpTo(0, 1), "set the exponent q of delta_k, above 2/3 in the theorems").
			Or(option.Float(DefaultDeltaQ)),
		option.Number("delta0", &s.Delta0, option.UpTo(0, 1), "set delta0 of --delta harmonic").
			Or(option.Float(DefaultDelta0)).
			With(option.If("delta", "harmonic")),
		option.NumberOr("slack-cap", &s.SlackCap, option.Positive, "none", "bound the slack from above"),
		option.Either("slack-start", &s.ZeroSlack, "residual", "zero", "residual: start the slack at max(0, -g(x_0)); zero: start it at 0"),
	}
}
