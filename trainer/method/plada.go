package method

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"ppal/internal/option"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/internal/estimate"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// XStep selects PLADA's x-step.
type XStep int

// PLADA's x-steps. The smooth form of a piecewise problem (Split) is a separate problem. Every
// method can solve the smooth form.
const (
	// XStepAuto selects ProxLinear if ProxLinear supports the problem and the constraints have at most
	// 4 rows, else Subgradient. A constraint |h| - eps has one row; other maxima have a row for each
	// smooth term. Each row costs a backward pass. In a run on mini-batches, a caller that builds the
	// problem should split the gaps (see SmoothOn): a batch's |h_b| is larger in the mean than |h|.
	XStepAuto XStep = iota
	// Subgradient takes the primal step along grad f + d^T lambda, with a subgradient d of g at x_k
	// (sign(0) = 0). The paper's proof does not cover Subgradient: the proof minimises over <lambda_k,
	// g(x)> without a linearisation. Near a kink the iterates can oscillate.
	Subgradient
	// ProxLinear linearises the smooth terms inside the maxima (|h| - eps, or any problem.Piecewise
	// constraints) and solves the resulting subproblem exactly. ProxLinear does not support a
	// regularizer. ProxLinear holds a coordinate with lambda_j < 0 at a stationary value (see
	// step.ProxLinearStep).
	ProxLinear
	// Inner takes several subgradient steps on the exact subproblem (see step.NewInner).
	Inner
	// Split is Subgradient on a problem that has h <= eps and -h <= eps instead of a gap |h| <= eps.
	// The caller builds the problem with the split gaps.
	Split
)

// PLADA is the proximal-perturbed Lagrangian alternating direction method for non-smooth
// constraints (Moon et al., Algorithm 1):
//
//	x+   = argmin <grad f(x_k), x> + <lambda_k, g(x)> + ||x - x_k||^2/(2 eta) + r(x)     see XStep
//	u+   = max(0, u - tau lambda)
//	s    = min(sigma_0/rho, delta_k/(||lambda - mu||^2 + 1))
//	mu+  = mu + s (lambda - mu)
//	lambda+ = mu+ + rho (g(x+) + u+)
//
// The share s follows the equation in the paper's text and the lemmas (||mu+ - mu|| <= delta_k/2);
// BoxStep selects the formula in the paper's algorithm box. The multiplier nu = max(0, lambda_k -
// u_k/tau) certifies x_{k+1}. The zero value has the practical settings.
//
// The primal step is of the first order.
type PLADA struct {
	Perturbation
	Primal step.Settings
	XStep  XStep
	// InnerSteps is the number of inner steps of Inner; 0 is the default, 10.
	InnerSteps int
	// Sigma0 caps the step of mu; 0 is the default: no cap.
	Sigma0 float64
	// BoxStep selects the algorithm box's s = min(sigma_0, rho delta_k/(||lambda - mu||^2 + 1)),
	// without 1/rho. A run with s > 1 ends with a warning.
	BoxStep bool
	// Tolerance is the largest violation without a closing warning. A session replaces 0 by the
	// feasibility tolerance of the run; without a session 0 is the default, 1e-3.
	Tolerance float64

	firstOrder
	dual perturbed
}

var (
	_ trainer.Method    = (*PLADA)(nil)
	_ chooser           = (*PLADA)(nil)
	_ implier           = (*PLADA)(nil)
	_ finisher          = (*PLADA)(nil)
	_ trainer.DualRule  = (*PLADA)(nil)
	_ trainer.Penalizer = (*PLADA)(nil)
	_ batchRule         = (*PLADA)(nil)
	_ trainer.Diagnoser = (*PLADA)(nil)
	_ trainer.Concluder = (*PLADA)(nil)
)

const (
	// DefaultPLADASlackRatio is the default of tau rho in PLADA, inside the theorem's bound 1/3.
	DefaultPLADASlackRatio = 0.9 / 3
	// DefaultInnerSteps is the default of PLADA.InnerSteps.
	DefaultInnerSteps = 10

	pladaTauBound  = 1.0 / 3 // the theorem's bound of tau rho
	proxLinearMost = 4       // largest number of rows for which XStepAuto selects ProxLinear
)

func init() {
	describe[PLADA](Description{
		Kinks:   true,
		Summary: "proximal-perturbed Lagrangian alternating direction, for non-smooth constraints",
		About:   "Takes gaps |h| <= eps as they are. With few gaps and no regularizer its x-step is exact for the linearised gaps.",
		Source:  "Moon et al., Algorithm 1",
	})
}

// Name implements trainer.Method.
func (m *PLADA) Name() string { return "plada" }

// primal implements chooser.
func (m *PLADA) primal() *step.Settings { return &m.Primal }

