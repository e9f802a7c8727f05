package graph

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/plan"
	"ppal/trainer/problem"
)

// checkGradients compares derivatives with differences if f or g use an operation that no test
// compares with differences: a derivative of the compiled problem, and one of each such operation
// alone, in float64 on few rows, where an error counts in full that is small beside the other terms
// of f and g. The error names the operation.
func (l *Lagrangian) checkGradients(p *Problem, engine Engine) error {
	if len(l.untested) == 0 {
		return nil
	}
	err := problem.CheckDirection(p)
	var wrong *problem.GradientError
	if err != nil && !errors.As(err, &wrong) {
		return fmt.Errorf("graph: the check of the gradients: %w", err)
	}
	building.Lock()
	defer building.Unlock()
	var names []string
	for _, n := range l.untested {
		alone := wrongAlone(n, engine, wrong != nil)
		if alone != nil {
			if wrong == nil {
				wrong = alone
			}
			return refuse("the gradient of the operation %v (node %d) is wrong: %w", n.Op(), n.ID(), wrong)
		}
		names = append(names, fmt.Sprintf("%v (node %d)", n.Op(), n.ID()))
	}
	if wrong == nil {
		return nil
	}
	return refuse("one of these operations has a wrong gradient, or a description that differs from its values: %s: %w", strings.Join(names, ", "), wrong)
}

// collective reports whether the engine's passes need other processes, which do not serve yet.
func collective(e Engine) bool {
	d, ok := e.(deviceEngine)
	if !ok {
		return false
	}
	_, ok = d.device.(plan.Collective)
	return ok
}

// fewRows is the number of rows in the check of one of Gorgonia's ops alone.
const fewRows = 16

// mostElements is the largest number of elements in the check of an op alone, by the type: with
// more elements, the check takes long.
var mostElements = map[tensor.Dtype]int{tensor.Float64: 1 << 16, tensor.Float32: 1 << 18}

// mostKinked is the largest number of elements in the check of an op with kinks alone, which runs
// in float64 only: with more elements, or the longer steps of float32, several kinks lie within a
// difference, and a right gradient differs from it.
const mostKinked = 1 << 12

// wrongAlone returns the error of the gradient of a node's op by an engine, at random inputs, or
// nil if the gradient is right or the op cannot run alone. Gorgonia's ops run in float64 on few
// rows if they can. Other ops, and ops that keep values of their inputs, run at the node's shapes
// and in its type: a goroutine of such an op may panic at other inputs. Without thorough,
// wrongAlone leaves out inputs of many elements.
func wrongAlone(n *gorgonia.Node, engine Engine, thorough bool) *problem.GradientError {
	children, err := plan.InputsOf(n.Graph()).Of(n)
	if err != nil {
		return nil
	}
	a := alone{node: n, children: children, engine: engine, dtype: n.Dtype()}
	for _, c := range children {
		if s := c.Shape(); s.Dims() > 0 {
			a.most = max(a.most, s[0])
		}
	}
	a.rows = a.most
	forms := []alone{a}
	if op := reflect.TypeOf(n.Op()); op.Kind() != reflect.Pointer && op.PkgPath() == "gorgonia.org/gorgonia" {
		own := a
		own.rows = min(a.most, fewRows)
		wide := own
		wide.dtype = tensor.Float64
		forms = []alone{wide, own, a}
	}
	kinks := plan.OperationOf(n).Kinks
	for _, a := range forms {
		if kinks && (a.dtype == tensor.Float32 || a.elements() > mostKinked) || !thorough && a.elements() > mostElements[a.dtype] {
			continue
		}
		if ran, wrong := a.check(); ran {
			return wrong
		}
	}
	return nil
}

// alone is a node's op at other inputs: of rows instead of most rows, and of the type dtype instead
// of the node's own.
type alone struct {
	node       *gorgonia.Node
	children   gorgonia.Nodes
	engine     Engine
	most, rows int
	dtype      tensor.Dtype
}

// elements returns the number of elements of the inputs.
func (a *alone) elements() (sum int) {
	for _, c := range a.children {
		sum += a.shape(c).TotalSize()
	}
	return sum
}

