package step

import (
	"fmt"
	"math"

	"ppal/internal/option"
	"ppal/trainer/problem"
)

// Kind names the x-step of the first-order methods.
type Kind int

// The primal steps. The paper's theorems cover only Gradient with a fixed step; the certificate
// measures the result of every step.
const (
	// Auto is LBFGS if the method and the problem support it, else Nesterov (method.ChoosePrimal).
	Auto     Kind = iota
	Nesterov      // ramped Nesterov momentum
	Gradient      // x+ = prox(x - e d)
	Adam          // Adam (0.9, 0.999, 1e-8), then the Euclidean projection
	LBFGS         // trust-region steps with a quasi-Newton model (see QuasiNewton)
)

var primalNames = [...]string{"auto", "nesterov", "gradient", "adam", "lbfgs"}

// String returns the kind's name on the command line.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(primalNames) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return primalNames[k]
}

// Parse is the inverse of Kind.String. The error wraps problem.ErrSettings.
func Parse(name string) (Kind, error) {
	for k, n := range primalNames {
		if n == name {
			return Kind(k), nil
		}
	}
	return 0, fmt.Errorf("step: %w: unknown primal step %q (supported: auto, nesterov, gradient, adam, lbfgs)", problem.ErrSettings, name)
}

// Settings choose the x-step x+ = step along d_k = grad f(x_k) + J(x_k)^T w_k. The zero value lets
// the method choose; its first-order step is Nesterov momentum with the automatic step size.
type Settings struct {
	// Kind is the x-step; the default is Auto.
	Kind Kind
	// Eta is the step size eta > 0. With the curvature rule Eta caps the step; with Fixed and with
	// Adam Eta is the step itself. 0 is the default: no cap (automatic), or 3e-3 for Adam. Fixed
	// needs a positive Eta.
	Eta float64
	// Fixed takes eta as the step, as the paper does, instead of the curvature rule
	//
	//	e_k = min(eta, 0.8/l_k)/n_k,  n_k = 1 + ||w_k||_1.
	Fixed bool
	// Momentum is the limit of the ramp b_k = min(Momentum, 1 - 10/(k+20)), in (0, 1). The step
	// reduces b_k if the step size is more than four times the last step size. 0 is the default,
	// 0.99. Only Nesterov has momentum.
	Momentum float64

	completed bool // the option primal set Kind
}

// History returns the largest number of earlier vectors of x's size that the step keeps: the moves
// and gradient changes of LBFGS. Auto keeps none: see method.ChoosePrimal.
func (s Settings) History() int {
	if s.Kind == LBFGS {
		return 2 * pairsMost
	}
	return 0
}

// FirstOrder returns the settings with the first-order step of Auto, Nesterov.
func (s Settings) FirstOrder() Settings {
	if s.Kind == Auto {
		s.Kind = Nesterov
	}
	return s
}

// Completed reports whether the option primal set Kind. The caller of options completes the other
// settings with defaults, so that a setting that is not 0 does not ask for a first-order step.
func (s Settings) Completed() bool { return s.completed }

// DefaultMomentum is the default of Settings.Momentum, the limit of Nesterov's ramp.
const DefaultMomentum = 0.99

// Validate returns an error that wraps problem.ErrSettings for settings out of their range.
func (s Settings) Validate() error {
	switch {
	case s.Kind < Auto || s.Kind > LBFGS:
		return fmt.Errorf("step: %w: unknown primal step %v", problem.ErrSettings, s.Kind)
	case !option.IsSize(s.Eta):
		return fmt.Errorf("step: %w: eta is %v, want a positive number, or 0 for automatic", problem.ErrSettings, s.Eta)
	case s.Fixed && s.Eta == 0 && s.Kind != Adam:
		return fmt.Errorf("step: %w: a fixed step size needs a positive eta", problem.ErrSettings)
	case s.Momentum != 0 && s.FirstOrder().Kind != Nesterov:
		return fmt.Errorf("step: %w: the %v step does not support momentum", problem.ErrSettings, s.Kind)
	case !(s.Momentum >= 0 && s.Momentum < 1):
		return fmt.Errorf("step: %w: momentum is %v, want a number in (0, 1)", problem.ErrSettings, s.Momentum)
	}
	return nil
}

// ramp returns min(limit, 1 - 10/(k+20)), or 0 for a step without momentum.
func (s Settings) ramp(k int) float64 {
	if s.FirstOrder().Kind != Nesterov {
		return 0
	}
	limit := s.Momentum
	if limit == 0 {
		limit = DefaultMomentum
	}
	return math.Min(limit, 1-10/(float64(k)+20))
}

// stepLeap is the largest growth of the step size between two iterations that leaves the momentum
// unchanged. The curvature rule alone lets the step grow by at most a tenth; a falling ||w||_1
// causes larger growth.
const stepLeap = 4

