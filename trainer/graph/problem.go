package graph

import (
	"fmt"
	"strings"
	"sync"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/plan"
	"ppal/trainer/problem"
)

// Definition defines a problem by nodes of one graph and of one dtype (Float32 or
// Float64).
type Definition struct {
	// Objective is f, a scalar node.
	Objective *gorgonia.Node
	// Constraints are g, scalar nodes or vectors, in order. For constraints that are maxima, such
	// as |h| - eps, list the smooth functions h here and wrap the problem with
	// problem.MakePiecewise.
	Constraints gorgonia.Nodes
	// Parameters are x: input nodes with values, stacked in order.
	Parameters gorgonia.Nodes
	// Regularizer is r over the stacked parameters.
	Regularizer problem.Regularizer
	// Scales are the scales of the stacked parameters, or nil. See problem.Scaled.
	Scales *problem.Scales
	// Inputs are input nodes whose values Problem.Bind may replace between iterations, for example
	// with mini-batches.
	Inputs gorgonia.Nodes
	// Data are the values of Inputs in their stored form, for example 8-bit, so that an engine
	// needs no widened copy. Data[i] is nil if input node i has a value. Data is nil if all input
	// nodes do.
	Data []matrix.Matrix
	// Watch are nodes whose values a forward pass keeps (Problem.Watched), for example scores.
	Watch gorgonia.Nodes
}

// Lagrangian is a definition with the gradients of c_0 f + sum_j <c_j, g_j>, ready for an engine.
type Lagrangian struct {
	Definition
	Graph *gorgonia.ExprGraph
	Dtype tensor.Dtype
	// Coefficients are input nodes for c: a scalar for the objective, then for each constraint node
	// a node of the same shape.
	Coefficients gorgonia.Nodes
	// Gradients are the gradients with respect to each node of Parameters.
	Gradients gorgonia.Nodes
	// Sizes are the numbers of constraints in the nodes of Constraints.
	Sizes []int

	findings
}

// lower returns the plan of the definition and its gradients. keptBytes: see plan.LayerKeeper.
func (l *Lagrangian) lower(keptBytes int) (*plan.Plan, error) {
	return plan.Lower(plan.Source{Graph: l.Graph, Dtype: l.Dtype, Objective: l.Objective, Constraints: l.Constraints, Watched: l.Watch,
		Parameters: l.Parameters, Inputs: l.Inputs, Data: l.Data, Coefficients: l.Coefficients, Gradients: l.Gradients, KeptBytes: keptBytes})
}

// Cost returns the floating-point operations of a forward pass, and the number of elements that
// Forward keeps for Backward, in the plan of the definition. An engine may ask without compiling.
func (l *Lagrangian) Cost() (operations int64, kept int, err error) {
	p, err := l.lower(0)
	if err != nil {
		return 0, 0, err
	}
	for _, r := range p.Forward {
		for _, s := range r.Steps {
			operations += s.FLOPs()
		}
	}
	for _, b := range p.Buffers {
		if b.Class == plan.Kept {
			kept += b.Len()
		}
	}
	return operations, kept, nil
}

// Engine compiles definitions. CPU and On return engines; Tape is an engine too. Compile copies the
// parameters' values: they are the start.
type Engine interface {
	Compile(l *Lagrangian) (Compiled, error)
}

// Compiled is a definition that an engine has compiled: a problem that keeps the values of the
// watched nodes.
type Compiled interface {
	problem.Problem
	// Watched returns the value of Definition.Watch[i] at the last Forward. The value is valid
	// until the next Forward.
	Watched(i int) (gorgonia.Value, error)
	// Bind copies a matrix of the shape of Definition.Inputs[i] to that input.
	Bind(i int, m matrix.Matrix) error
	// Keep packs a matrix of the shape of Definition.Inputs[i] and returns a function that makes it
	// the input. It returns nil if the engine cannot keep the matrix beside the input.
	Keep(i int, m matrix.Matrix) (use func(), err error)
	// Stored returns the 8-bit data of Definition.Inputs[i] in the engine's memory, or nil if the
	// engine does not store them.
	Stored(i int) matrix.EightBit
	// Products names how products with the data are computed: int8x3 for example, or the dtype.
	Products() string
	// Explain returns a table of the engine's steps, or "" if the engine has no steps to show.
	Explain() string
}

