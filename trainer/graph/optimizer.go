package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/trainer"
	"ppal/trainer/problem"
)

// Optimizer replaces the gorgonia.Solver in a user's own training loop by a first-order method for
// problems with constraints: PPALA, PLADA with the subgradient step, GDPA and others.
//
// Lagrangian adds the constraints to the cost of the user's graph, with coefficients that the
// method computes from the constraints' values while the graph runs. Step takes the gradients of
// the run, moves the parameters and begins the next iteration. The dual update runs on the host;
// the proximal primal step runs on a device's vectors: on the CPU, or on the device of OnDevice.
//
// From a start in dom r, an Optimizer makes the same iterates as trainer.Train, except for the
// length of the first step, because an Optimizer cannot probe. The first run evaluates the start
// without a projection, and the first Step projects the iterate (trainer.Stepper). The Optimizer
// does not support PLADA's ProxLinear and Inner steps, which evaluate the problem several times:
// the first run of the graph returns an error.
//
// Call Step once after each training run of the graph. The first run after a Step computes the
// coefficients. Further runs before the next Step use the same coefficients.
type Optimizer struct {
	stepper *trainer.Stepper
	r       problem.Regularizer
	device  plan.Device // nil means the CPU, until the first Step sets the device
	model   *model      // nil before the first Step or Restore
	g, w    []float64   // the constraints' values and their coefficients, at the last run
	known   bool        // this iteration's coefficients are known
	none    bool        // there is no rule
	foreign bool        // the device of OnDevice is none of ppal's
	failed  bool        // Restore failed, so the state of the method is incomplete
}

var _ gorgonia.Solver = (*Optimizer)(nil)

// An OptimizerOption changes an Optimizer.
type OptimizerOption func(*Optimizer)

// OnDevice runs the primal steps on a device, for example the GPU of OpenGPU. The default is this
// machine's CPU. The device must stay open as long as the optimizer is used.
func OnDevice(d Device) OptimizerOption {
	return func(o *Optimizer) {
		o.device = planned(d)
		o.foreign = d != nil && o.device == nil
	}
}

// NewOptimizer returns an optimizer that runs rule, for example &method.PPALA{}, on f + r.
func NewOptimizer(rule trainer.DualRule, r problem.Regularizer, options ...OptimizerOption) *Optimizer {
	o := &Optimizer{stepper: trainer.NewStepper(rule), r: r, none: rule == nil}
	for _, option := range options {
		option(o)
	}
	return o
}

// open returns a model for the user's parameters on the optimizer's device.
func (o *Optimizer) open(parameters []gorgonia.ValueGrad) (*model, error) {
	if o.foreign {
		return nil, errForeign
	}
	if o.device == nil {
		d, err := cpu.New(kernel.Best(), 0)
		if err != nil {
			return nil, fmt.Errorf("graph: %w", err)
		}
		o.device = d
	}
	return newModel(o.device, parameters, o.r)
}

// Lagrangian returns the node f + sum_j <w_j, g_j> for the objective f, a scalar, and the
// constraints g_j <= 0, scalars or vectors. Its derivative treats w as constant, so that
// gorgonia.Grad gives grad f + J^T w. Lagrangian is called once. The errors of an Optimizer wrap
// problem.ErrSettings, or problem.ErrOrder for a call at the wrong time.
func (o *Optimizer) Lagrangian(objective *gorgonia.Node, constraints ...*gorgonia.Node) (*gorgonia.Node, error) {
	if o.none {
		return nil, refuse("the rule of the optimizer is nil")
	}
	if o.w != nil {
		return nil, early("Lagrangian was called already: an optimizer serves one graph")
	}
	for j, n := range append(gorgonia.Nodes{objective}, constraints...) {
		if n == nil {
			return nil, refuse("%s is nil", nameOf(j, 1+len(constraints)))
		}
	}
	if err := inspectLoop(append(gorgonia.Nodes{objective}, constraints...)); err != nil {
		return nil, err
	}
	sizes := make([]int, len(constraints))
	m := 0
	for j, n := range constraints {
		if !n.IsScalar() && !n.IsVec() {
			return nil, refuse("constraint node %d has shape %v, want a scalar or a vector", j, n.Shape())
		}
		sizes[j] = n.Shape().TotalSize()
		if n.IsScalar() {
			sizes[j] = 1
		}
		m += sizes[j]
	}
	o.g, o.w = make([]float64, m), make([]float64, m)
	sum, at := objective, 0
	for j, n := range constraints {
		coefficients, err := gorgonia.ApplyOp(newCoefficientsOp(o, constraints, j, at, sizes[j]), constraints...)
		if err != nil {
			return nil, fmt.Errorf("graph: coefficients of constraint node %d: %w", j, err)
		}
		term, err := gorgonia.HadamardProd(coefficients, n)
		if err != nil {
			return nil, err
		}
		if !n.IsScalar() {
			if term, err = gorgonia.Sum(term); err != nil {
				return nil, err
			}
		}
		if sum, err = gorgonia.Add(sum, term); err != nil {
			return nil, err
		}
		at += sizes[j]
	}
	return sum, nil
}

// computeCoefficients computes the coefficients from the constraints' values, once for each Step.
func (o *Optimizer) computeCoefficients(values []gorgonia.Value) error {
	switch {
	case o.failed:
		return early(restoreFailed)
	case o.known:
		return nil
	}
	at := 0
	for j, v := range values {
		n := max(1, v.Shape().TotalSize())
		if err := fill(o.g[at:at+n], v); err != nil {
			return fmt.Errorf("graph: constraint node %d: %w", j, err)
		}
		at += n
	}
	o.known = true
	return o.stepper.Coefficients(o.w, o.g)
}

// Step implements gorgonia.Solver. It moves the parameters along the gradients of the graph's last
// run, and clears the gradients.
func (o *Optimizer) Step(parameters []gorgonia.ValueGrad) error {
	switch {
	case o.failed:
		return early(restoreFailed)
	case !o.known:
		return early("Step before the graph of Lagrangian has run")
	}
	if o.model == nil {
		var err error
		if o.model, err = o.open(parameters); err != nil {
			return err
		}
	}
	if err := o.model.load(parameters); err != nil {
		return err
	}
	if err := o.stepper.Step(o.model, o.w); err != nil {
		return err
	}
	o.known = false
	return o.model.store(parameters)
}

// State returns a copy of the model's parameters and the method's state after a Step, for Restore.
func (o *Optimizer) State() (*trainer.State, error) {
	if o.model == nil {
		return nil, early("there is no state before the first Step")
	}
	return o.stepper.Capture(o.model)
}

const restoreFailed = "Restore failed: make a new optimizer"

// Restore sets the model's parameters and the state that State returned, after Lagrangian and
// before the first run. The later Steps take the same parameters. After an error, only a new
// optimizer goes on.
func (o *Optimizer) Restore(parameters []gorgonia.ValueGrad, s *trainer.State) error {
	if o.w == nil || o.model != nil || o.failed {
		return early("Restore is for an optimizer after Lagrangian and before the first Step")
	}
	m, err := o.open(parameters)
	if err != nil {
		return err
	}
	if err := o.stepper.Restore(m, len(o.w), s); err != nil {
		o.failed = true
		return err
	}
	o.model = m
	return m.store(parameters)
}

// Constraints returns g at the last run (not a copy).
func (o *Optimizer) Constraints() []float64 { return o.g }

// Coefficients returns w of the last run (not a copy).
func (o *Optimizer) Coefficients() []float64 { return o.w }
