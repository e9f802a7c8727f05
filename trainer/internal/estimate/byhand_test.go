package estimate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// line is f = 2 (x + 1)^2 and g = 3 x in one variable: L = 4 and ||J|| = 3.
func line() problem.Functions {
	return problem.Functions{N: 1, M: 1,
		F:         func(x []float64) float64 { return 2 * (x[0] + 1) * (x[0] + 1) },
		Gradient:  func(dst, x []float64) { dst[0] = 4 * (x[0] + 1) },
		G:         func(dst, x []float64) { dst[0] = 3 * x[0] },
		JacobianT: func(dst, _, w []float64) { dst[0] = 3 * w[0] },
	}
}

// counted counts the passes of a problem, and fails in one of them.
type counted struct {
	problem.Problem
	forward, backward, failing, failingForward int // the passes that fail, counted from 1; 0: none
}

var errPass = errors.New("a failed pass")

func (c *counted) Forward(g []float64) (float64, error) {
	if c.forward++; c.forward == c.failingForward {
		return 0, errPass
	}
	return c.Problem.Forward(g)
}

func (c *counted) Backward(coefficients []float64, d problem.Vector) error {
	if c.backward++; c.backward == c.failing || len(coefficients) != 1+problem.Constraints(c.Problem) {
		return errPass
	}
	return c.Problem.Backward(coefficients, d)
}

func near(x, want float64) bool { return math.Abs(x-want) <= 1e-6*(1+math.Abs(want)) }

func TestLipschitzByHand(t *testing.T) {
	gains := func(w, g []float64) { w[0] = g[0] } // grad f + J^T g = 4 (x + 1) + 9 x
	for _, c := range []struct {
		coefficients func(w, g []float64)
		want         float64
	}{{nil, 4}, {gains, 13}} {
		p, at := begun(t, line(), 2)
		smoothness, jacobian, err := estimateLipschitz(t.Context(), p, at, c.coefficients)
		if err != nil || !near(smoothness, c.want) || !near(jacobian, 3) {
			t.Errorf("L = %v, want %v; ||J|| = %v, want 3; %v", smoothness, c.want, jacobian, err)
		}
		x := []float64{0}
		if p.Space().Read(x, problem.Iterate); x[0] != 2 || at.Objective != 18 || at.Constraints[0] != 6 {
			t.Errorf("the iterate is left at %v with f = %v", x, at.Objective)
		}
	}
	fn := line()
	fn.M = 0
	p, at := begun(t, fn, 2)
	q := &counted{Problem: p}
	if smoothness, jacobian, err := estimateLipschitz(t.Context(), q, at, nil); err != nil || !near(smoothness, 4) || jacobian != 0 || q.forward != 2*powerIterations+1 {
		t.Errorf("without constraints: L = %v, ||J|| = %v, %d forward passes, %v", smoothness, jacobian, q.forward, err)
	}
	x := []float64{0}
	if p.Space().Read(x, problem.Iterate); x[0] != 2 {
		t.Errorf("without constraints the iterate is left at %v", x)
	}
	for failing := 1; failing <= 3*powerIterations; failing++ {
		p, at := begun(t, line(), 2)
		if _, _, err := estimateLipschitz(t.Context(), &counted{Problem: p, failing: failing}, at, nil); !errors.Is(err, errPass) {
			t.Errorf("a failure at pass %d: %v", failing, err)
		}
	}
	// f without curvature near x.
	fn = line()
	fn.Gradient = func(dst, x []float64) { dst[0] = math.Max(x[0], 2.5) }
	p, at = begun(t, fn, 2)
	if smoothness, _, err := estimateLipschitz(t.Context(), p, at, nil); err != nil || smoothness != 0 {
		t.Errorf("L = %v of a linear f, %v", smoothness, err)
	}
}

