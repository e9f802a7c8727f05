package certify_test

import (
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/internal/testproblems"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// affine returns the problem with the constraints a x_0 + b x_1 + c <= 0 of the rows (a, b, c).
func affine(r problem.Regularizer, rows ...[3]float64) problem.Functions {
	return problem.Functions{N: 2, M: len(rows), Regularizer: r,
		F:        func(x []float64) float64 { return x[0] },
		Gradient: func(dst, _ []float64) { dst[0], dst[1] = 1, 0 },
		G: func(dst, x []float64) {
			for j, row := range rows {
				dst[j] = row[0]*x[0] + row[1]*x[1] + row[2]
			}
		},
		JacobianT: func(dst, _, w []float64) {
			clear(dst)
			for j, row := range rows {
				dst[0] += w[j] * row[0]
				dst[1] += w[j] * row[1]
			}
		},
	}
}

// search searches from x with 300 steps, and checks that the iterate and its forward pass are
// restored.
func search(t *testing.T, p problem.Problem) certify.SearchOutcome {
	t.Helper()
	m := problem.Constraints(p)
	x, g, d := testkit.Iterate(p), make([]float64, m), p.Space().New()
	o := require.Value(certify.SearchFeasible(t.Context(), p, certify.InfeasibleSettings{Iterations: 300, Tolerance: 1e-6}))(t)
	for i, v := range testkit.Iterate(p) {
		if v != x[i] {
			t.Errorf("the search moved the iterate from %v to %v", x, testkit.Iterate(p))
		}
	}
	require.NoError(t, p.Backward(append([]float64{1}, g...), d)) // of the last forward pass
	if o.Certificate != nil && (o.Attained || o.Evaluations == 0) {
		t.Errorf("%+v", o)
	}
	return o
}

func TestConflicts(t *testing.T) {
	ball := problem.Regularizer{Kind: problem.Ball, Radius: 1}
	box := problem.Regularizer{Kind: problem.Box, Lower: -1, Upper: 1}
	abs := affine(problem.Regularizer{}, [3]float64{1, 0, 0}, [3]float64{0, 1, 0}, [3]float64{1, 1, -3})
	abs.Pieces = problem.Abs(0.5, 0.5) // |x_0| <= 1/2, |x_1| <= 1/2, x_0 + x_1 >= 3
	abs.Pieces = append(abs.Pieces, problem.Piece{Constraint: 2, Term: 2, Sign: -1})
	for _, test := range []struct {
		name   string
		fn     problem.Functions
		x      []float64
		shares []float64
		least  float64 // the least relaxation
		most   float64 // the largest violation at the point
	}{
		// x <= -1 and -x <= -1: g = (1, 1) at x = 0
		{"two half lines", affine(problem.Regularizer{}, [3]float64{1, 0, 1}, [3]float64{-1, 0, 1}), []float64{5, 2}, []float64{0.5, 0.5}, 1, 1},
		{"at the point", affine(problem.Regularizer{}, [3]float64{1, 0, 1}, [3]float64{-1, 0, 1}), []float64{0, 2}, []float64{0.5, 0.5}, 1, 1},
		// 2x <= -1 and -x <= -1: g = (3, 6)/5 at x = -1/5; max g is least at x = 0, with g = (1, 1)
		{"different gradients", affine(problem.Regularizer{}, [3]float64{2, 0, 1}, [3]float64{-1, 0, 1}), []float64{5, 2},
			[]float64{1. / 3, 2. / 3}, 1, 1.2},
		{"another constraint has room", affine(problem.Regularizer{}, [3]float64{1, 0, 1}, [3]float64{-1, 0, 1}, [3]float64{0, 1, -9}), []float64{5, 2},
			[]float64{0.5, 0.5, 0}, 1, 1},
		{"ball", affine(ball, [3]float64{1, 1, 3}), []float64{0.3, -0.1}, []float64{1}, 3 - math.Sqrt2, 3 - math.Sqrt2},
		{"box", affine(box, [3]float64{1, 1, 3}), []float64{0.3, -0.1}, []float64{1}, 1, 1},
		{"pieces", abs, []float64{1, 0}, []float64{1. / 3, 1. / 3, 1. / 3}, 2. / 3, 2. / 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := search(t, testkit.New(t, test.fn, test.x))
			c := o.Certificate
			if c == nil {
				t.Fatalf("no certificate: %+v", o)
			}
			if again, err := certify.MeasureViolation(testkit.New(t, test.fn, test.x), c.X, certify.InfeasibleSettings{}); err != nil ||
				again.Relaxation != c.Relaxation || again.Stationarity != c.Stationarity || again.Radius != c.Radius || !slices.Equal(again.Values, c.Values) {
				t.Errorf("measured at the same point: %+v, %v, want %+v", again, err, c)
			}
			sum, product, most := 0.0, 0.0, 0.0
			for j, y := range c.Shares {
				sum += y
				product += y * c.Values[j]
				most = max(most, c.Values[j])
				if y < 0 || math.Abs(y-test.shares[j]) > 1e-3 {
					t.Errorf("shares %v, want %v", c.Shares, test.shares)
				}
			}
			if math.Abs(sum-1) > 1e-12 || math.Abs(product-c.Relaxation) > 1e-12 {
				t.Errorf("%+v: the shares add up to %v, and y.g is %v", c, sum, product)
			}
			if math.Abs(c.Relaxation-test.least) > 1e-3 || math.Abs(most-test.most) > 1e-3 {
				t.Errorf("relaxation %v, violation %v, want %v and %v", c.Relaxation, most, test.least, test.most)
			}
		})
	}
}

