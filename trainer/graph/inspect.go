package graph

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"ppal/internal/plan"
	"ppal/trainer/problem"
)

// refuse returns an error that wraps problem.ErrSettings.
func refuse(format string, args ...any) error {
	return fmt.Errorf("graph: %w: "+format, append([]any{problem.ErrSettings}, args...)...)
}

// early returns an error that wraps problem.ErrOrder.
func early(what string) error { return fmt.Errorf("graph: %w: %s", problem.ErrOrder, what) }

// failed returns err, an error of Gorgonia or of an engine, as one that wraps problem.ErrSettings.
func failed(what string, err error) error {
	return fmt.Errorf("graph: %w: %s: %w", problem.ErrSettings, what, err)
}

// guarded calls f and returns a panic of Gorgonia, for example on wrong shapes, as an error.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if cause, ok := r.(error); ok {
				err = fmt.Errorf("gorgonia panics: %w", cause)
			} else {
				err = fmt.Errorf("gorgonia panics: %v", r)
			}
		}
	}()
	return f()
}

// findings say what is known of a graph's operations before the graph is differentiated.
type findings struct {
	kinks bool // f, g or both may have kinks
	deep  bool // the model has a hidden layer: a product of two values that depend on parameters
	// untested are the nodes on which f or g depend, whose ops no test compares with differences.
	untested []*gorgonia.Node
	reached  map[*gorgonia.Node]bool // the nodes that f, g or a watched node needs
	used     map[*gorgonia.Node]bool // the nodes by which f or g has a derivative
}

// inspect looks at the operations of f, g and the watched nodes. It returns an error that names an
// operation that cannot be trained with, and the constraint that uses it.
func (l *Lagrangian) inspect() error {
	w := &walker{inputs: plan.InputsOf(l.Graph), findings: &l.findings, depends: map[*gorgonia.Node]bool{}}
	l.reached = map[*gorgonia.Node]bool{}
	for _, p := range l.Parameters {
		w.depends[p] = true
	}
	outputs := l.outputs()
	for i, n := range slices.Concat(outputs, l.Watch) {
		if err := w.visit(n); err != nil {
			return refuse("%s: %w", nameOf(i, len(outputs)), err)
		}
		if i < len(outputs) && !w.depends[n] {
			return refuse("%s does not depend on a parameter, or only through operations without a derivative (sign, comparisons): leave it out",
				nameOf(i, len(outputs)))
		}
	}
	l.used = map[*gorgonia.Node]bool{}
	for _, n := range outputs {
		w.use(n)
	}
	return nil
}

// inspectLoop looks at the operations of a user's own loop, whose input nodes may all be
// parameters. Random operations are the user's decision, and so are indices: the loop runs the
// graph on Gorgonia's machine.
func inspectLoop(outputs gorgonia.Nodes) error {
	w := &walker{inputs: plan.InputsOf(outputs[0].Graph()), findings: &findings{reached: map[*gorgonia.Node]bool{}}, depends: map[*gorgonia.Node]bool{}, loop: true}
	for i, n := range outputs {
		if err := w.visit(n); err != nil {
			return refuse("%s: %w", nameOf(i, len(outputs)), err)
		}
	}
	return nil
}

// outputs returns f and the constraint nodes.
func (l *Lagrangian) outputs() gorgonia.Nodes {
	return append(gorgonia.Nodes{l.Objective}, l.Constraints...)
}

// nameOf names output i of f, the constraint nodes and the watched nodes. outputs is the number of
// f and the constraint nodes.
func nameOf(i, outputs int) string {
	switch {
	case i == 0:
		return "the objective"
	case i < outputs:
		return fmt.Sprintf("constraint node %d", i-1)
	}
	return fmt.Sprintf("watched node %d", i-outputs)
}

// walker visits the nodes of a graph, inputs first.
type walker struct {
	*findings
	inputs  plan.Inputs
	depends map[*gorgonia.Node]bool // the node's derivative by a parameter may be other than 0
	loop    bool                    // see inspectLoop
}

func (w *walker) visit(n *gorgonia.Node) error {
	if w.reached[n] {
		return nil
	}
	w.reached[n] = true
	if n.Op() == nil {
		w.depends[n] = w.depends[n] || w.loop
		return nil
	}
	children, err := w.inputs.Of(n)
	if err != nil {
		return err
	}
	count := 0
	for _, c := range children {
		if err := w.visit(c); err != nil {
			return err
		}
		if w.depends[c] {
			count++
		}
	}
	o := plan.OperationOf(n)
	if w.loop && (o.Random || o.Lowered) {
		o.Fault, o.Random = "", false
	}
	if o.Random || o.Fault != "" && count > 0 {
		return fmt.Errorf("%v (node %d) cannot be used: %s", n.Op(), n.ID(), o.Fault)
	}
	if count == 0 {
		return nil
	}
	// A product with a scalar result is a norm or the like, and not a layer.
	w.deep = w.deep || o.Product && count > 1 && !n.IsScalar()
	differentiable := w.differentiable(n, children)
	// A comparison has no derivative, and makes a kink or a jump of what it multiplies.
	w.kinks = w.kinks || o.Kinks && (differentiable || plan.Compares(n))
	if !differentiable {
		return nil
	}
	if _, ok := n.Op().(gorgonia.SDOp); !ok {
		return fmt.Errorf("%v (node %d) cannot be used: it has no derivative", n.Op(), n.ID())
	}
	w.depends[n] = true
	if !o.Tested {
		w.untested = append(w.untested, n)
	}
	return nil
}

// use marks the nodes by which n has a derivative. visit has visited n.
func (w *walker) use(n *gorgonia.Node) {
	if w.used[n] || !w.depends[n] {
		return
	}
	w.used[n] = true
	children, _ := w.inputs.Of(n)
	for i, c := range children {
		if wrt := n.Op().(gorgonia.SDOp).DiffWRT(len(children)); i >= len(wrt) || wrt[i] {
			w.use(c)
		}
	}
}

// differentiable reports whether n has a derivative by an input that depends on a parameter.
func (w *walker) differentiable(n *gorgonia.Node, children gorgonia.Nodes) bool {
	op, ok := n.Op().(gorgonia.SDOp)
	if !ok {
		return true // and refused
	}
	wrt := op.DiffWRT(len(children))
	for i, c := range children {
		if w.depends[c] && (i >= len(wrt) || wrt[i]) {
			return true
		}
	}
	return false
}