// With rho = 2, the bound is 0.9/(4 + 3*2*9) = 0.9/58.
func TestStepWarning(t *testing.T) {
	for _, c := range []struct {
		eta   float64
		warns bool
	}{{0.9/58 - 1e-6, false}, {0.9/58 + 1e-6, true}, {math.NaN(), true}} {
		p, at := begun(t, line(), 2)
		warnings, err := StepWarning(t.Context(), p, at, c.eta, 2, nil)
		if err != nil || (len(warnings) > 0) != c.warns {
			t.Errorf("eta = %v: %q, %v", c.eta, warnings, err)
		}
		if c.warns && !strings.Contains(warnings[0], fmt.Sprintf("%.3g", 0.9/58)) {
			t.Errorf("the warning %q does not name the bound", warnings[0])
		}
	}
	fn := line()
	fn.Gradient = func(dst, _ []float64) { dst[0] = math.NaN() }
	p, at := begun(t, fn, 2)
	if warnings, err := StepWarning(t.Context(), p, at, 1, 2, nil); err != nil || warnings != nil {
		t.Errorf("a bound of NaN: %q, %v", warnings, err)
	}
}

func TestProximityDefaults(t *testing.T) {
	for _, c := range []struct {
		rhoHat, modulus float64
		measured        Curvature
		rho, strong     float64
	}{
		{0, 0, Curvature{Weak: 2, Objective: 10}, 4, 2},
		{0, 0, Curvature{Weak: 0.125, Objective: 10}, 1, 0.875},
		{0, 0, Curvature{}, 1, 1},
		{0, 3, Curvature{Weak: 2, Objective: 10}, 6, 3},
		{5, 0, Curvature{Weak: 2, Objective: 10}, 5, 2.5},
		{5, 3, Curvature{Weak: 2, Objective: 10}, 5, 2},
	} {
		if rho, strong := Proximity(c.rhoHat, c.modulus, c.measured); rho != c.rho || strong != c.strong {
			t.Errorf("%+v: rho^ = %v, strong convexity %v", c, rho, strong)
		}
	}
	for _, c := range []struct {
		rhoHat, modulus float64
		ok              bool
	}{{-1, 0, false}, {1, -1, false}, {math.Inf(1), 0, false}, {2, 2, false}, {1, 2, false}, {2, 1, true}, {0, 3, true}, {0, 0, true}, {3, 0, true}} {
		if err := CheckProximity("x", c.rhoHat, c.modulus); (err == nil) != c.ok || err != nil && !errors.Is(err, problem.ErrSettings) {
			t.Errorf("rho^ = %v, modulus %v: %v", c.rhoHat, c.modulus, err)
		}
	}
}

// cubes are the constraints (j + 1) x^3 of one variable. At x = 1 their slopes along a move of t
// are 3 (j + 1) t.
func cubes(m int) problem.Functions {
	fn := line()
	fn.M = m
	fn.G = func(dst, x []float64) {
		for j := range dst {
			dst[j] = float64(j+1) * x[0] * x[0] * x[0]
		}
	}
	fn.JacobianT = func(dst, x, w []float64) {
		dst[0] = 0
		for j, v := range w {
			dst[0] += 3 * float64(j+1) * x[0] * x[0] * v
		}
	}
	return fn
}

func TestSlopesByHand(t *testing.T) {
	for _, m := range []int{0, MostTerms, MostTerms + 1} {
		p, at := begun(t, cubes(m), 1)
		q := &counted{Problem: p}
		s := NewSlopes(q, NewTerms(q))
		require.NoError(t, s.Start(q, at))
		gradients, forward := m, 0
		if m > MostTerms {
			gradients, forward = 0, 2
		}
		for _, move := range []float64{100, 0} {
			p.Space().Write(problem.Iterate, []float64{1 + move})
			require.NoError(t, s.Along(q))
			if s.Length != move {
				t.Errorf("the length %v, want %v", s.Length, move)
			}
			for j, slope := range s.Slope {
				if want := 3 * float64(j+1) * move; !(math.Abs(slope-want) <= 1e-6*want) {
					t.Errorf("%d constraints: the slope %v, want %v", m, slope, want)
				}
			}
		}
		if at.GradientEvaluations != gradients || q.forward != forward {
			t.Errorf("%d constraints: %d gradients and %d forward passes", m, at.GradientEvaluations, q.forward)
		}
	}
	for failing := 1; failing <= 2; failing++ {
		p, at := begun(t, cubes(MostTerms+1), 1)
		q := &counted{Problem: p, failingForward: failing}
		s := NewSlopes(q, NewTerms(q))
		require.NoError(t, s.Start(q, at))
		p.Space().Write(problem.Iterate, []float64{2})
		if err := s.Along(q); !errors.Is(err, errPass) {
			t.Errorf("a failure in pass %d: %v", failing, err)
		}
	}
	p, at := begun(t, cubes(2), 1)
	q := &counted{Problem: p, failing: 2}
	s := NewSlopes(q, NewTerms(q))
	if err := s.Start(q, at); !errors.Is(err, errPass) {
		t.Errorf("a failed pass: %v", err)
	}
}

