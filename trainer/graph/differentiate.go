package graph

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/plan"
)

// built builds and differentiates a graph.
func built(build func(g *gorgonia.ExprGraph) (Definition, error)) (*Lagrangian, error) {
	if build == nil {
		return nil, refuse("the function that builds the graph is nil")
	}
	g := gorgonia.NewGraph()
	var def Definition
	var own error
	if err := guarded(func() error { def, own = build(g); return nil }); err != nil {
		return nil, failed("building the graph", err)
	}
	if own != nil {
		return nil, own
	}
	l, err := differentiate(g, def)
	var wrong *gradientsError
	if errors.As(err, &wrong) {
		return nil, failed("the gradient of "+ofOutput(build, len(def.Constraints)), wrong.err)
	}
	return l, err
}

// gradientsError is an error or panic of Gorgonia's differentiation.
type gradientsError struct{ err error }

func (e *gradientsError) Error() string { return e.err.Error() }

// ofOutput names the first output that cannot be differentiated alone. It builds the graph anew for
// each output, because Gorgonia leaves a part of the derivatives behind.
func ofOutput(build func(g *gorgonia.ExprGraph) (Definition, error), constraints int) string {
	for i := range 1 + constraints {
		err := guarded(func() error {
			g := gorgonia.NewGraph()
			def, err := build(g)
			if err != nil {
				return err
			}
			l := &Lagrangian{Definition: def, Graph: g}
			if err := errors.Join(l.check(), l.keepConstants(), l.inspect()); err != nil {
				return err
			}
			one := &Lagrangian{Definition: Definition{Objective: l.outputs()[i], Parameters: l.Parameters}, Graph: g, Dtype: l.Dtype}
			if err := one.inspect(); err != nil {
				return err
			}
			one.addCoefficients()
			return one.backpropagate()
		})
		if err != nil {
			return nameOf(i, 1+constraints)
		}
	}
	return "the sum of the outputs"
}

// lowered builds and differentiates a graph, and lowers it if the engine compiles in two steps.
func lowered(build func(g *gorgonia.ExprGraph) (Definition, error), engine Engine) (*Lagrangian, func() (Compiled, error), error) {
	building.Lock()
	defer building.Unlock()
	l, err := built(build)
	if err != nil {
		return nil, nil, err
	}
	if e, ok := engine.(lowering); ok {
		finish, err := e.lower(l)
		if err != nil {
			err = fmt.Errorf("graph: compile: %w", err)
		}
		return l, finish, err
	}
	var w Compiled
	err = guarded(func() (err error) { w, err = engine.Compile(l); return err })
	return l, func() (Compiled, error) { return w, err }, nil
}

// differentiate checks the definition and adds the nodes of the coefficients and the gradients.
func differentiate(g *gorgonia.ExprGraph, def Definition) (*Lagrangian, error) {
	l := &Lagrangian{Definition: def, Graph: g}
	if err := l.check(); err != nil {
		return nil, err
	}
	if err := l.keepConstants(); err != nil {
		return nil, err
	}
	if err := l.inspect(); err != nil {
		return nil, err
	}
	if err := guarded(l.separate); err != nil {
		return nil, failed("the outputs", err)
	}
	l.addCoefficients()
	if err := guarded(l.backpropagate); err != nil {
		return nil, &gradientsError{err}
	}
	return l, nil
}

// addCoefficients adds an input node of each output's shape.
func (l *Lagrangian) addCoefficients() {
	for i, n := range l.outputs() {
		name := fmt.Sprintf("coefficients.%d", i)
		if n.IsScalar() {
			l.Coefficients = append(l.Coefficients, gorgonia.NewScalar(l.Graph, l.Dtype, gorgonia.WithName(name)))
		} else {
			l.Coefficients = append(l.Coefficients, gorgonia.NewVector(l.Graph, l.Dtype, gorgonia.WithShape(n.Shape()...), gorgonia.WithName(name)))
		}
	}
}

// keepConstants gives each constraint node that needs neither a parameter nor an input of the
// definition the gradient 0, so that the number of constraints stays. Such a node has one value: it
// is refused if the value violates the constraint.
func (l *Lagrangian) keepConstants() error {
	l.Constraints = slices.Clone(l.Constraints)
	for j, n := range l.Constraints {
		m, err := newMachine(l.Graph, gorgonia.Nodes{n})
		if err != nil || slices.ContainsFunc(m.nodes, l.varies) {
			continue // inspect names what cannot be used
		}
		if err := m.run(); err != nil {
			return failed(fmt.Sprintf("constraint node %d", j), err)
		}
		for _, x := range Float64s(m.value(n)) {
			if !(x <= 0) {
				return refuse("constraint node %d does not depend on a parameter and has the value %v, want at most 0: no training can meet it", j, x)
			}
		}
		if err := guarded(func() error {
			total, err := gorgonia.Sum(l.Parameters[0])
			if err != nil {
				return err
			}
			zero, err := gorgonia.HadamardProd(total, constant(l.Dtype, 0))
			if err != nil {
				return err
			}
			l.Constraints[j], err = gorgonia.Add(n, zero)
			return err
		}); err != nil {
			return failed(fmt.Sprintf("constraint node %d", j), err)
		}
	}
	return nil
}