// onAllRows implements finisher.
func (m *PLADA) onAllRows() trainer.Method { return &ALM{Tolerance: m.Tolerance} }

// setRun implements runSetter.
func (m *PLADA) setRun(tolerance float64, _ uint64) { m.Tolerance = cmp.Or(m.Tolerance, tolerance) }

// validate checks the settings that the dual state does not check.
func (m *PLADA) validate() error {
	switch {
	case !option.IsSize(m.Sigma0) || m.InnerSteps < 0:
		return fmt.Errorf("method: %w: sigma0 is %v and the number of inner steps %d, want positive numbers", problem.ErrSettings, m.Sigma0, m.InnerSteps)
	case m.XStep < XStepAuto || m.XStep > Split:
		return fmt.Errorf("method: %w: unknown x-step %d of PLADA", problem.ErrSettings, m.XStep)
	}
	return nil
}

// smooth implements smoother. On mini-batches, XStepAuto also takes the split form. The estimates
// of h on batches are unbiased, and the noise of |h| has a positive mean, which makes multipliers
// grow beyond those of the problem.
func (m *PLADA) smooth(batches bool) bool {
	return m.XStep == Split || batches && m.XStep == XStepAuto
}

// impliedPrimal implements implier: the inner loop takes gradient steps.
func (m *PLADA) impliedPrimal() step.Kind {
	if m.XStep == Inner {
		return step.Gradient
	}
	return step.Auto
}

// Init implements trainer.Method.
func (m *PLADA) Init(p problem.Problem, at *problem.Point) error {
	m.Primal.Kind = primalOf(m)
	step, err := m.newXStep(p)
	if err != nil {
		return err
	}
	return m.start(m, step, p, at)
}

// newXStep checks the settings and creates the x-step for p.
func (m *PLADA) newXStep(p problem.Problem) (step.Step, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	if err := m.Primal.Validate(); err != nil {
		return nil, err
	}
	switch m.xStep(p) {
	case ProxLinear:
		return step.NewProxLinear(m.Primal, p)
	case Inner:
		steps := m.InnerSteps
		if steps == 0 {
			steps = DefaultInnerSteps
		}
		return step.NewInner(m.Primal, steps, p)
	}
	return step.New(m.Primal, p)
}

// xStep returns the x-step for p: XStep, or the choice of XStepAuto.
func (m *PLADA) xStep(p problem.Problem) XStep {
	if m.XStep != XStepAuto {
		return m.XStep
	}
	if m.Primal.Kind == step.Adam || !step.ProxLinearApplies(p) {
		return Subgradient
	}
	if len(step.RowTerms(problem.FeaturesOf(p).Pieces)) > proxLinearMost {
		return Subgradient
	}
	return ProxLinear
}

// Report implements trainer.Method.
func (m *PLADA) Report() trainer.Report { return m.reported(m.dual.report(m.stepSize())) }

// PrimalStep implements trainer.DualRule.
func (m *PLADA) PrimalStep() step.Settings { return m.Primal }

// StartDual implements trainer.DualRule.
func (m *PLADA) StartDual(g []float64) error {
	if err := m.validate(); err != nil {
		return err
	}
	primal := m.Primal
	if m.XStep == Inner { // Inner does not support momentum
		primal.Kind = step.Gradient
	}
	return m.dual.start(m.Perturbation, DefaultDeltaP(primal), DefaultPLADASlackRatio, g)
}

// onBatches implements batchRule.
func (m *PLADA) onBatches(t int) { m.dual.batches = t }

// Coefficients implements trainer.DualRule: w = lambda.
func (m *PLADA) Coefficients(w, _ []float64) { copy(w, m.dual.lambda) }

// Needs implements trainer.Method and trainer.DualRule.
func (m *PLADA) Needs() trainer.Needs {
	n := trainer.Needs{Of: "PLADA's x-step " + xStepNames[m.XStep], Option: nameXStep, Instead: "choose subgradient or inner:N"}
	switch m.XStep {
	case ProxLinear:
		n.Gaps, n.Pieces, n.Evaluations = true, true, true
		n.Regularizers = []problem.RegularizerKind{problem.NoRegularizer}
	case Split:
		n.Gaps = true
	case Inner:
		return trainer.Needs{Of: "PLADA's x-step inner", Evaluations: true}
	default:
		return trainer.Needs{}
	}
	return n
}

// UpdateDual implements trainer.DualRule.
func (m *PLADA) UpdateDual(g []float64) {
	d := &m.dual
	s := d.share()
	for j, l := range d.lambda {
		d.nu[j] = max(0, l-d.u[j]/d.tau)
		d.u[j] = d.slack(d.u[j] - d.tau*l)
	}
	limit := m.Sigma0 / d.rho
	if m.BoxStep {
		s, limit = d.rho*s, m.Sigma0
	}
	if m.Sigma0 > 0 {
		s = math.Min(s, limit)
	}
	d.advance(s, g)
}

