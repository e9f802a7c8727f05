package trainer

import (
	"math"

	"ppal/trainer/certify"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// Method decides the next step of a Problem. A Method has its settings in exported fields and is
// used for one run; its state is explicit (VisitState).
type Method interface {
	// Name is the method's name on the command line.
	Name() string
	// Needs declares what the method needs of a problem; Train checks it before Init.
	Needs() Needs
	// Init checks the settings against p, makes the state at the start x_0, where at holds f and g,
	// and may move the iterate only to bring it back.
	Init(p problem.Problem, at *problem.Point) error
	// Iterate moves the iterate from x_k to x_{k+1} and at with it (f, g, the count of gradients; not
	// at.Iteration).
	Iterate(p problem.Problem, at *problem.Point) error
	// Report tells the dual variables and step sizes of the current iterate.
	Report() Report
	// VisitState shows every part of the state to v, which saves or restores it.
	VisitState(v problem.StateVisitor)
}

// Report is what a method tells of its state at x_k. A method lacks what is nil or NaN. The slices
// are the method's own: read, do not keep.
type Report struct {
	Multipliers []float64 // lambda_k
	Auxiliary   []float64 // mu_k
	Slack       []float64 // u_k
	Delta       float64   // delta_{k-1}, which produced x_k's mu; NaN at the start
	StepSize    float64   // the step that produced x_k; NaN at the start
	// Nu is the multiplier nu >= 0 that the method's own theory certifies x_k with; nil: by least
	// squares.
	Nu []float64
}

// NewReport returns the report of a method with multipliers alone.
func NewReport(step float64, multipliers []float64) Report {
	return Report{Delta: math.NaN(), StepSize: step, Multipliers: multipliers}
}

// Diagnoser is a Method that can tell at the start, after Init, what its theory does not cover.
// Each warning is one sentence.
type Diagnoser interface {
	Diagnose(p problem.Problem, at *problem.Point) (warnings []string, err error)
}

// Concluder is a Method with something to say of the finished run, given its certificate.
type Concluder interface {
	Conclude(at *problem.Point, c certify.Certificate) (warnings, notes []string)
}

// Weigher is a Method whose theory draws an iterate at random with other than equal probabilities.
type Weigher interface {
	// OutputWeight returns the weight >= 0 of the current iterate, at which at holds f and g, in the
	// draw of OutputRandom.
	OutputWeight(at *problem.Point) float64
}

// Returner is a Method that would return another point than its iterate if the run ended now, such
// as a mean of iterates. Records and results are of that point; the iterations go on from the
// iterate.
type Returner interface {
	// Return makes that point p's iterate, and changes nothing else; false where it is the iterate
	// already.
	Return(p problem.Problem) bool
}

// hooks are the optional methods of a Method and a Recorder, nil where there are none; a run finds
// them once.
type hooks struct {
	diagnoser Diagnoser
	concluder Concluder
	weigher   Weigher
	returner  Returner
	ticker    Ticker
}

func hooksOf(m Method, r Recorder) hooks {
	var h hooks
	h.diagnoser, _ = m.(Diagnoser)
	h.concluder, _ = m.(Concluder)
	h.weigher, _ = m.(Weigher)
	h.returner, _ = m.(Returner)
	h.ticker, _ = r.(Ticker)
	return h
}

// DualRule is the host side of the methods whose x-step is x+ = step along grad f + J^T w: the rule
// gives the coefficients w_k at x_k and updates its dual variables with g at x_{k+1}. A user's own
// loop can drive it (graph.Optimizer).
type DualRule interface {
	// Name is the method's name on the command line.
	Name() string
	// Needs declares what the rule needs of a problem.
	Needs() Needs
	// StartDual makes the dual state from g(x_0).
	StartDual(g []float64) error
	// Coefficients writes w_k, g = g(x_k).
	Coefficients(w, g []float64)
	// UpdateDual takes the dual variables from step k to k+1, g = g(x_{k+1}).
	UpdateDual(g []float64)
	// Demand returns what the rule asks of the primal step at this iteration.
	Demand() step.Demand
	// PrimalStep returns the x-step that the method's settings ask for.
	PrimalStep() step.Settings
	// VisitDual shows the dual state to v.
	VisitDual(v problem.StateVisitor)
}
