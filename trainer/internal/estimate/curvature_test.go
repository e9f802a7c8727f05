package estimate

import (
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// quadraticTerms is f = x'Ax/2 and h_t = x'B_t x/2 + e_t.x of two variables, A and B_t symmetric
// (a, b; b, d).
func quadraticTerms(a [3]float64, b [][3]float64, pieces []problem.Piece) problem.Functions {
	value := func(q [3]float64, x []float64) float64 {
		return q[0]*x[0]*x[0]/2 + q[1]*x[0]*x[1] + q[2]*x[1]*x[1]/2
	}
	slope := func(q [3]float64, x []float64, i int) float64 { return q[i]*x[0] + q[i+1]*x[1] }
	return problem.Functions{N: 2, M: len(b), Pieces: pieces,
		F:        func(x []float64) float64 { return value(a, x) },
		Gradient: func(dst, x []float64) { dst[0], dst[1] = slope(a, x, 0), slope(a, x, 1) },
		G: func(dst, x []float64) {
			for t, q := range b {
				dst[t] = value(q, x) + x[t%2]
			}
		},
		JacobianT: func(dst, x, w []float64) {
			clear(dst)
			for t, q := range b {
				dst[0] += w[t] * slope(q, x, 0)
				dst[1] += w[t] * slope(q, x, 1)
				dst[t%2] += w[t]
			}
		}}
}

func begun(t *testing.T, fn problem.Functions, x ...float64) (problem.Problem, *problem.Point) {
	t.Helper()
	p := require.Value(fn.New(x))(t)
	at := &problem.Point{Constraints: make([]float64, problem.Constraints(p))}
	require.NoError(t, at.Forward(p))
	return p, at
}

func TestSmoothnessOfQuadratics(t *testing.T) {
	saddle := [3]float64{1, 2, 1}                                                                                                                                       // eigenvalues 3, -1
	terms := [][3]float64{{-4, 0, 1}, {0, 0.5, 0}, {0, 0, 0}}                                                                                                           // eigenvalues of the first two terms: -4, 1; 1/2, -1/2
	absolute := problem.Abs(1, 1, 1)                                                                                                                                    // each term with both signs
	upper := []problem.Piece{{Constraint: 0, Term: 0, Sign: -1, Offset: 0}, {Constraint: 1, Term: 1, Sign: 1, Offset: 0}, {Constraint: 2, Term: 2, Sign: 1, Offset: 0}} // -h_1 <= 0 has the eigenvalues 4, -1
	for _, test := range []struct {
		name   string
		a      [3]float64
		pieces []problem.Piece
		want   Curvature
		count  int // number of gradients
	}{
		{"smooth", saddle, nil, Curvature{Weak: 4, Objective: 3, Constraint: 4}, 1 + 2*(3+3+3+2)},
		{"absolute", saddle, absolute, Curvature{Weak: 4, Objective: 3, Constraint: 4}, 1 + 2*(3+3+3+2)},
		{"negative", [3]float64{2, 0, 2}, upper, Curvature{Weak: 1, Objective: 2, Constraint: 4}, 0},
	} {
		p, at := begun(t, quadraticTerms(test.a, terms, test.pieces), 0.3, -0.8)
		before := append([]float64{}, at.Constraints...)
		s := require.Value(Curvatures(p, at, true))(t)
		for name, v := range map[string][2]float64{"modulus": {s.Weak, test.want.Weak}, "objective's curvature": {s.Objective, test.want.Objective},
			"constraints' curvature": {s.Constraint, test.want.Constraint}} {
			if math.Abs(v[0]-v[1]) > 1e-6 {
				t.Errorf("%s: the %s is %v, want %v", test.name, name, v[0], v[1])
			}
		}
		if test.count > 0 && at.GradientEvaluations != test.count {
			t.Errorf("%s: %d gradients, want %d", test.name, at.GradientEvaluations, test.count)
		}
		x := make([]float64, 2)
		p.Space().Read(x, problem.Iterate)
		if x[0] != 0.3 || x[1] != -0.8 || before[0] != at.Constraints[0] {
			t.Errorf("%s: left at %v, g = %v", test.name, x, at.Constraints)
		}
	}
}

// A function without curvature at the start shows its curvature at a distance of one. The example
// is h = sin x at 0, where the Hessian is 0.
func TestSmoothnessSeesBeyondTheStart(t *testing.T) {
	fn := problem.Functions{N: 1, M: 1,
		F: func(x []float64) float64 { return -x[0] }, Gradient: func(dst, _ []float64) { dst[0] = -1 },
		G:         func(dst, x []float64) { dst[0] = math.Sin(x[0]) },
		JacobianT: func(dst, x, w []float64) { dst[0] = w[0] * math.Cos(x[0]) }}
	p, at := begun(t, fn, 0)
	s := require.Value(Curvatures(p, at, true))(t)
	if math.Abs(s.Weak-math.Sin(1)) > 1e-4 {
		t.Errorf("the modulus is %v, want sin 1", s.Weak)
	}
}

// If f is not finite at a distance of one along the negative gradient, the estimate uses a shorter
// distance. The domain of f = -log(1/2 - x) ends at 1/2.
func TestSmoothnessStaysInTheDomain(t *testing.T) {
	fn := problem.Functions{N: 1, F: func(x []float64) float64 { return -x[0] - math.Log(0.5-x[0]) },
		Gradient: func(dst, x []float64) { dst[0] = -1 + 1/(0.5-x[0]) - 2 }}
	p, at := begun(t, fn, 0)
	s := require.Value(Curvatures(p, at, false))(t)
	want := 1 / (0.4 * 0.4) // at a distance of 0.1 along the negative gradient
	if math.Abs(s.Objective-want) > 1e-2 || at.Check() != nil {
		t.Errorf("the curvature is %v, want %v", s.Objective, want)
	}
}

// Lanczos finds the extreme eigenvalues of a Hessian with more dimensions than Lanczos steps, as
// lower estimates close to the exact values.
func TestLanczosExtremes(t *testing.T) {
	const n = 60
	fn := problem.Functions{N: n,
		F: func(x []float64) float64 {
			sum := 0.0
			for i, v := range x {
				sum += eigenvalue(i) * v * v / 2
			}
			return sum
		},
		Gradient: func(dst, x []float64) {
			for i, v := range x {
				dst[i] = eigenvalue(i) * v
			}
		}}
	p, at := begun(t, fn, make([]float64, n)...)
	s := require.Value(Curvatures(p, at, false))(t)
	if s.Objective > 10*(1+1e-6) || s.Objective < 9.5 || s.Weak > 3*(1+1e-6) || s.Weak < 2.8 {
		t.Errorf("curvature %v and modulus %v, want 10 and 3 from below", s.Objective, s.Weak)
	}
	if at.GradientEvaluations != 1+lanczosSteps+1 { // f is stationary at the start, therefore Lanczos runs at one point
		t.Errorf("%d gradients", at.GradientEvaluations)
	}
}

// eigenvalue returns 10, -3 and values between 0 and 5.
func eigenvalue(i int) float64 {
	switch i {
	case 0:
		return 10
	case 1:
		return -3
	}
	return 5 * float64(i) / 60
}

func TestJacobianNorm(t *testing.T) {
	fn := quadraticTerms([3]float64{}, make([][3]float64, 6), problem.Abs(1, 1, 1, 1, 1, 1)) // the rows are e_1 and e_2, three times each
	for _, pieces := range [][]problem.Piece{nil, fn.Pieces} {
		fn.Pieces = pieces
		p, at := begun(t, fn, 0, 0)
		norm := require.Value(Jacobian(p, at))(t)
		if math.Abs(norm-math.Sqrt(3)) > 1e-6 || at.GradientEvaluations != powerIterations {
			t.Errorf("||J|| = %v with %d gradients, want sqrt 3 with %d", norm, at.GradientEvaluations, powerIterations)
		}
	}
}

// At a kink of |h| Backward returns the subgradient 0. The bound on the slopes is not 0.
func TestBoundsAtAKink(t *testing.T) {
	fn := quadraticTerms([3]float64{}, [][3]float64{{}, {}}, []problem.Piece{{Constraint: 0, Term: 0, Sign: 3, Offset: 0}, {Constraint: 0, Term: 0, Sign: -3, Offset: 0}, {Constraint: 0, Term: 1, Sign: 0.5, Offset: -1}, {Constraint: 1, Term: 1, Sign: 1, Offset: 0}})
	p, at := begun(t, fn, 0, 0)
	bound := make([]float64, 2)
	require.NoError(t, NewTerms(p).Bounds(at, bound, p.Space().New()))
	if bound[0] != 3 || bound[1] != 1 {
		t.Errorf("bounds %v, want 3 and 1", bound)
	}
}

// Of many terms, only the largest are examined.
func TestLargestTerms(t *testing.T) {
	terms := NewTerms(manyConstraints(t))
	if got := terms.largest([]float64{1, 5, math.Inf(-1), 3, 9, 2}); len(got) != MostTerms || got[0] != 4 || got[1] != 1 || got[2] != 3 || got[3] != 5 {
		t.Errorf("the largest of the terms are %v, want 4, 1, 3, 5", got)
	}
}

func manyConstraints(t *testing.T) problem.Problem {
	p, _ := begun(t, quadraticTerms([3]float64{1, 0, 1}, make([][3]float64, 6), nil), 0, 0)
	return p
}

// With many constraints, the slopes by differences equal the slopes by gradients. Maxima take the
// branch of x.
func TestSlopesByDifferences(t *testing.T) {
	terms := [][3]float64{{1, 2, 3}, {0, 1, 0}, {-1, 0, 2}, {2, 1, 1}, {1, 1, 1}}
	pieces := append(problem.Abs(1, 1, 1, 1), problem.Piece{Constraint: 4, Term: 4, Sign: 1, Offset: 0}, problem.Piece{Constraint: 4, Term: 0, Sign: -2, Offset: 0}, problem.Piece{Constraint: 5, Term: 4, Sign: 0, Offset: -7}, problem.Piece{Constraint: 5, Term: 1, Sign: 1, Offset: 0})
	p, at := begun(t, quadraticTerms([3]float64{}, terms, pieces), 0.4, -0.7)
	s := NewSlopes(p, NewTerms(p))
	if s.rows != nil {
		t.Fatal("6 constraints have rows")
	}
	require.NoError(t, s.Start(p, at))
	want, row, weights := make([]float64, 6), p.Space().New(), make([]float64, 7)
	move := p.Space().New()
	p.Space().Write(move, []float64{0.03, -0.02})
	for j := range want {
		clear(weights)
		weights[1+j] = 1
		require.NoError(t, p.Backward(weights, row))
		want[j] = p.Space().Dot(row, move)
	}
	p.Space().Combine(problem.Iterate, 1, problem.Iterate, 1, move)
	require.NoError(t, s.Along(p))
	x := make([]float64, 2)
	p.Space().Read(x, problem.Iterate)
	if math.Abs(x[0]-0.43) > 1e-15 || math.Abs(x[1]+0.72) > 1e-15 {
		t.Errorf("the iterate is left at %v", x)
	}
	for j, slope := range s.Slope {
		if math.Abs(slope-want[j]) > 1e-9 {
			t.Errorf("the slope of constraint %d is %v, want %v", j, slope, want[j])
		}
	}
	if math.Abs(s.Length-math.Hypot(0.03, 0.02)) > 1e-12 {
		t.Errorf("the length is %v", s.Length)
	}
}
