// Package elementwise builds the expressions of graph.Elementwise, by which an op describes an
// element-wise computation. For example,
//
//	x * sigmoid(x)   Mul(Input(0), Sigmoid(Input(0)))
package elementwise

import "ppal/internal/plan"

// Expr is a tree of element-wise operations.
type Expr = plan.Expr

// Input is element [i, j] of the op's k-th input, counted from 0. If the result has more rows or
// columns, a single row or column of the input is repeated.
func Input(k int) *Expr { return &Expr{Op: plan.Load, Arg: k} }

// Number is the constant c.
func Number(c float64) *Expr { return &Expr{Op: plan.Value, Const: c} }

func unary(op plan.Op, x *Expr) *Expr     { return &Expr{Op: op, X: x} }
func binary(op plan.Op, x, y *Expr) *Expr { return &Expr{Op: op, X: x, Y: y} }

// Functions of one number. Sign is 1 for 0 and -1 for -0; Softplus is log(1 + e^x); Sigmoid is
// 1/(1 + e^-x); Inverse is 1/x.
func Abs(x *Expr) *Expr         { return unary(plan.Abs, x) }
func Sign(x *Expr) *Expr        { return unary(plan.Sign, x) }
func Ceil(x *Expr) *Expr        { return unary(plan.Ceil, x) }
func Floor(x *Expr) *Expr       { return unary(plan.Floor, x) }
func Sin(x *Expr) *Expr         { return unary(plan.Sin, x) }
func Cos(x *Expr) *Expr         { return unary(plan.Cos, x) }
func Exp(x *Expr) *Expr         { return unary(plan.Exp, x) }
func Log(x *Expr) *Expr         { return unary(plan.Ln, x) }
func Log2(x *Expr) *Expr        { return unary(plan.Log2, x) }
func Neg(x *Expr) *Expr         { return unary(plan.Neg, x) }
func Square(x *Expr) *Expr      { return unary(plan.Square, x) }
func Sqrt(x *Expr) *Expr        { return unary(plan.Sqrt, x) }
func Inverse(x *Expr) *Expr     { return unary(plan.Inverse, x) }
func InverseSqrt(x *Expr) *Expr { return unary(plan.InverseSqrt, x) }
func Cube(x *Expr) *Expr        { return unary(plan.Cube, x) }
func Tanh(x *Expr) *Expr        { return unary(plan.Tanh, x) }
func Sigmoid(x *Expr) *Expr     { return unary(plan.Sigmoid, x) }
func Log1p(x *Expr) *Expr       { return unary(plan.Log1p, x) }
func Expm1(x *Expr) *Expr       { return unary(plan.Expm1, x) }
func Softplus(x *Expr) *Expr    { return unary(plan.Softplus, x) }

// Functions of two numbers. A comparison is 1 if true and 0 if false.
func Add(x, y *Expr) *Expr            { return binary(plan.Add, x, y) }
func Sub(x, y *Expr) *Expr            { return binary(plan.Sub, x, y) }
func Mul(x, y *Expr) *Expr            { return binary(plan.Mul, x, y) }
func Div(x, y *Expr) *Expr            { return binary(plan.Div, x, y) }
func Pow(x, y *Expr) *Expr            { return binary(plan.Pow, x, y) }
func Less(x, y *Expr) *Expr           { return binary(plan.Lt, x, y) }
func Greater(x, y *Expr) *Expr        { return binary(plan.Gt, x, y) }
func LessOrEqual(x, y *Expr) *Expr    { return binary(plan.Lte, x, y) }
func GreaterOrEqual(x, y *Expr) *Expr { return binary(plan.Gte, x, y) }
func Equal(x, y *Expr) *Expr          { return binary(plan.Eq, x, y) }
func NotEqual(x, y *Expr) *Expr       { return binary(plan.Ne, x, y) }