// Problem is a problem.Problem of Gorgonia nodes, compiled by an engine.
type Problem struct {
	problem.Problem
	compiled Compiled
	inputs   []input
	kinks    bool
	deep     bool
	scales   *problem.Scales
}

// input describes a node of Definition.Inputs: its name, and its shape as a matrix.
type input struct {
	name       string
	rows, cols int
}

// Watched returns the value of Definition.Watch[i] at the last Forward.
func (p *Problem) Watched(i int) (gorgonia.Value, error) { return p.compiled.Watched(i) }

// AppendWatched appends the elements of Watched(i), a tensor or scalar of floats, to dst.
func (p *Problem) AppendWatched(dst []float64, i int) ([]float64, error) {
	if direct, ok := p.compiled.(*deviceProblem); ok {
		return direct.appendWatched(dst, i)
	}
	v, err := p.compiled.Watched(i)
	if err != nil {
		return dst, err
	}
	return appendFloat64s(dst, v)
}

// Bind copies a matrix to Definition.Inputs[i], from the next Forward on: for example the rows of a
// mini-batch (matrix.Pick), or a tensor (Values). The matrix has the shape of the input; a vector
// [n] counts as n x 1, and a tensor [n, ...] as n rows.
//
// Rows stay in their form: if the engine computes with 8-bit values, it copies 8-bit rows as bytes,
// and returns an error for any other rows than 8-bit values with the scale of Definition.Data[i].
func (p *Problem) Bind(i int, m matrix.Matrix) error {
	if err := p.checkInput(i, m); err != nil {
		return err
	}
	return p.compiled.Bind(i, m)
}

// checkInput returns an error unless input i exists and has the shape of m.
func (p *Problem) checkInput(i int, m matrix.Matrix) error {
	if i < 0 || i >= len(p.inputs) {
		return refuse("input %d does not exist", i)
	}
	in := p.inputs[i]
	if rows, cols := m.Dims(); rows != in.rows || cols != in.cols {
		return refuse("input %d (%s) is %d x %d, the given matrix %d x %d", i, in.name, in.rows, in.cols, rows, cols)
	}
	return nil
}

// Keep packs a matrix for Definition.Inputs[i] and returns a function that makes it the input, as
// Bind does, any number of times and without packing it again: for example, the rows of a
// mini-batch that many passes use. The engine holds the packed rows. If the engine cannot keep
// them, the function binds the matrix, which must not change. Keep may be called before and after
// Bind, and does not change the input.
func (p *Problem) Keep(i int, m matrix.Matrix) (use func() error, err error) {
	if err := p.checkInput(i, m); err != nil {
		return nil, err
	}
	packed, err := p.compiled.Keep(i, m)
	if err != nil {
		return nil, err
	}
	if packed == nil {
		return func() error { return p.compiled.Bind(i, m) }, nil
	}
	return func() error { packed(); return nil }, nil
}

// Rest gives back the memory of the values that the last Forward kept for Backward and Watched. The
// next Forward takes new memory. Until then, Backward and Watched return an error, unless the
// problem yields. Rest does nothing on a GPU, and if the values lie in files.
func (p *Problem) Rest() {
	if d, ok := p.compiled.(*deviceProblem); ok {
		if r, ok := d.present().(plan.Rester); ok {
			r.Rest()
		}
	}
}

// Yield lets the next pass of another problem of the engine that yields take the memory of the
// values that Forward keeps. Backward and Watched then repeat Forward, at the present iterate and
// inputs. Yield does nothing on a GPU, and if the values lie in files.
func (p *Problem) Yield() {
	if d, ok := p.compiled.(*deviceProblem); ok {
		if r, ok := d.run.(plan.Rester); ok {
			d.yields = true
			r.Yield()
		}
	}
}

// Store writes the iterate into the values of the parameters, the nodes of Definition.Parameters in
// their order, so that a program reads the trained weights from its own nodes. The error wraps
// problem.ErrSettings if the nodes do not have as many elements as the iterate.
func (p *Problem) Store(parameters gorgonia.Nodes) error {
	x, n := make([]float64, p.Space().Len()), 0
	p.Space().Read(x, problem.Iterate)
	for _, node := range parameters {
		n += node.Shape().TotalSize()
	}
	if n != len(x) {
		return refuse("the parameters have %d elements, the iterate %d", n, len(x))
	}
	for i, node := range parameters {
		part := x[:node.Shape().TotalSize()]
		x = x[len(part):]
		switch data := node.Value().Data().(type) {
		case []float64:
			copy(data, part)
		case []float32:
			for k, v := range part {
				data[k] = float32(v)
			}
		default:
			return refuse("parameter %d (%s) holds %T, want a dense tensor", i, node.Name(), data)
		}
	}
	return nil
}

