package graph

import (
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// Optimizer is a first-order method of trainer (PPALA, PLADA with the subgradient step, GDPA, ...) in the place of a
// gorgonia.Solver, for a training loop of one's own. Lagrangian adds the constraints to the graph's cost with the method's
// weights, which are computed from the constraints' values while the graph runs; Step takes the gradients, moves the
// parameters and goes on to the next iteration. The steps are those of trainer.Train but for the first one, whose length
// cannot be probed in a loop, and from a start in dom r: the loop's first run evaluates the start as it is, and the first Step
// projects (trainer.Stepper). PLADA's ProxLinear and Inner need more than a loop gives: the first run of the graph refuses them.
//
// Each run of the graph is followed by one Step. A run that is not, to evaluate something, must come before the next
// training run's Step and sees the weights of the last training run.
type Optimizer struct {
	stepper *trainer.Stepper
	r       problem.Regularizer
	space   stepSpace
	g, w    []float64
	weighed bool // this iteration's weights are known
}

var _ gorgonia.Solver = (*Optimizer)(nil)

// NewOptimizer returns the optimizer of rule (for example &method.PPALA{}) for f + r.
func NewOptimizer(rule trainer.DualRule, r problem.Regularizer) *Optimizer {
	return &Optimizer{stepper: trainer.NewStepper(rule), r: r}
}

// Lagrangian returns the node f + sum_j <w_j, g_j> for the objective f, a scalar, and the constraints g_j <= 0, scalars or
// vectors. Its derivative treats w as constant, so that gorgonia.Grad gives grad f + J^T w. It is called once.
func (o *Optimizer) Lagrangian(objective *gorgonia.Node, constraints ...*gorgonia.Node) (*gorgonia.Node, error) {
	if o.w != nil {
		return nil, errors.New("graph: Lagrangian was called already: an optimizer serves one graph")
	}
	sizes := make([]int, len(constraints))
	m := 0
	for j, n := range constraints {
		if !n.IsScalar() && !n.IsVec() {
			return nil, fmt.Errorf("graph: constraint node %d has shape %v, want a scalar or a vector", j, n.Shape())
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
		weights, err := gorgonia.ApplyOp(newWeightsOp(o, constraints, j, at, sizes[j]), constraints...)
		if err != nil {
			return nil, fmt.Errorf("graph: weights of constraint node %d: %w", j, err)
		}
		term, err := gorgonia.HadamardProd(weights, n)
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

// weigh computes the weights from the constraints' values, once for each Step.
func (o *Optimizer) weigh(values []gorgonia.Value) error {
	if o.weighed {
		return nil
	}
	at := 0
	for j, v := range values {
		n := max(1, v.Shape().TotalSize())
		var err error
		if v.Dtype() == tensor.Float32 {
			err = widen[float32](o.g[at:at+n], v)
		} else {
			err = widen[float64](o.g[at:at+n], v)
		}
		if err != nil {
			return fmt.Errorf("graph: constraint node %d: %w", j, err)
		}
		at += n
	}
	o.weighed = true
	return o.stepper.Coefficients(o.w, o.g)
}

// Step implements gorgonia.Solver: it moves the parameters along their gradients, which the graph's last run left.
func (o *Optimizer) Step(model []gorgonia.ValueGrad) error {
	if !o.weighed {
		return errors.New("graph: Step before the graph of Lagrangian has run")
	}
	if o.space == nil {
		var err error
		if o.space, err = newStepSpace(model, o.r); err != nil {
			return err
		}
	}
	if err := o.space.load(model); err != nil {
		return err
	}
	if err := o.stepper.Step(o.space, o.w); err != nil {
		return err
	}
	o.weighed = false
	return o.space.store(model)
}

// State copies the model's parameters and the method's state, after a Step, to go on from with Restore.
func (o *Optimizer) State() (*trainer.State, error) {
	if o.space == nil {
		return nil, errors.New("graph: there is no state before the first Step")
	}
	return o.stepper.Capture(o.space)
}

// Restore sets the model's parameters and the state that State gave, after Lagrangian and before the first run; the model is that of
// the Steps to come.
func (o *Optimizer) Restore(model []gorgonia.ValueGrad, s *trainer.State) error {
	if o.w == nil || o.space != nil {
		return errors.New("graph: Restore is for an optimizer after Lagrangian and before the first Step")
	}
	space, err := newStepSpace(model, o.r)
	if err != nil {
		return err
	}
	if err := o.stepper.Restore(space, len(o.w), s); err != nil {
		return err
	}
	o.space = space
	return space.store(model)
}

// Constraints returns g at the last run (not a copy).
func (o *Optimizer) Constraints() []float64 { return o.g }

// Weights returns w of the last run (not a copy).
func (o *Optimizer) Weights() []float64 { return o.w }
