package graph

import (
	"fmt"
	"sync"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/trainer/problem"
)

// Definition says what a problem computes, as nodes of one graph and of one dtype (Float32 or Float64).
type Definition struct {
	// Objective is f, a scalar node.
	Objective *gorgonia.Node
	// Constraints are g, scalar nodes or vectors, in order. For constraints that are maxima (|h| - eps) give the smooth terms h, and
	// wrap the problem with problem.MakePiecewise.
	Constraints gorgonia.Nodes
	// Parameters are x, input nodes with values, stacked in order.
	Parameters gorgonia.Nodes
	// Regularizer is r over the stacked parameters.
	Regularizer problem.Regularizer
	// NonSmooth marks kinks of the nodes themselves (relu, hinge losses): the certificate's stationarity is then an upper bound.
	NonSmooth bool
	// Inputs are input nodes whose values may be exchanged between iterations (Problem.Bind), mini-batches for instance.
	Inputs gorgonia.Nodes
	// Data are the values of Inputs in the form they were read in, for engines that need no widened copy; nil, or an entry that is nil:
	// the input node has a value.
	Data []matrix.Matrix
	// Watch are nodes whose values a forward pass keeps (Problem.Watched), scores for instance.
	Watch gorgonia.Nodes
}

// Halves is a compiled definition's input: the definition and its derivative, ready for an engine.
type Halves struct {
	Definition
	Graph *gorgonia.ExprGraph
	Dtype tensor.Dtype
	// Weights are the inputs of the backward half: the objective's, a scalar, then one of each constraint node's shape.
	Weights gorgonia.Nodes
	// Gradients are those of weights[0] f + sum_j <weights[j], g_j> with respect to Parameters, node by node.
	Gradients gorgonia.Nodes
	// Sizes are the number of constraints in each node of Constraints.
	Sizes []int
}

// Engine compiles the two halves for a device. The parameters' values at that moment are the start.
type Engine interface {
	Compile(h *Halves) (Compiled, error)
}

// Compiled is what an engine makes of a definition: a problem that keeps the values of the watched nodes.
type Compiled interface {
	problem.Problem
	// Watched returns the value of Definition.Watch[i] at the last Forward; it is valid until the next.
	Watched(i int) (gorgonia.Value, error)
	// Bind copies a matrix of the shape of Definition.Inputs[i] to that input.
	Bind(i int, m matrix.Matrix) error
}

// Problem is a problem.Problem of Gorgonia nodes.
type Problem struct {
	problem.Problem
	compiled  Compiled
	inputs    []input
	nonSmooth bool
}

// input is the name and the shape, as a matrix, of a node of Definition.Inputs.
type input struct {
	name       string
	rows, cols int
}

// Watched returns the value of Definition.Watch[i] at the last Forward.
func (p *Problem) Watched(i int) (gorgonia.Value, error) { return p.compiled.Watched(i) }

// Bind copies a matrix to Definition.Inputs[i], from the next Forward on: for example the rows of a
// mini-batch (matrix.Pick), or a tensor (Values). The matrix has the shape of the input; a vector
// [n] counts as n x 1, and a tensor [n, ...] as n rows.
//
// Rows stay in their form: if the engine computes with 8-bit values, it copies 8-bit rows as bytes,
// and returns an error for any other rows than 8-bit values with the scale of Definition.Data[i].
func (p *Problem) Bind(i int, m matrix.Matrix) error {
	if i < 0 || i >= len(p.inputs) {
		return fmt.Errorf("graph: input %d does not exist", i)
	}
	in := p.inputs[i]
	if rows, cols := m.Dims(); rows != in.rows || cols != in.cols {
		return fmt.Errorf("graph: input %d (%s) is %d x %d, not %d x %d", i, in.name, in.rows, in.cols, rows, cols)
	}
	return p.compiled.Bind(i, m)
}

// Products names how products with the data are computed, "" where the engine does not say: int8x3, or a dtype.
func (p *Problem) Products() string {
	if c, ok := p.compiled.(interface{ Products() string }); ok {
		return c.Products()
	}
	return ""
}

