package plan

import (
	"fmt"

	"ppal/trainer/graph/describe"
)

// Activation is a function that a network applies between its layers.
type Activation uint8

// The activations. Their derivatives are functions of the activation's value a = f(z):
//
//	LinearActivation   f(z) = z               f' = 1
//	SigmoidActivation  f(z) = 1/(1 + e^-z)    f' = a (1 - a)
//	TanhActivation     f(z) = tanh z          f' = 1 - a^2
//	ReLUActivation     f(z) = max(z, 0)       f' = 0 where a has its sign bit set, else 1
const (
	LinearActivation Activation = iota
	SigmoidActivation
	TanhActivation
	ReLUActivation
)

// activationOps are the operations of the activations and of their derivatives.
var activationOps = [...]struct{ value, grad describe.Op }{
	LinearActivation:  {describe.Identity, describe.Identity},
	SigmoidActivation: {describe.Sigmoid, describe.SigmoidGrad},
	TanhActivation:    {describe.Tanh, describe.TanhGrad},
	ReLUActivation:    {describe.ReLU, describe.ReLUGrad},
}

// String names the activation: identity, sigmoid, tanh or relu.
func (f Activation) String() string { return activationOps[f].value.String() }

// BiasActivation adds a row to every row of a matrix and applies the activation, in place:
//
//	A[i,j] = f(A[i,j] + Bias[0,j])
type BiasActivation struct {
	nodes
	Activation Activation
	A, Bias    View
}

// ActivationGrad multiplies a matrix by the derivative of the activation, in place. A is the
// activation's value, of D's shape:
//
//	D[i,j] = f'(A[i,j]) D[i,j]
type ActivationGrad struct {
	nodes
	Activation Activation // not LinearActivation
	A, D       View
}

// typedMap returns the typed step for an element-wise pass of a common form, else the pass itself.
// Each device has one kernel for each typed step.
func typedMap(m *Map) Step {
	if len(m.Args) != 2 {
		return m
	}
	x, y := m.Args[0], m.Args[1]
	if f, ok := biasForm(m.Expr); ok && x == m.Out && y.Rows == 1 && y.Cols == m.Out.Cols {
		return &BiasActivation{m.nodes, f, x, y}
	}
	if f, ok := gradForm(m.Expr); ok && y == m.Out && x.Rows == y.Rows && x.Cols == y.Cols {
		return &ActivationGrad{m.nodes, f, x, y}
	}
	return m
}

// biasForm recognizes f($0 + $1).
func biasForm(e *describe.Expr) (Activation, bool) {
	for f, op := range activationOps {
		sum := e
		if op.value != describe.Identity {
			if e.Op != op.value {
				continue
			}
			sum = e.X
		}
		if sum.Op == describe.Add && isLoad(sum.X, 0) && isLoad(sum.Y, 1) {
			return Activation(f), true
		}
	}
	return 0, false
}

// gradForm recognizes f'($0) * $1.
func gradForm(e *describe.Expr) (Activation, bool) {
	if e.Op != describe.Mul || !isLoad(e.Y, 1) {
		return 0, false
	}
	for f, op := range activationOps {
		if op.grad != describe.Identity && e.X.Op == op.grad && isLoad(e.X.X, 0) {
			return Activation(f), true
		}
	}
	return 0, false
}

// isLoad reports whether e is operand arg itself.
func isLoad(e *describe.Expr, arg int) bool { return e.Op == describe.Load && e.Arg == arg }

// Reads implements Step.
func (s *BiasActivation) Reads() []Operand {
	bias := Operand{s.Bias, Whole}
	if s.A.Rows == 1 {
		bias.Access = ByRow
	}
	return []Operand{{s.A, ByRow}, bias}
}

// Writes implements Step.
func (s *BiasActivation) Writes() []Operand { return []Operand{{s.A, ByRow}} }

// FLOPs implements Step.
func (s *BiasActivation) FLOPs() int64 {
	n := int64(s.A.Len())
	if s.Activation == LinearActivation {
		return n
	}
	return 2 * n
}

// Reads implements Step.
func (s *ActivationGrad) Reads() []Operand { return []Operand{{s.A, ByRow}, {s.D, ByRow}} }

// Writes implements Step.
func (s *ActivationGrad) Writes() []Operand { return []Operand{{s.D, ByRow}} }

// FLOPs implements Step.
func (s *ActivationGrad) FLOPs() int64 { return 2 * int64(s.D.Len()) }

func (s *BiasActivation) String() string {
	sum := operand(s.A) + " + " + operand(s.Bias)
	if s.Activation != LinearActivation {
		sum = fmt.Sprintf("%v(%s)", s.Activation, sum)
	}
	return assign(s.A, sum, false)
}

func (s *ActivationGrad) String() string {
	return assign(s.D, fmt.Sprintf("%v'(%s) * %s", s.Activation, operand(s.A), operand(s.D)), false)
}

func biasActivation[T Float](s *BiasActivation, m *Memory[T], lo, hi int) {
	bias, f := m.Row(s.Bias, 0), activationOps[s.Activation].value
	for i := lo; i < hi; i++ {
		row := m.Row(s.A, i)
		for j, z := range row {
			row[j] = T(describe.Unary(f, float64(z)+float64(bias[j])))
		}
	}
}

func activationGrad[T Float](s *ActivationGrad, m *Memory[T], lo, hi int) {
	grad := activationOps[s.Activation].grad
	for i := lo; i < hi; i++ {
		a, d := m.Row(s.A, i), m.Row(s.D, i)
		for j, x := range a {
			d[j] = T(describe.Unary(grad, float64(x)) * float64(d[j]))
		}
	}
}