func TestSlopesOfTies(t *testing.T) {
	pieces := []problem.Piece{{Constraint: 0, Term: 0, Sign: 1}, {Constraint: 0, Term: 0}, {Constraint: 1, Term: 1, Sign: -2}, {Constraint: 2, Term: 2, Sign: 1}}
	s := Slopes{terms: &Terms{pieces: pieces}, Slope: make([]float64, 3), h: []float64{0, 3, math.NaN()}, derivative: []float64{8, 5, 5}}
	if s.choose(); !slices.Equal(s.Slope, []float64{4, -10, 0}) {
		t.Errorf("the slopes %v, want 4 (a tie), -10 and 0 (not a number)", s.Slope)
	}
}

func TestTermsByHand(t *testing.T) {
	pieces := []problem.Piece{{Constraint: 0, Term: 2, Offset: 9}, {Constraint: 0, Term: 1, Sign: 2, Offset: 1}, {Constraint: 1, Term: 0, Sign: -2},
		{Constraint: 1, Term: 0, Sign: 1, Offset: -99}, {Constraint: 1, Term: 2, Sign: 1}}
	fn := cubes(3)
	fn.Pieces = pieces
	p, at := begun(t, fn, -1) // h = -1, -2, -3; the pieces are 9, -3, 2, -100, -3
	s := NewTerms(p)
	// The largest piece has no term. Of the pieces with the value -3 the first counts.
	if got := s.largest(at.Constraints); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("the largest terms %v", got)
	}
	for term, want := range [][2]bool{{true, true}, {true, false}, {true, false}} {
		if positive, negative := s.signs(term); [2]bool{positive, negative} != want {
			t.Errorf("the signs of term %d: %v, %v", term, positive, negative)
		}
	}
	if positive, negative := (&Terms{pieces: []problem.Piece{{Term: 5}}}).signs(5); positive || negative {
		t.Errorf("the sign 0 counts as %v, %v", positive, negative)
	}
	bound := []float64{100, 100}
	if err := s.Bounds(at, bound, p.Space().New()); err != nil || !slices.Equal(bound, []float64{2 * 6, 9}) {
		t.Errorf("the bounds %v, %v, want 12 and 9", bound, err)
	}
	q := &counted{Problem: p, failing: 1}
	if err := (&Terms{p: q, pieces: pieces[1:2], coefficients: make([]float64, 4)}).Bounds(at, bound, p.Space().New()); !errors.Is(err, errPass) {
		t.Errorf("a failed pass: %v", err)
	}
}

func TestDifferenceLength(t *testing.T) {
	p, _ := begun(t, line(), 3)
	if h := DifferenceLength(p, problem.Iterate); h != differenceLength*4 {
		t.Errorf("h = %v in float64", h)
	}
	narrow := narrowProblem{problem.NewHostSpace([]float32{3}, problem.Regularizer{})}
	if h := DifferenceLength(narrow, problem.Iterate); h != narrowDifferenceLength*4 {
		t.Errorf("h = %v in float32", h)
	}
}

// narrowProblem has a space of float32 vectors and no functions.
type narrowProblem struct{ *problem.HostSpace[float32] }

func (narrowProblem) Dims() (n, m int)                         { return 1, 0 }
func (narrowProblem) Forward([]float64) (float64, error)       { return 0, nil }
func (narrowProblem) Backward([]float64, problem.Vector) error { return nil }

