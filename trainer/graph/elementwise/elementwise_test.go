package elementwise

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/graph/describe"
)

// flag returns 1 for true and 0 for false.
func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

var unaries = map[string]struct {
	build func(x *describe.Expr) *describe.Expr
	value func(x float64) float64
}{
	"Abs": {Abs, math.Abs}, "Sign": {Sign, func(x float64) float64 { return math.Copysign(1, x) }},
	"Ceil": {Ceil, math.Ceil}, "Floor": {Floor, math.Floor}, "Sin": {Sin, math.Sin}, "Cos": {Cos, math.Cos}, "Exp": {Exp, math.Exp},
	"Log": {Log, math.Log}, "Log2": {Log2, math.Log2}, "Neg": {Neg, func(x float64) float64 { return -x }},
	"Square": {Square, func(x float64) float64 { return x * x }}, "Sqrt": {Sqrt, math.Sqrt},
	"Inverse": {Inverse, func(x float64) float64 { return 1 / x }}, "InverseSqrt": {InverseSqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }},
	"Cube": {Cube, func(x float64) float64 { return x * x * x }}, "Tanh": {Tanh, math.Tanh},
	"Sigmoid": {Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	"Log1p":   {Log1p, math.Log1p}, "Expm1": {Expm1, math.Expm1}, "Softplus": {Softplus, func(x float64) float64 { return math.Log(1 + math.Exp(x)) }},
}

var binaries = map[string]struct {
	build func(x, y *describe.Expr) *describe.Expr
	value func(x, y float64) float64
}{
	"Add": {Add, func(x, y float64) float64 { return x + y }}, "Sub": {Sub, func(x, y float64) float64 { return x - y }},
	"Mul": {Mul, func(x, y float64) float64 { return x * y }}, "Div": {Div, func(x, y float64) float64 { return x / y }}, "Pow": {Pow, math.Pow},
	"Less": {Less, func(x, y float64) float64 { return flag(x < y) }}, "Greater": {Greater, func(x, y float64) float64 { return flag(x > y) }},
	"LessOrEqual":    {LessOrEqual, func(x, y float64) float64 { return flag(x <= y) }},
	"GreaterOrEqual": {GreaterOrEqual, func(x, y float64) float64 { return flag(x >= y) }},
	"Equal":          {Equal, func(x, y float64) float64 { return flag(x == y) }}, "NotEqual": {NotEqual, func(x, y float64) float64 { return flag(x != y) }},
}

// close compares two numbers up to rounding; two NaNs are equal.
func close(x, y float64) bool {
	return x == y || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-14*math.Max(math.Abs(x), math.Abs(y))
}

// Every function computes what its name says, with its operands in order.
func TestValues(t *testing.T) {
	numbers := []float64{-2.5, -1, math.Copysign(0, -1), 0, 0.3, 1, 2, 7.75}
	for name, f := range unaries {
		for _, x := range numbers {
			if got, want := f.build(Input(1)).Eval(func(k int) float64 { return []float64{math.NaN(), x}[k] }), f.value(x); !close(got, want) {
				t.Errorf("%s(%v) = %v, want %v", name, x, got, want)
			}
		}
	}
	for name, f := range binaries {
		for _, x := range numbers {
			for _, y := range numbers {
				got := f.build(Input(0), Input(1)).Eval(func(k int) float64 { return []float64{x, y}[k] })
				if want := f.value(x, y); !close(got, want) {
					t.Errorf("%s(%v, %v) = %v, want %v", name, x, y, got, want)
				}
			}
		}
	}
}

// The tables of TestValues contain every function of the package.
func TestEveryFunctionIsTested(t *testing.T) {
	file := require.Value(parser.ParseFile(token.NewFileSet(), "elementwise.go", nil, 0))(t)
	count := 0
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !f.Name.IsExported() || f.Name.Name == "Input" || f.Name.Name == "Number" {
			continue
		}
		count++
		if unaries[f.Name.Name].build == nil && binaries[f.Name.Name].build == nil {
			t.Errorf("%s is not tested", f.Name)
		}
	}
	if count != len(unaries)+len(binaries) {
		t.Errorf("%d functions, %d tested", count, len(unaries)+len(binaries))
	}
}

// Expressions nest, take constants, and print their operands.
func TestExpressions(t *testing.T) {
	e := Mul(Input(0), Sigmoid(Sub(Input(2), Number(0.5))))
	got := e.Eval(func(k int) float64 { return []float64{3, math.NaN(), 0.5}[k] })
	if got != 1.5 {
		t.Errorf("%v = %v, want 1.5", e, got)
	}
	if e.String() != "($0 * sigmoid(($2 - 0.5)))" {
		t.Error(e)
	}
}
