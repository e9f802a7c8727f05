package describe

import (
	"math"
	"testing"
)

// flag returns 1 for true and 0 for false.
func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

var unaries = map[Op]func(x float64) float64{
	Abs: math.Abs, Sign: func(x float64) float64 { return math.Copysign(1, x) },
	Ceil: math.Ceil, Floor: math.Floor, Sin: math.Sin, Cos: math.Cos, Exp: math.Exp,
	Ln: math.Log, Log2: math.Log2, Neg: func(x float64) float64 { return -x },
	Square: func(x float64) float64 { return x * x }, Sqrt: math.Sqrt,
	Inverse: func(x float64) float64 { return 1 / x }, InverseSqrt: func(x float64) float64 { return 1 / math.Sqrt(x) },
	Cube: func(x float64) float64 { return x * x * x }, Tanh: math.Tanh,
	Sigmoid: func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	Log1p:   math.Log1p, Expm1: math.Expm1, Softplus: func(x float64) float64 { return math.Log(1 + math.Exp(x)) },
}

var binaries = map[Op]func(x, y float64) float64{
	Add: func(x, y float64) float64 { return x + y }, Sub: func(x, y float64) float64 { return x - y },
	Mul: func(x, y float64) float64 { return x * y }, Div: func(x, y float64) float64 { return x / y }, Pow: math.Pow,
	Lt: func(x, y float64) float64 { return flag(x < y) }, Gt: func(x, y float64) float64 { return flag(x > y) },
	Lte: func(x, y float64) float64 { return flag(x <= y) },
	Gte: func(x, y float64) float64 { return flag(x >= y) },
	Eq:  func(x, y float64) float64 { return flag(x == y) }, Ne: func(x, y float64) float64 { return flag(x != y) },
}

// close compares two numbers up to rounding; two NaNs are equal.
func close(x, y float64) bool {
	return x == y || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-14*math.Max(math.Abs(x), math.Abs(y))
}

// Every operation computes what its name says, with its operands in order.
func TestValues(t *testing.T) {
	numbers := []float64{-2.5, -1, math.Copysign(0, -1), 0, 0.3, 1, 2, 7.75}
	for op, f := range unaries {
		for _, x := range numbers {
			if got, want := op.Of(Input(1)).Eval(func(k int) float64 { return []float64{math.NaN(), x}[k] }), f(x); !close(got, want) {
				t.Errorf("%v(%v) = %v, want %v", op, x, got, want)
			}
		}
	}
	for op, f := range binaries {
		for _, x := range numbers {
			for _, y := range numbers {
				got := op.Of(Input(0), Input(1)).Eval(func(k int) float64 { return []float64{x, y}[k] })
				if want := f(x, y); !close(got, want) {
					t.Errorf("%v(%v, %v) = %v, want %v", op, x, y, got, want)
				}
			}
		}
	}
}

// The tables of TestValues contain every operation of Gorgonia.
func TestEveryOperationIsTested(t *testing.T) {
	for op := Abs; op <= Ne; op++ {
		_, unary := unaries[op]
		_, binary := binaries[op]
		if is := op < Identity || op >= Add; (unary || binary) != is || unary && op.Arity() != 1 || binary && op.Arity() != 2 {
			t.Errorf("%v: tested as unary %v, as binary %v", op, unary, binary)
		}
	}
}

// Of takes as many operands as the operation has.
func TestOperands(t *testing.T) {
	for op, n := range map[Op]int{Abs: 2, Add: 1, Sub: 3, Exp: 0, Load: 0} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("operation %d takes %d operands", op, n)
				}
			}()
			op.Of(make([]*Expr, n)...)
		}()
	}
}

// Expressions nest, take constants, and print their operands.
func TestExpressions(t *testing.T) {
	e := Mul.Of(Input(0), Sigmoid.Of(Sub.Of(Input(2), Number(0.5))))
	got := e.Eval(func(k int) float64 { return []float64{3, math.NaN(), 0.5}[k] })
	if got != 1.5 {
		t.Errorf("%v = %v, want 1.5", e, got)
	}
	if e.String() != "($0 * sigmoid(($2 - 0.5)))" {
		t.Error(e)
	}
}