// momentum returns b_k: the ramp, times e_{k-1}/e_k if e_k > 4 e_{k-1}. The velocity v sums
// gradients, so that a longer step lengthens all of e b v. The longer move can diverge if the
// multipliers fall fast (Hock and Schittkowski's problem 10). The factor e_{k-1}/e_k keeps the
// momentum of the last move unchanged. A factor for every growth of the step, mostly slow, would
// cost speed: on images f would be a tenth to a half larger after 100 iterations.
func (s Settings) momentum(k int, last, step float64) float64 {
	b := s.ramp(k)
	if step > stepLeap*last {
		b *= last / step
	}
	return b
}

// Demand holds the requirements of a method on the primal step at one iteration. The zero value
// requires nothing.
type Demand struct {
	// PenaltyCurvature is c, the rate at which the coefficient of an active constraint follows the
	// constraint: w(g + dg) = w(g) + c dg. The rate adds c J^T J to the Hessian of the Lagrangian;
	// the first curvature that the step measures must include the added term.
	PenaltyCurvature float64
	// ScheduledStep is the step size of the method's own schedule. A positive value replaces
	// Settings.Eta; 0 means no schedule.
	ScheduledStep float64
	// Follows marks coefficients that follow rho g in every iteration and therefore swing with the
	// iterate (PPALA and PLADA).
	Follows bool
}

// Direction is the direction grad f + J^T w of a primal step at x_k, with the method's demands.
type Direction struct {
	Coefficients []float64 // 1, w_k
	Demand
}

// Step moves the iterate along d_k. Its state lives on the device.
type Step interface {
	// Move moves p's iterate from x_k to x_{k+1}; at holds f and g of the last Forward at x_k.
	Move(p problem.Problem, at *problem.Point, d Direction) error
	// Last returns the step size of the last Move, or NaN before the first Move.
	Last() float64
	// VisitState visits the step's state, to save or restore the state.
	VisitState(v problem.StateVisitor)
}

// New returns the step of the settings for p; Auto is Nesterov. The error wraps
// problem.ErrSettings.
func New(s Settings, p problem.Problem) (Step, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s = s.FirstOrder()
	switch s.Kind {
	case Adam:
		return newAdam(s, p), nil
	case LBFGS:
		return nil, fmt.Errorf("step: %w: the lbfgs step needs one of the methods alm and unconstrained", problem.ErrSettings)
	}
	return newDescent(s, p), nil
}

// NewBlind returns the step of the settings for a problem that can be evaluated at the iterate only
// (trainer.Stepper): the curvature rule does not probe before the first step.
func NewBlind(s Settings, p problem.Problem) (Step, error) {
	step, err := New(s, p)
	if d, ok := step.(*descent); ok {
		d.rule.blind = true
	}
	return step, err
}

// FirstOrderConflict says which methods take quasi-Newton steps, for a method that does not take
// them. It returns "" if the steps are of the first order.
func (s *Settings) FirstOrderConflict() string {
	if s.Kind == LBFGS {
		return "only alm and unconstrained take quasi-Newton steps; use --method alm"
	}
	return ""
}

func init() { option.Describe((*Settings).options) }

// options describes the settings of a method with first-order steps, bound to the fields of s. The
// first option is the kind, the second the limit of the momentum.
func (s *Settings) options() []*option.Option {
	return []*option.Option{
		option.Words("primal", func() string { return s.Kind.String() }, func(word string) {
			s.Kind, _ = Parse(word)
			s.completed = true
		}, "choose the primal step: Nesterov's momentum, a plain gradient step, Adam, or quasi-Newton steps in a trust region (lbfgs: alm"+
			" and unconstrained, on all rows); auto takes lbfgs where it applies, without kinks, and no setting of the other steps is given, else nesterov", primalNames[:]...).
			Or(Nesterov.String()).Check(s.FirstOrderConflict),
		option.Number("momentum", &s.Momentum, option.Between(0, 1), "limit the ramp of Nesterov's momentum").
			Or(option.Float(DefaultMomentum)).With(option.If("primal", "auto", "nesterov")),
		option.Either("eta-scale", &s.Fixed, "weights", "fixed",
			"weights: let eta cap the curvature rule, divided by 1 + ||w||_1; fixed: take eta as the step size").
			With(option.If("primal", "auto", "nesterov", "gradient")),
		option.NumberOr("eta", &s.Eta, option.Positive, "auto", "set the step size; auto follows the measured curvature").
			For(option.Float(DefaultAdamStep), option.If("primal", "adam")).
			With(option.FirstOrder()).
			Check(func() string {
				switch {
				case s.Eta == 0 && s.Kind == Adam:
					return "the adam step does not support auto; give a number"
				case s.Eta == 0 && s.Fixed:
					return "--eta-scale fixed does not support auto; give a number"
				}
				return ""
			}),
	}
}