// The gradient at 1 is long, and the second point is at distance 1.
func TestDisplace(t *testing.T) {
	for name, c := range map[string]struct {
		r      problem.Regularizer
		finite float64 // f and g are finite above
		moved  bool
		want   float64
	}{
		"free":         {problem.Regularizer{}, math.Inf(-1), true, 0},
		"in a box":     {problem.Regularizer{Kind: problem.Box, Lower: 0.5, Upper: 2}, math.Inf(-1), true, 0.5},
		"not finite":   {problem.Regularizer{}, 1, false, 0},
		"finite later": {problem.Regularizer{}, 0.5, true, 1 - startShrink},
	} {
		fn := line()
		fn.Gradient = func(dst, _ []float64) { dst[0] = 5000 }
		fn.Regularizer = c.r
		fn.G = func(dst, x []float64) {
			if dst[0] = 3 * x[0]; x[0] < c.finite {
				dst[0] = math.Inf(1)
			}
		}
		p, at := begun(t, fn, 1)
		e := &spectrum{p: p, at: at, terms: NewTerms(p), g: make([]float64, 1), start: p.Space().New(), base: p.Space().New()}
		p.Space().Combine(e.start, 1, problem.Iterate, 0, problem.Iterate)
		moved, err := e.displace()
		x := []float64{0}
		if p.Space().Read(x, problem.Iterate); err != nil || moved != c.moved || moved && !near(x[0], c.want) {
			t.Errorf("%s: %v to %v, %v, want %v to %v", name, moved, x, err, c.moved, c.want)
		}
	}
}

// The vectors of an estimate are free again at its end.
func TestEstimatesFreeVectors(t *testing.T) {
	p, at := begun(t, line(), 1)
	for range 9 {
		if _, _, err := estimateLipschitz(t.Context(), p, at, nil); err != nil {
			t.Fatal(err)
		}
		if norm, err := Jacobian(&counted{Problem: p}, at); err != nil || !near(norm, 3) {
			t.Fatalf("||J|| = %v, %v", norm, err)
		}
		require.Value(Curvatures(p, at, true))(t)
	}
	for range 9 { // some are freed vectors of the last estimate
		if v := p.Space().New(); v > 12 {
			t.Errorf("a new vector is number %d", v)
		}
	}
	if _, err := Jacobian(&counted{Problem: p, failing: 1}, at); !errors.Is(err, errPass) {
		t.Errorf("a failed pass: %v", err)
	}
	pw := require.Value(problem.MakePiecewise(&counted{Problem: p, failing: 1}, problem.Abs(1)))(t)
	if err := NewTerms(pw).gradient(at, 0, p.Space().New()); !errors.Is(err, errPass) {
		t.Errorf("a failed pass of terms: %v", err)
	}
}

func TestCurvaturesByHand(t *testing.T) {
	for _, c := range []struct {
		f     float64 // f = f x^2/2, g = 5 x^2
		terms bool
		want  Curvature
	}{
		{4, true, Curvature{Objective: 4, Constraint: 10}},
		{4, false, Curvature{Objective: 4}},
		{-4, false, Curvature{Weak: 4, Objective: 4}},
		{-4, true, Curvature{Weak: 4, Objective: 4, Constraint: 10}},
	} {
		fn := line()
		fn.F = func(x []float64) float64 { return c.f * x[0] * x[0] / 2 }
		fn.Gradient = func(dst, x []float64) { dst[0] = c.f * x[0] }
		fn.G = func(dst, x []float64) { dst[0] = 5 * x[0] * x[0] }
		fn.JacobianT = func(dst, x, w []float64) { dst[0] = 10 * x[0] * w[0] }
		p, at := begun(t, fn, 1)
		got, err := Curvatures(p, at, c.terms)
		if err != nil || !near(got.Weak, c.want.Weak) || !near(got.Objective, c.want.Objective) || !near(got.Constraint, c.want.Constraint) {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	p, at := begun(t, quadraticTerms([3]float64{1e-6, 0, 3e-6}, nil, nil), 1, 1)
	if got, err := Curvatures(p, at, false); err != nil || !(math.Abs(got.Objective-3e-6) < 1e-8) {
		t.Errorf("a small curvature: %+v, %v, want 3e-6", got, err)
	}
	nan := math.NaN()
	for _, c := range [][2][]float64{{nil, nil}, {{nan, 1}, {1, 1}}, {{1, nan}, {1, 1}}, {{1, 1}, {nan, 1}}, {{1, 1}, {1, math.Inf(1)}}} {
		if least, largest := tridiagonalExtremes(c[0], c[1]); least != 0 || largest != 0 {
			t.Errorf("%v: %v and %v, want zeros", c, least, largest)
		}
	}
}
