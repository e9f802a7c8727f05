package describe

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Op is an element-wise operation.
type Op uint8

// The operations. The first block's order and that of Add to Ne are Gorgonia's.
const (
	Abs Op = iota
	Sign
	Ceil
	Floor
	Sin
	Cos
	Exp
	Ln
	Log2
	Neg
	Square
	Sqrt
	Inverse
	InverseSqrt
	Cube
	Tanh
	Sigmoid // 1/(1 + e^-x)
	Log1p
	Expm1
	Softplus // log(1 + e^x)

	Identity
	ReLU        // x where x >= 0 (+0 for -0), else -0: the sign bit keeps which
	SigmoidGrad // a (1 - a), a = Sigmoid(x)
	TanhGrad    // 1 - a^2, a = Tanh(x)
	ReLUGrad    // 0 where a = ReLU(x) has its sign bit set, else 1

	Add
	Sub
	Mul
	Div
	Pow
	Lt // comparisons give 1 or 0
	Gt
	Lte
	Gte
	Eq
	Ne

	Load  // operand Expr.Arg
	Value // Expr.Const
)

var opNames = [...]string{"abs", "sign", "ceil", "floor", "sin", "cos", "exp", "ln", "log2", "neg", "square", "sqrt", "inverse",
	"inversesqrt", "cube", "tanh", "sigmoid", "log1p", "expm1", "softplus", "identity", "relu", "sigmoid'", "tanh'", "relu'",
	"+", "-", "*", "/", "^", "<", ">", "<=", ">=", "==", "!="}

// Arity returns 2 for Add to Ne, 0 for Load and Value, and 1 for all other operations.
func (op Op) Arity() int {
	switch {
	case op >= Load:
		return 0
	case op >= Add:
		return 2
	}
	return 1
}

// String returns the operation's name, or the sign of a binary operation.
func (op Op) String() string { return opNames[op] }

// Kinked reports whether an operation has kinks or jumps.
func (op Op) Kinked() bool {
	switch op {
	case Abs, Sign, Ceil, Floor, ReLU, ReLUGrad, Lt, Gt, Lte, Gte, Eq, Ne:
		return true
	}
	return false
}

// Expr is a tree of element-wise operations.
type Expr struct {
	Op    Op
	Arg   int     // of Load: the operand's index in Map.Args
	Const float64 // of Value
	X, Y  *Expr   // operands; binary operations use Y
}

// Input is element [i, j] of the op's k-th input, counted from 0. If the result has more rows or
// columns, a single row or column of the input is repeated.
func Input(k int) *Expr { return &Expr{Op: Load, Arg: k} }

// Number is the constant c.
func Number(c float64) *Expr { return &Expr{Op: Value, Const: c} }

// Of is the operation of its operands. For example, x * sigmoid(x) is
//
//	Mul.Of(Input(0), Sigmoid.Of(Input(0)))
//
// Of panics if the number of operands is not Arity.
func (op Op) Of(operands ...*Expr) *Expr {
	if len(operands) != op.Arity() || op.Arity() == 0 {
		panic(fmt.Sprintf("describe: the operation %d of %d operands", op, len(operands)))
	}
	e := &Expr{Op: op, X: operands[0]}
	if op.Arity() == 2 {
		e.Y = operands[1]
	}
	return e
}

// String writes operand i as $i, functions as f(x), and binary operations infix in parentheses, for
// example sigmoid(($0 + $1)).
func (e *Expr) String() string {
	switch {
	case e.Op == Load:
		return "$" + strconv.Itoa(e.Arg)
	case e.Op == Value:
		return strconv.FormatFloat(e.Const, 'g', -1, 64)
	case e.Op.Arity() == 2:
		return fmt.Sprintf("(%v %s %v)", e.X, opNames[e.Op], e.Y)
	}
	return fmt.Sprintf("%s(%v)", opNames[e.Op], e.X)
}