// The constraints of the library's problems can be met: no search has a certificate.
func TestFeasibleProblems(t *testing.T) {
	attained := 0
	for _, tp := range testproblems.All() {
		if tp.M == 0 {
			continue
		}
		for _, scale := range []float64{1, 3} {
			fn := testkit.FunctionsOf(tp)
			x := make([]float64, fn.N)
			for i := range x {
				x[i] = scale * tp.Start[i]
			}
			p := testkit.New(t, fn, x)
			p.Space().Project()
			o := search(t, p)
			if o.Certificate != nil {
				t.Errorf("%s, start times %v: %+v", tp.Name, scale, *o.Certificate)
			}
			if o.Attained {
				attained++
			}
		}
	}
	if attained < 40 {
		t.Errorf("the search met the constraints only %d times", attained)
	}
}

// A search proves nothing while v still falls, where the gradients vanish together, and where the
// gradients do not cancel although they are small.
func TestNoProof(t *testing.T) {
	valley := func(x float64) float64 { return 0.5 / (1 + x*x) } // falls to 0 far away
	for name, fn := range map[string]problem.Functions{
		"falls slowly": {N: 1, M: 1,
			G:         func(dst, x []float64) { dst[0] = valley(x[0]) },
			JacobianT: func(dst, x, w []float64) { dst[0] = -w[0] * x[0] / ((1 + x[0]*x[0]) * (1 + x[0]*x[0])) }},
		"constant": {N: 1, M: 1,
			G:         func(dst, _ []float64) { dst[0] = 1 },
			JacobianT: func(dst, _, _ []float64) { dst[0] = 0 }},
		"flat": {N: 1, M: 1, // as far from the class boundary as a saturated sigmoid
			G:         func(dst, x []float64) { dst[0] = 1 / (1 + math.Exp(x[0]-30)) },
			JacobianT: func(dst, x, w []float64) { s := 1 / (1 + math.Exp(x[0]-30)); dst[0] = -w[0] * s * (1 - s) }},
	} {
		fn.F, fn.Gradient = func([]float64) float64 { return 0 }, func(dst, _ []float64) { dst[0] = 0 }
		if o := search(t, testkit.New(t, fn, []float64{0.5})); o.Certificate != nil {
			t.Errorf("%s: %+v", name, *o.Certificate)
		}
	}
}

// A search in float32 has the same certificate: at the point of the sphere opposite to the row a,
// the relaxation is c - ||a||.
func TestSearchInFloat32(t *testing.T) {
	for _, row := range [][3]float64{{1, 1, 3}, {1, 0.3, 3}, {2, -0.7, 5}, {0.1, 1.1, 4}, {-0.6, 0.7, 3}} {
		fn := affine(problem.Regularizer{Kind: problem.Ball, Radius: 1}, row)
		o := search(t, testkit.NewNarrow(t, fn, []float64{0.3, -0.1}))
		if o.Certificate == nil || math.Abs(o.Certificate.Relaxation-(row[2]-math.Hypot(row[0], row[1]))) > 1e-4 {
			t.Errorf("%v: %+v", row, o)
		}
	}
}