// Explain is a table of the steps that the engine runs, "" where it has none to show.
func (p *Problem) Explain() string {
	if e, ok := p.compiled.(interface{ Explain() string }); ok {
		return e.Explain()
	}
	return ""
}

// NonSmooth implements problem.NonSmooth.
func (p *Problem) NonSmooth() bool { return p.nonSmooth }

// building guards Gorgonia's package-level constants, which building and differentiating graphs in several goroutines race on.
var building sync.Mutex

// New makes a problem: build adds the nodes to a fresh graph and says which they are. Only one graph is built at a time.
func New(build func(g *gorgonia.ExprGraph) (Definition, error), engine Engine) (*Problem, error) {
	building.Lock()
	defer building.Unlock()
	g := gorgonia.NewGraph()
	def, err := build(g)
	if err != nil {
		return nil, err
	}
	halves, err := differentiate(g, def)
	if err != nil {
		return nil, err
	}
	w, err := engine.Compile(halves)
	if err != nil {
		return nil, fmt.Errorf("graph: compile: %w", err)
	}
	p := &Problem{Problem: w, compiled: w, nonSmooth: def.NonSmooth}
	for _, n := range def.Inputs {
		rows, cols := dims(n.Shape())
		p.inputs = append(p.inputs, input{n.Name(), rows, cols})
	}
	return p, nil
}

// differentiate adds the weights and the gradients.
func differentiate(g *gorgonia.ExprGraph, def Definition) (*Halves, error) {
	h := &Halves{Definition: def, Graph: g}
	if err := h.check(); err != nil {
		return nil, err
	}
	outputs := append(gorgonia.Nodes{def.Objective}, def.Constraints...)
	for i, n := range outputs {
		name := fmt.Sprintf("weights.%d", i)
		if n.IsScalar() {
			h.Weights = append(h.Weights, gorgonia.NewScalar(g, h.Dtype, gorgonia.WithName(name)))
		} else {
			h.Weights = append(h.Weights, gorgonia.NewVector(g, h.Dtype, gorgonia.WithShape(n.Shape()...), gorgonia.WithName(name)))
		}
	}
	var err error
	if h.Gradients, err = gorgonia.Backpropagate(outputs, h.Weights, def.Parameters); err != nil {
		return nil, fmt.Errorf("graph: the gradients: %w", err)
	}
	return h, nil
}

// check validates the definition and fills Dtype and Sizes.
func (h *Halves) check() error {
	if h.Objective == nil || len(h.Parameters) == 0 {
		return fmt.Errorf("graph: a definition needs an objective and parameters")
	}
	if !h.Objective.IsScalar() {
		return fmt.Errorf("graph: the objective %v has shape %v, want a scalar", h.Objective, h.Objective.Shape())
	}
	h.Dtype = h.Objective.Dtype()
	if h.Dtype != tensor.Float32 && h.Dtype != tensor.Float64 {
		return fmt.Errorf("graph: the objective is of %v, want float32 or float64", h.Dtype)
	}
	for j, n := range h.Constraints {
		size := 1
		switch {
		case n.Dtype() != h.Dtype:
			return fmt.Errorf("graph: constraint node %d is of %v, the objective of %v", j, n.Dtype(), h.Dtype)
		case n.IsVec():
			size = n.Shape().TotalSize()
		case !n.IsScalar():
			return fmt.Errorf("graph: constraint node %d has shape %v, want a scalar or a vector", j, n.Shape())
		}
		h.Sizes = append(h.Sizes, size)
	}
	for i, r := range h.Data {
		if r == nil {
			continue
		}
		rows, cols := r.Dims()
		if i >= len(h.Inputs) || !h.Inputs[i].Shape().Eq(tensor.Shape{rows, cols}) {
			return fmt.Errorf("graph: data matrix %d is %d x %d and has no input of that shape", i, rows, cols)
		}
	}
	for i, n := range h.Parameters {
		switch {
		case n.Value() == nil:
			return fmt.Errorf("graph: parameter %d (%s) has no value to start from", i, n.Name())
		case n.Dtype() != h.Dtype:
			return fmt.Errorf("graph: parameter %d (%s) is of %v, the objective of %v", i, n.Name(), n.Dtype(), h.Dtype)
		}
	}
	return nil
}