// Check returns an error if an operation of the tree is unknown or lacks an operand, or if the tree
// reads an input that does not exist.
func (e *Expr) Check(inputs int) error {
	if e == nil {
		return errors.New("described by an expression with an operand that is nil")
	}
	if e.Op > Value {
		return fmt.Errorf("described by an expression with the unknown operation %d", e.Op)
	}
	if e.Op == Load && (e.Arg < 0 || e.Arg >= inputs) {
		return fmt.Errorf("described by an expression of input %d, and has %d inputs", e.Arg, inputs)
	}
	var err error
	if e.Op.Arity() > 0 {
		err = e.X.Check(inputs)
	}
	if e.Op.Arity() == 2 && err == nil {
		err = e.Y.Check(inputs)
	}
	return err
}

// Kinked reports whether an operation of the tree has kinks.
func (e *Expr) Kinked() bool {
	return e != nil && (e.Op.Kinked() || e.X.Kinked() || e.Y.Kinked())
}

// FLOPs returns the number of operations in the tree.
func (e *Expr) FLOPs() int64 {
	switch e.Op.Arity() {
	case 0:
		return 0
	case 1:
		return 1 + e.X.FLOPs()
	}
	return 1 + e.X.FLOPs() + e.Y.FLOPs()
}

// Eval evaluates the tree in float64. load returns the element of an operand.
func (e *Expr) Eval(load func(arg int) float64) float64 {
	switch {
	case e.Op == Load:
		return load(e.Arg)
	case e.Op == Value:
		return e.Const
	case e.Op.Arity() == 2:
		return Binary(e.Op, e.X.Eval(load), e.Y.Eval(load))
	}
	return Unary(e.Op, e.X.Eval(load))
}

// Unary returns the value of a unary operation.
func Unary(op Op, x float64) float64 {
	switch op {
	case Abs:
		return math.Abs(x)
	case Sign: // as in Gorgonia: 1 for zero, -1 for -0
		return math.Copysign(1, x)
	case Ceil:
		return math.Ceil(x)
	case Floor:
		return math.Floor(x)
	case Sin:
		return math.Sin(x)
	case Cos:
		return math.Cos(x)
	case Exp:
		return math.Exp(x)
	case Ln:
		return math.Log(x)
	case Log2:
		return math.Log2(x)
	case Neg:
		return -x
	case Square:
		return x * x
	case Sqrt:
		return math.Sqrt(x)
	case Inverse:
		return 1 / x
	case InverseSqrt:
		return 1 / math.Sqrt(x)
	case Cube:
		return x * x * x
	case Log1p:
		return math.Log1p(x)
	case Expm1:
		return math.Expm1(x)
	case Softplus:
		return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
	case Identity:
		return x
	}
	return activation(op, x)
}

// activation returns the value of an activation or of its derivative.
func activation(op Op, x float64) float64 {
	switch op {
	case Tanh:
		return math.Tanh(x)
	case Sigmoid:
		if x >= 0 {
			return 1 / (1 + math.Exp(-x))
		}
		e := math.Exp(x)
		return e / (1 + e)
	case ReLU:
		if x < 0 {
			return math.Copysign(0, -1)
		}
		return x + 0 // -0 becomes +0: the derivative at zero is 1
	case SigmoidGrad:
		return x * (1 - x)
	case TanhGrad:
		return 1 - x*x
	case ReLUGrad:
		if math.Signbit(x) {
			return 0
		}
		return 1
	}
	panic("describe: no unary operation " + strconv.Itoa(int(op)))
}

// Binary returns the value of a binary operation. Comparisons return 1 or 0.
func Binary(op Op, x, y float64) float64 {
	switch op {
	case Add:
		return x + y
	case Sub:
		return x - y
	case Mul:
		return x * y
	case Div:
		return x / y
	case Pow:
		return math.Pow(x, y)
	}
	var holds bool
	switch op {
	case Lt:
		holds = x < y
	case Gt:
		holds = x > y
	case Lte:
		holds = x <= y
	case Gte:
		holds = x >= y
	case Eq:
		holds = x == y
	case Ne:
		holds = x != y
	default:
		panic("describe: no binary operation " + strconv.Itoa(int(op)))
	}
	if holds {
		return 1
	}
	return 0
}
