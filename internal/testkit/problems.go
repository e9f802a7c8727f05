// Package testkit provides the problems and checks that the tests of several packages of trainer
// share.
package testkit

import (
	"math"
	"testing"

	"ppal/internal/testproblems"
	"ppal/trainer/problem"
)

// Named returns the problem of package testproblems with the given name.
func Named(t testing.TB, name string) testproblems.Problem {
	t.Helper()
	tp, ok := testproblems.ByName(name)
	if !ok {
		t.Fatalf("no test problem %q", name)
	}
	return tp
}

// FunctionsOf converts tp to problem.Functions. If the coordinates of a box have different bounds,
// the bounds become constraints.
func FunctionsOf(tp testproblems.Problem) problem.Functions {
	r := problem.Regularizer{}
	if tp.Ball > 0 {
		r = problem.Regularizer{Kind: problem.Ball, Radius: tp.Ball}
	}
	if tp.Lower != nil {
		if lo, hi, ok := Uniform(tp); ok {
			r = problem.Regularizer{Kind: problem.Box, Lower: lo, Upper: hi}
		} else {
			tp = tp.BoundsAsConstraints()
		}
	}
	fn := problem.Functions{N: tp.N, M: tp.M, F: tp.F, Gradient: tp.Grad, G: tp.G, JacobianT: tp.JTW, Regularizer: r}
	for _, piece := range tp.Pieces {
		fn.Pieces = append(fn.Pieces, problem.Piece(piece))
	}
	return fn
}

// Uniform returns the bounds of tp's box. ok is false if the coordinates have different bounds.
func Uniform(tp testproblems.Problem) (lo, hi float64, ok bool) {
	lo, hi = tp.Lower[0], tp.Upper[0]
	for i := range tp.Lower {
		if tp.Lower[i] != lo || tp.Upper[i] != hi {
			return 0, 0, false
		}
	}
	return lo, hi, true
}

// ProblemOf returns tp at its standard start.
func ProblemOf(t testing.TB, tp testproblems.Problem) problem.Problem {
	t.Helper()
	p, err := FunctionsOf(tp).New(tp.Start)
	if err != nil {
		t.Fatalf("%s: %v", tp.Name, err)
	}
	return p
}

// Iterate returns a copy of p's x.
func Iterate(p problem.Problem) []float64 {
	n, _ := p.Dims()
	x := make([]float64, n)
	p.Space().Read(x, problem.Iterate)
	return x
}

// Distance returns max_i |x_i - y_i| / (1 + |y_i|).
func Distance(x, y []float64) float64 {
	worst := 0.0
	for i := range x {
		worst = math.Max(worst, math.Abs(x[i]-y[i])/(1+math.Abs(y[i])))
	}
	return worst
}

// New returns the problem of fn at start.
func New(t testing.TB, fn problem.Functions, start []float64) problem.Problem {
	t.Helper()
	p, err := fn.New(start)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Line returns the problem min (x - 3)^2/2 s.t. x - 1 <= 0. The solution is x = 1.
func Line() problem.Functions {
	return problem.Functions{N: 1, M: 1,
		F:         func(x []float64) float64 { return (x[0] - 3) * (x[0] - 3) / 2 },
		Gradient:  func(dst, x []float64) { dst[0] = x[0] - 3 },
		G:         func(dst, x []float64) { dst[0] = x[0] - 1 },
		JacobianT: func(dst, _, w []float64) { dst[0] = w[0] },
	}
}

// Start returns the problem of fn at the start x.
func Start(t testing.TB, fn problem.Functions, x ...float64) problem.Problem {
	t.Helper()
	return New(t, fn, x)
}