// Demand implements trainer.DualRule: lambda follows rho g.
func (m *PLADA) Demand() step.Demand {
	return step.Demand{PenaltyCurvature: m.dual.rho, Follows: true}
}

// CurrentPenalty implements trainer.Penalizer with rho.
func (m *PLADA) CurrentPenalty() float64 { return unlessFixed(m.dual.rho, m.Primal) }

// BeginWith implements trainer.Penalizer.
func (m *PLADA) BeginWith(c float64) { m.dual.beginWith(c) }

// VisitDual implements trainer.DualRule.
func (m *PLADA) VisitDual(v problem.StateVisitor) { m.dual.VisitDual(v) }

// Diagnose implements trainer.Diagnoser. Diagnose warns about settings outside the theorem.
func (m *PLADA) Diagnose(ctx context.Context, p problem.Problem, at *problem.Point) ([]string, error) {
	d := &m.dual
	warnings := d.diagnose(pladaTauBound / d.rho)
	if !m.Primal.Fixed {
		return warnings, nil
	}
	w, err := estimate.StepWarning(ctx, p, at, m.Primal.Eta, d.rho, nil) // L_f: coefficients 0
	return append(warnings, w...), err
}

// Conclude implements trainer.Concluder.
func (m *PLADA) Conclude(at *problem.Point, _ certify.Certificate) (warnings, notes []string) {
	if m.ended() {
		return nil, nil
	}
	warnings, notes = m.dual.conclude(at, cmp.Or(m.Tolerance, trainer.DefaultFeasibilityTolerance))
	if m.BoxStep && m.dual.largestStep > 1 {
		warnings = append(warnings, fmt.Sprintf(
			"the share of mu's step reached %.3g > 1: mu overshot lambda; use --mu-step analysed or lower --sigma0", m.dual.largestStep))
	}
	if s, ok := m.step.(*step.ProxLinearStep); ok && s.Held > 0 {
		notes = append(notes, fmt.Sprintf("the x-step met a negative multiplier %d times and used its stationary value", s.Held))
	}
	return warnings, notes
}

// options returns the settings, bound to the fields of m.
func (m *PLADA) options() []*option.Option {
	primal := option.Of(&m.Primal)
	primal[0].For(step.Gradient.String(), option.If(nameXStep, "inner")).Check(func() string {
		if m.XStep == Inner && primalOf(m) != step.Gradient {
			return "--x-step inner needs --primal gradient"
		}
		return m.Primal.FirstOrderConflict()
	})
	list := append(primal, m.Perturbation.options(DefaultPLADASlackRatio, "0.9/(3 rho)")...)
	return append(list,
		option.Custom(nameXStep, "STEP", m.setXStep, m.xStepText,
			"choose how x moves: subgradient: along a subgradient; proxlinear: exactly for linearised gaps |h| <= eps; split: on the two"+
				" smooth constraints of each gap; inner:N: N steps on the exact subproblem; auto: split with --batch-size, else proxlinear if"+
				" it applies to at most 4 gaps, else subgradient", "subgradient", "proxlinear", "split", "auto").
			Or("subgradient"),
		option.Either("mu-step", &m.BoxStep, "analysed", "box", "analysed: step mu as the paper's analysis does; box: as its algorithm box does"),
		option.NumberOr("sigma0", &m.Sigma0, option.Positive, "none", "cap the step of mu"),
	)
}

// nameXStep is the name of the option of the x-step.
const nameXStep = "x-step"

// xStepNames are the words of the x-steps that take no number.
var xStepNames = map[XStep]string{XStepAuto: "auto", Subgradient: "subgradient", ProxLinear: "proxlinear", Split: "split"}

// xStepText returns the x-step as text, in the form that setXStep reads.
func (m *PLADA) xStepText() string {
	if m.XStep == Inner {
		return "inner:" + strconv.Itoa(cmp.Or(m.InnerSteps, DefaultInnerSteps))
	}
	return xStepNames[m.XStep]
}

// setXStep sets the x-step from text; inner:N also sets the number of inner steps.
func (m *PLADA) setXStep(text string) error {
	for step, name := range xStepNames {
		if name == text {
			m.XStep, m.InnerSteps = step, 0
			return nil
		}
	}
	steps, inner := strings.CutPrefix(text, "inner:")
	n, err := strconv.Atoi(steps)
	if !inner || err != nil || n < 1 {
		return fmt.Errorf("must be subgradient, proxlinear, split, auto, or inner:N with N at least 1")
	}
	m.XStep, m.InnerSteps = Inner, n
	return nil
}