// varies reports whether the value of a node may change: a parameter, an input of the definition,
// or an operation that draws or cannot be used.
func (l *Lagrangian) varies(n *gorgonia.Node) bool {
	if n.Op() == nil {
		return slices.Contains(l.Parameters, n) || slices.Contains(l.Inputs, n)
	}
	o := plan.OperationOf(n)
	return o.Random || o.Fault != ""
}

// separate makes each output another node, because Gorgonia differentiates a node only once for one
// coefficient.
func (l *Lagrangian) separate() (err error) {
	seen := map[*gorgonia.Node]bool{l.Objective: true}
	l.Constraints = slices.Clone(l.Constraints)
	for j, n := range l.Constraints {
		if seen[n] {
			// Gorgonia merges equal nodes: a constant 1 would make the same node again.
			one := scalarLeaf(l.Graph, l.Dtype, fmt.Sprintf("factor of constraint node %d", j), 1)
			if l.Constraints[j], err = gorgonia.HadamardProd(n, one); err != nil {
				return err
			}
		}
		seen[n] = true
	}
	return nil
}

// backpropagate adds the gradients by the parameters. A parameter on which neither f nor g depends
// has the gradient 0.
func (l *Lagrangian) backpropagate() error {
	var used gorgonia.Nodes
	for _, p := range l.Parameters {
		if l.used[p] {
			used = append(used, p)
		}
	}
	gradients, err := gorgonia.Backpropagate(l.outputs(), l.Coefficients, used)
	if err != nil {
		return err
	}
	for _, p := range l.Parameters {
		var d *gorgonia.Node
		if l.used[p] {
			d, gradients = gradients[0], gradients[1:]
		} else if d, err = gorgonia.HadamardProd(p, constant(l.Dtype, 0)); err != nil {
			return err
		}
		l.Gradients = append(l.Gradients, d)
	}
	return nil
}

// check validates the definition and fills Dtype and Sizes.
func (l *Lagrangian) check() error {
	if l.Objective == nil || len(l.Parameters) == 0 {
		return refuse("a definition needs an objective and parameters")
	}
	if err := l.checkNodes(); err != nil {
		return err
	}
	if !l.Objective.IsScalar() {
		return refuse("the objective %v has shape %v, want a scalar: use its Sum or Mean", l.Objective, l.Objective.Shape())
	}
	l.Dtype = l.Objective.Dtype()
	if l.Dtype != tensor.Float32 && l.Dtype != tensor.Float64 {
		return refuse("the objective has dtype %v, want float32 or float64", l.Dtype)
	}
	for j, n := range l.Constraints {
		size := 1
		switch {
		case n.Dtype() != l.Dtype:
			return refuse("constraint node %d has dtype %v, want the objective's, %v", j, n.Dtype(), l.Dtype)
		case n.IsVec():
			size = n.Shape().TotalSize()
		case !n.IsScalar():
			return refuse("constraint node %d has shape %v, want a scalar or a vector", j, n.Shape())
		}
		l.Sizes = append(l.Sizes, size)
	}
	for i, r := range l.Data {
		if r == nil {
			continue
		}
		rows, cols := r.Dims()
		if i >= len(l.Inputs) || !l.Inputs[i].Shape().Eq(tensor.Shape{rows, cols}) {
			return refuse("data matrix %d is %d x %d and has no input of that shape", i, rows, cols)
		}
		if err := matrix.Check(r); err != nil {
			return refuse("data matrix %d: %w", i, err)
		}
	}
	return l.checkParameters()
}

// checkNodes checks that the nodes exist and belong to the graph.
func (l *Lagrangian) checkNodes() error {
	for _, list := range []struct {
		what  string
		nodes gorgonia.Nodes
	}{{"objective", gorgonia.Nodes{l.Objective}}, {"constraint node", l.Constraints}, {"parameter", l.Parameters}, {"input", l.Inputs}, {"watched node", l.Watch}} {
		for i, n := range list.nodes {
			switch {
			case n == nil:
				return refuse("%s %d is nil", list.what, i)
			case n.Graph() != l.Graph:
				return refuse("%s %d (%v) belongs to another graph than the one given to build", list.what, i, n)
			}
		}
	}
	return nil
}

// checkParameters checks the parameters, the scales and the regularizer.
func (l *Lagrangian) checkParameters() error {
	size := 0
	for i, n := range l.Parameters {
		size += n.Shape().TotalSize()
		switch first := slices.Index(l.Parameters, n); {
		case first < i:
			return refuse("parameters %d and %d are the same node, %s: list it once, and give each parameter its own name", first, i, n.Name())
		case n.Op() != nil:
			return refuse("parameter %d (%v) is computed: a parameter is an input node", i, n)
		case n.Value() == nil:
			return refuse("parameter %d (%s) has no value to start from", i, n.Name())
		case n.Dtype() != l.Dtype:
			return refuse("parameter %d (%s) has dtype %v, want the objective's, %v", i, n.Name(), n.Dtype(), l.Dtype)
		}
	}
	if l.Scales != nil && l.Scales.Len() != size {
		return refuse("%d scales for %d parameters", l.Scales.Len(), size)
	}
	return l.Regularizer.Validate(size)
}
