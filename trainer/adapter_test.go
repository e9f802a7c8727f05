package trainer_test

import (
	"math"
	"testing"

	"ppal/internal/testproblems"
	"ppal/trainer/problem"
)

// named returns a problem of the library.
func named(t testing.TB, name string) testproblems.Problem {
	t.Helper()
	tp, ok := testproblems.ByName(name)
	if !ok {
		t.Fatalf("no test problem %q", name)
	}
	return tp
}

// functions makes trainer's form of tp. A box that is not the same for every coordinate becomes constraints.
func functions(tp testproblems.Problem) problem.Functions {
	r := problem.Regularizer{}
	if tp.Ball > 0 {
		r = problem.Regularizer{Kind: problem.Ball, Radius: tp.Ball}
	}
	if tp.Lower != nil {
		if lo, hi, ok := uniform(tp); ok {
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

// uniform returns the bounds of a box that is the same for every coordinate.
func uniform(tp testproblems.Problem) (lo, hi float64, ok bool) {
	lo, hi = tp.Lower[0], tp.Upper[0]
	for i := range tp.Lower {
		if tp.Lower[i] != lo || tp.Upper[i] != hi {
			return 0, 0, false
		}
	}
	return lo, hi, true
}

// problem returns tp at its standard start.
func problemOf(t testing.TB, tp testproblems.Problem) problem.Problem {
	t.Helper()
	p, err := functions(tp).New(tp.Start)
	if err != nil {
		t.Fatalf("%s: %v", tp.Name, err)
	}
	return p
}

// iterate returns a copy of p's x.
func iterate(p problem.Problem) []float64 {
	n, _ := p.Dims()
	x := make([]float64, n)
	p.Space().Read(x, problem.Iterate)
	return x
}

// distance is max_i |x_i - y_i| / (1 + |y_i|).
func distance(x, y []float64) float64 {
	worst := 0.0
	for i := range x {
		worst = math.Max(worst, math.Abs(x[i]-y[i])/(1+math.Abs(y[i])))
	}
	return worst
}