// Stored returns the 8-bit matrix Definition.Data[i] in the engine's own memory, with the same
// elements: the caller can free the original. Stored returns nil if the engine stores no exact copy
// on the host. A later Bind does not change the matrix.
func (p *Problem) Stored(i int) matrix.EightBit { return p.compiled.Stored(i) }

// Products names how products with the data are computed: int8x3 for example, or the dtype.
func (p *Problem) Products() string { return p.compiled.Products() }

// Explain returns a table of the steps that the engine runs, or "" if the engine has no steps to
// show.
func (p *Problem) Explain() string { return p.compiled.Explain() }

// Note implements problem.Noted. It names the operations that a device's CPU runs by Gorgonia on
// one core, on copies; "" if there are none.
func (p *Problem) Note() string {
	d, ok := p.compiled.(*deviceProblem)
	if !ok || len(d.oneCore) == 0 {
		return ""
	}
	return fmt.Sprintf("Gorgonia runs these operations of the graph on one core, on copies of their inputs: %s. "+
		"Compose them of element-wise operations, products and sums, or describe your own op (describe.Described), to use all cores.", strings.Join(d.oneCore, ", "))
}

// Inner implements problem.Form.
func (p *Problem) Inner() problem.Problem { return p.compiled }

// NonSmooth implements problem.NonSmooth. It reports whether an operation on which f or g depends
// has kinks, such as relu, max-pooling, abs and the hinge. A user's op has kinks unless its
// description has none, or its method NonSmooth() bool returns false.
func (p *Problem) NonSmooth() bool { return p.kinks }

// Shallow implements problem.Shallow. It reports whether f and g have no product, convolutions
// included, of two values that depend on the parameters, other than scalar products.
func (p *Problem) Shallow() bool { return !p.deep }

// Scales implements problem.Scaled.
func (p *Problem) Scales() *problem.Scales { return p.scales }

// building guards Gorgonia's package-level constants: building and differentiating graphs in
// several goroutines race on them.
var building sync.Mutex

// lowering is an engine that compiles in two steps. lower reads the graph; finish does not.
type lowering interface {
	lower(l *Lagrangian) (finish func() (Compiled, error), err error)
}

// New makes a problem: build adds the nodes to a new graph and returns the definition. Only one
// graph is built at a time. Devices may compile several problems at a time.
//
// The gradients are Gorgonia's. New refuses operations whose gradient is known to be wrong, and
// operations that draw random numbers, and names what to use instead. If f or g use an operation
// that no test of ppal compares with differences, such as your own, New compares derivatives with
// differences and names the operation that is wrong; several processes that share the rows do not.
// First, New compares a derivative of f and g (problem.CheckDirection, 3 forward passes and a
// backward pass, less than two iterations), at the graph's own rows and in its own precision,
// because the shapes and types of its nodes are fixed: in float32 this sees errors from about 2e-2
// of the gradient on. Then New compares the derivatives of each such operation alone: of Gorgonia's
// operations in float64 on 16 rows, where it sees errors from about 1e-4 on, and of other ones at
// the node's shapes and in its type, if the inputs have at most 2^18 elements (2^16 in float64). An
// operation with kinks is compared alone in float64 only, with at most 2^12 elements.
//
// An error in the definition wraps problem.ErrSettings, and names the constraint node. So does a
// panic of Gorgonia or of build.
func New(build func(g *gorgonia.ExprGraph) (Definition, error), engine Engine) (*Problem, error) {
	if engine == nil {
		return nil, refuse("the engine is nil: use CPU, On or Tape")
	}
	l, finish, err := lowered(build, engine)
	if err != nil {
		return nil, err
	}
	w, err := finish()
	if err != nil {
		return nil, fmt.Errorf("graph: compile: %w", err)
	}
	p := &Problem{Problem: w, compiled: w, kinks: l.kinks, deep: l.deep, scales: l.Scales}
	for _, n := range l.Inputs {
		rows, cols := dims(n.Shape())
		p.inputs = append(p.inputs, input{n.Name(), rows, cols})
	}
	if !collective(engine) {
		if err := l.checkGradients(p, engine); err != nil {
			return nil, err
		}
	}
	return p, nil
}
