package trainer

import (
	"context"
	"math"

	"ppal/trainer/certify"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// Method decides the next step on a Problem. The exported fields of a Method are its settings. A
// Method serves one run. VisitState shows the whole state of a Method.
type Method interface {
	// Name is the method's name on the command line.
	Name() string
	// Needs declares the method's requirements on a problem. Train checks the requirements before
	// Init.
	Needs() Needs
	// Init checks the settings against p and creates the state at the start x_0. at holds f and g at
	// x_0. Init may move the iterate, but must restore the iterate.
	Init(p problem.Problem, at *problem.Point) error
	// Iterate moves the iterate from x_k to x_{k+1} and updates at: f, g and the count of gradients,
	// but not at.Iteration.
	Iterate(p problem.Problem, at *problem.Point) error
	// Report returns the dual variables and step sizes of the current iterate.
	Report() Report
	// VisitState shows every part of the state to v, which saves or restores the state.
	VisitState(v problem.StateVisitor)
}

// Report describes a method's state at x_k. A quantity that the method lacks is nil or NaN. The
// slices belong to the method: read them, do not keep them.
type Report struct {
	Multipliers []float64 // lambda_k
	Auxiliary   []float64 // mu_k
	Slack       []float64 // u_k
	Delta       float64   // delta_{k-1}, which produced mu_k; NaN at the start
	StepSize    float64   // the step that produced x_k; NaN at the start
	// Nu >= 0 is the method's own certified multiplier of x_k. If Nu is nil, the certificate finds
	// nu (certify.Measure).
	Nu []float64
}

// NewReport returns the report of a method that has multipliers but no other dual variables.
func NewReport(step float64, multipliers []float64) Report {
	return Report{Delta: math.NaN(), StepSize: step, Multipliers: multipliers}
}

// Diagnoser is a Method that warns after Init about settings and starts outside its theory. Each
// warning is one sentence. If ctx is cancelled, Diagnose ends with the warnings that it has.
type Diagnoser interface {
	Diagnose(ctx context.Context, p problem.Problem, at *problem.Point) (warnings []string, err error)
}

// Concluder is a Method with warnings or notes about the finished run, given the certificate.
type Concluder interface {
	Conclude(at *problem.Point, c certify.Certificate) (warnings, notes []string)
}

// Weigher is a Method whose theory draws an iterate at random with unequal probabilities.
type Weigher interface {
	// OutputWeight returns the weight >= 0 of the current iterate in the draw of OutputRandom; at
	// holds f and g of the iterate.
	OutputWeight(at *problem.Point) float64
}

// Returner is a Method that returns another point than the iterate when a run ends, for example a
// mean of iterates. Records and results describe the returned point. The iterations continue from
// the iterate.
type Returner interface {
	// Return makes the returned point the iterate of p, and changes nothing else. It returns false if
	// the returned point is the iterate.
	Return(p problem.Problem) bool
}

// Rester is a Method that can come to rest: its steps are below the rounding of the weights, and
// further iterations change neither the iterate nor the dual variables.
type Rester interface {
	// Resting reports whether the method is at rest.
	Resting() bool
}

// Penalizer is a Method that weighs the violation of the constraints by a penalty, and can begin
// with a larger one.
type Penalizer interface {
	// CurrentPenalty returns the penalty, without the factor of a schedule. It returns 0 if the
	// settings fix the size of the steps, because a larger penalty needs smaller steps.
	CurrentPenalty() float64
	// BeginWith raises the penalty to at least c, after Init and before the first iteration.
	BeginWith(c float64)
}

// hooks are the optional interfaces of a Method and a Recorder, nil if not implemented. A run looks
// them up once.
type hooks struct {
	diagnoser Diagnoser
	concluder Concluder
	weigher   Weigher
	returner  Returner
	rester    Rester
	ticker    Ticker
}

// Unwrap returns the method that m wraps, or m itself. A wrapper has the method Unwrap.
func Unwrap(m Method) Method {
	if w, ok := m.(interface{ Unwrap() Method }); ok {
		return w.Unwrap()
	}
	return m
}

// hooksOf returns the optional interfaces that m, or the method that m wraps, and r implement.
func hooksOf(m Method, r Recorder) hooks {
	var h hooks
	m = Unwrap(m)
	h.diagnoser, _ = m.(Diagnoser)
	h.concluder, _ = m.(Concluder)
	h.weigher, _ = m.(Weigher)
	h.returner, _ = m.(Returner)
	h.rester, _ = m.(Rester)
	h.ticker, _ = r.(Ticker)
	return h
}

// DualRule is the host side of a method whose x-step moves along grad f + J^T w. The rule returns
// the coefficients w_k at x_k, and updates its dual variables with g at x_{k+1}. A user's own loop
// can drive the rule (graph.Optimizer).
type DualRule interface {
	// Name is the method's name on the command line.
	Name() string
	// Needs declares the rule's requirements on a problem.
	Needs() Needs
	// StartDual creates the dual state from g(x_0).
	StartDual(g []float64) error
	// Coefficients writes w_k for g = g(x_k).
	Coefficients(w, g []float64)
	// UpdateDual updates the dual variables from step k to k+1 with g = g(x_{k+1}).
	UpdateDual(g []float64)
	// Demand returns the rule's requirements on the primal step at this iteration.
	Demand() step.Demand
	// PrimalStep returns the settings of the x-step.
	PrimalStep() step.Settings
	// VisitDual shows the dual state to v.
	VisitDual(v problem.StateVisitor)
}
