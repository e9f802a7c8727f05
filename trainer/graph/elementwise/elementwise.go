// Package elementwise builds the expressions of describe.Elementwise, by which an op describes an
// element-wise computation. For example,
//
//	x * sigmoid(x)   Mul(Input(0), Sigmoid(Input(0)))
package elementwise

import "ppal/trainer/graph/describe"

// Input is element [i, j] of the op's k-th input, counted from 0. If the result has more rows or
// columns, a single row or column of the input is repeated.
func Input(k int) *describe.Expr { return &describe.Expr{Op: describe.Load, Arg: k} }

// Number is the constant c.
func Number(c float64) *describe.Expr { return &describe.Expr{Op: describe.Value, Const: c} }

func unary(op describe.Op, x *describe.Expr) *describe.Expr { return &describe.Expr{Op: op, X: x} }
func binary(op describe.Op, x, y *describe.Expr) *describe.Expr {
	return &describe.Expr{Op: op, X: x, Y: y}
}

// Functions of one number. Sign is 1 for 0 and -1 for -0; Softplus is log(1 + e^x); Sigmoid is
// 1/(1 + e^-x); Inverse is 1/x.
func Abs(x *describe.Expr) *describe.Expr         { return unary(describe.Abs, x) }
func Sign(x *describe.Expr) *describe.Expr        { return unary(describe.Sign, x) }
func Ceil(x *describe.Expr) *describe.Expr        { return unary(describe.Ceil, x) }
func Floor(x *describe.Expr) *describe.Expr       { return unary(describe.Floor, x) }
func Sin(x *describe.Expr) *describe.Expr         { return unary(describe.Sin, x) }
func Cos(x *describe.Expr) *describe.Expr         { return unary(describe.Cos, x) }
func Exp(x *describe.Expr) *describe.Expr         { return unary(describe.Exp, x) }
func Log(x *describe.Expr) *describe.Expr         { return unary(describe.Ln, x) }
func Log2(x *describe.Expr) *describe.Expr        { return unary(describe.Log2, x) }
func Neg(x *describe.Expr) *describe.Expr         { return unary(describe.Neg, x) }
func Square(x *describe.Expr) *describe.Expr      { return unary(describe.Square, x) }
func Sqrt(x *describe.Expr) *describe.Expr        { return unary(describe.Sqrt, x) }
func Inverse(x *describe.Expr) *describe.Expr     { return unary(describe.Inverse, x) }
func InverseSqrt(x *describe.Expr) *describe.Expr { return unary(describe.InverseSqrt, x) }
func Cube(x *describe.Expr) *describe.Expr        { return unary(describe.Cube, x) }
func Tanh(x *describe.Expr) *describe.Expr        { return unary(describe.Tanh, x) }
func Sigmoid(x *describe.Expr) *describe.Expr     { return unary(describe.Sigmoid, x) }
func Log1p(x *describe.Expr) *describe.Expr       { return unary(describe.Log1p, x) }
func Expm1(x *describe.Expr) *describe.Expr       { return unary(describe.Expm1, x) }
func Softplus(x *describe.Expr) *describe.Expr    { return unary(describe.Softplus, x) }

// Functions of two numbers. A comparison is 1 if true and 0 if false.
func Add(x, y *describe.Expr) *describe.Expr            { return binary(describe.Add, x, y) }
func Sub(x, y *describe.Expr) *describe.Expr            { return binary(describe.Sub, x, y) }
func Mul(x, y *describe.Expr) *describe.Expr            { return binary(describe.Mul, x, y) }
func Div(x, y *describe.Expr) *describe.Expr            { return binary(describe.Div, x, y) }
func Pow(x, y *describe.Expr) *describe.Expr            { return binary(describe.Pow, x, y) }
func Less(x, y *describe.Expr) *describe.Expr           { return binary(describe.Lt, x, y) }
func Greater(x, y *describe.Expr) *describe.Expr        { return binary(describe.Gt, x, y) }
func LessOrEqual(x, y *describe.Expr) *describe.Expr    { return binary(describe.Lte, x, y) }
func GreaterOrEqual(x, y *describe.Expr) *describe.Expr { return binary(describe.Gte, x, y) }
func Equal(x, y *describe.Expr) *describe.Expr          { return binary(describe.Eq, x, y) }
func NotEqual(x, y *describe.Expr) *describe.Expr       { return binary(describe.Ne, x, y) }