// shape returns the shape of a child's stand-in: children of most rows lose rows.
func (a *alone) shape(c *gorgonia.Node) tensor.Shape {
	s := c.Shape().Clone()
	if s.Dims() > 0 && s[0] == a.most {
		s[0] = a.rows
	}
	return s
}

// check reports whether the op runs, and the error of its gradient.
func (a *alone) check() (ran bool, wrong *problem.GradientError) {
	for _, bounds := range [][2]float64{{-2, 2}, {0.5, 1.5}} { // the domain may be the positive numbers
		err := guarded(func() error { return a.compare(bounds[0], bounds[1]) })
		if errors.As(err, &wrong) {
			wrong.Term = "weighted sum of the operation's values"
			return true, wrong
		}
		ran = ran || err == nil
	}
	return ran, nil
}

// compare compares the op's gradient with differences at inputs from low to high.
func (a *alone) compare(low, high float64) error {
	g, rng := gorgonia.NewGraph(), rand.New(rand.NewPCG(5, 0))
	l := &Lagrangian{Graph: g, findings: findings{used: map[*gorgonia.Node]bool{}}}
	op := a.node.Op()
	differentiable := op.(gorgonia.SDOp).DiffWRT(len(a.children))
	var leaves gorgonia.Nodes
	for i, c := range a.children {
		leaf := a.leaf(g, rng, c, fmt.Sprintf("input%d", i), low, high)
		leaves = append(leaves, leaf)
		if i < len(differentiable) && differentiable[i] && leaf.Op() == nil {
			l.Parameters, l.used[leaf] = append(l.Parameters, leaf), true
		}
	}
	y, err := gorgonia.ApplyOp(op, leaves...)
	if err != nil {
		return err
	}
	weights := randomLeaf(g, rng, a.dtype, y.Shape(), "weights", 0.5, 1.5)
	if y, err = gorgonia.HadamardProd(y, weights); err == nil && !y.IsScalar() {
		y, err = gorgonia.Sum(y)
	}
	if err != nil {
		return err
	}
	l.Objective = y
	if err := l.check(); err != nil {
		return err
	}
	l.addCoefficients()
	if err := l.backpropagate(); err != nil {
		return err
	}
	p, err := a.engine.Compile(l)
	switch {
	case err != nil:
		return err
	case a.elements() > mostElements[tensor.Float64]:
		return problem.CheckDirection(p)
	}
	return problem.CheckGradients(p) // along several directions
}

// leaf returns an input node for a child, with random values from low to high, or the values of a
// constant.
func (a *alone) leaf(g *gorgonia.ExprGraph, rng *rand.Rand, like *gorgonia.Node, name string, low, high float64) *gorgonia.Node {
	float := like.Dtype() == tensor.Float32 || like.Dtype() == tensor.Float64
	if like.Op() != nil && like.Op().Arity() == 0 || !float {
		if v := like.Value(); v != nil {
			if !float || like.Dtype() == a.dtype {
				return gorgonia.NodeFromAny(g, v, gorgonia.WithName(name))
			}
			return leafOf(g, a.dtype, name, Float64s(v), like.Shape())
		}
	}
	return randomLeaf(g, rng, a.dtype, a.shape(like), name, low, high)
}

// randomLeaf returns an input node with random values from low to high.
func randomLeaf(g *gorgonia.ExprGraph, rng *rand.Rand, dtype tensor.Dtype, shape tensor.Shape, name string, low, high float64) *gorgonia.Node {
	values := make([]float64, shape.TotalSize())
	for i := range values {
		values[i] = low + (high-low)*rng.Float64()
	}
	return leafOf(g, dtype, name, values, shape)
}

// leafOf returns an input node with values.
func leafOf(g *gorgonia.ExprGraph, dtype tensor.Dtype, name string, values []float64, shape tensor.Shape) *gorgonia.Node {
	if shape.IsScalar() {
		return scalarLeaf(g, dtype, name, values[0])
	}
	return leaf(g, dtype, name, values, shape...)
}
