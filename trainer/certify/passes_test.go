package certify

import (
	"errors"
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// counted counts the backward passes of a problem, and fails in one of them.
type counted struct {
	problem.Problem
	backward, failing int // failing counts the passes from 1; 0: none
}

var errPass = errors.New("a failed pass")

func (c *counted) Backward(coefficients []float64, d problem.Vector) error {
	if c.backward++; c.backward == c.failing {
		return errPass
	}
	return c.Problem.Backward(coefficients, d)
}

// linear is the problem with f and the terms a.x + b, given by rows (a_0, a_1, b).
func linear(f [2]float64, r problem.Regularizer, pieces []problem.Piece, terms ...[3]float64) problem.Functions {
	return problem.Functions{N: 2, M: len(terms), Regularizer: r, Pieces: pieces,
		F:        func(x []float64) float64 { return f[0]*x[0] + f[1]*x[1] },
		Gradient: func(dst, _ []float64) { copy(dst, f[:]) },
		G: func(dst, x []float64) {
			for j, a := range terms {
				dst[j] = a[0]*x[0] + a[1]*x[1] + a[2]
			}
		},
		JacobianT: func(dst, _, w []float64) {
			clear(dst)
			for j, a := range terms {
				dst[0] += w[j] * a[0]
				dst[1] += w[j] * a[1]
			}
		}}
}

// measured certifies the problem of fn at x, and counts the backward passes.
func measured(t *testing.T, fn problem.Functions, x, nu []float64, s Settings) (cert Certificate, passes int) {
	t.Helper()
	pieces := fn.Pieces
	fn.Pieces = nil
	smooth, err := fn.New(x)
	require.NoError(t, err)
	c := &counted{Problem: smooth}
	var p problem.Problem = c
	if pieces != nil {
		if p, err = problem.MakePiecewise(c, pieces); err != nil {
			t.Fatal(err)
		}
	}
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	if cert, err = Measure(p, &at, nu, s); err != nil {
		t.Fatal(err)
	}
	return cert, c.backward
}

func TestMeasureByHand(t *testing.T) {
	none := problem.Regularizer{}
	one := []problem.Piece{{Constraint: 0, Term: 1, Sign: 2, Offset: -1}, {Constraint: 0, Term: 0, Sign: 1, Offset: -9}}
	tie := []problem.Piece{{Constraint: 0, Term: 0, Sign: 1}, {Constraint: 0, Term: 0, Sign: 2}}
	many := make([][3]float64, gramLimit)
	for j := range many {
		many[j] = [3]float64{1, 0, -1}
	}
	for name, c := range map[string]struct {
		fn           problem.Functions
		x, nu        []float64
		s            Settings
		stationarity float64
		want         []float64 // the multiplier
		passes       int
	}{
		// grad f + 3*2*(0, 1), from a single pass.
		"a single active piece": {linear([2]float64{1, 0}, none, one, [3]float64{1, 0, 0}, [3]float64{0, 1, 0}),
			[]float64{0, 0.5}, []float64{3}, Settings{}, math.Sqrt(37), []float64{3}, 1},
		// |x| and |y| at 0: the shares of a constraint add up to its own multiplier.
		"two kinks": {linear([2]float64{1, -2}, none, problem.Abs(0, 0), [3]float64{1, 0, 0}, [3]float64{0, 1, 0}),
			[]float64{0, 0}, []float64{1, 2}, Settings{}, 0, []float64{1, 2}, 5},
		// The residual orthogonal to x is 1/2 + s for the difference s of the shares.
		"a kink on the sphere": {linear([2]float64{-1, 0.5}, problem.Regularizer{Kind: problem.Ball, Radius: 1}, problem.Abs(0), [3]float64{0.5, 1, -0.5}),
			[]float64{1, 0}, []float64{1}, Settings{}, 0, []float64{1}, 3},
		// Each share of 1 leaves a residual of at least 1.
		"a kink of another regularizer": {linear([2]float64{0, 0}, problem.Regularizer{Kind: problem.SquaredL2, Weight: 1}, tie, [3]float64{1, 0, 0}),
			[]float64{0, 0}, []float64{1}, Settings{}, 1, []float64{1}, 3},
		"no constraint":   {linear([2]float64{3, 4}, none, nil), []float64{0, 0}, nil, Settings{}, 5, []float64{}, 1},
		"32 constraints":  {linear([2]float64{-1, 0}, none, nil, many...), []float64{1, 0}, nil, Settings{}, 0, nil, gramLimit + 2},
		"inside the ball": {linear([2]float64{-1, -0.25}, problem.Regularizer{Kind: problem.Ball, Radius: 1}, nil, [3]float64{1, 0, -0.5}), []float64{0.5, 0.125}, nil, Settings{}, 0.25, []float64{1}, 3},
		"on the moved sphere": {linear([2]float64{-1, 0}, problem.Regularizer{Kind: problem.Ball, Radius: 2}, nil, [3]float64{1, 0.5, -1}),
			[]float64{1, 0}, nil, Settings{Sphere: 0.5}, 0, []float64{0}, 3},
	} {
		cert, passes := measured(t, c.fn, c.x, c.nu, c.s)
		if !(math.Abs(cert.Stationarity-c.stationarity) <= 1e-12) || c.want != nil && !slices.Equal(cert.Nu, c.want) || passes != c.passes {
			t.Errorf("%s: stationarity %v, want %v; nu = %v, want %v; %d passes, want %d", name, cert.Stationarity, c.stationarity,
				cert.Nu, c.want, passes, c.passes)
		}
	}
}

// The difference of the pieces is 0.1 at h = 10, and 1 at h = 1.
func TestKinkTolerance(t *testing.T) {
	for _, c := range []struct{ h, difference, kink, stationarity float64 }{
		{10, 0.125, 0.01, 0}, {10, 0.125, 0.005, 1}, {1, 1, 0.25, 0},
	} {
		pieces := []problem.Piece{{Constraint: 0, Term: 0, Sign: 1}, {Constraint: 0, Term: 1, Sign: 1, Offset: -c.difference}}
		// The first piece has the gradient 0, the second -grad f.
		fn := linear([2]float64{1, 0}, problem.Regularizer{}, pieces, [3]float64{0, 0, c.h}, [3]float64{-1, 0, c.h})
		cert, _ := measured(t, fn, []float64{0, 0}, []float64{1}, Settings{Kink: c.kink})
		if !(math.Abs(cert.Stationarity-c.stationarity) <= 1e-12) {
			t.Errorf("%+v: stationarity %v", c, cert.Stationarity)
		}
	}
}

func TestDomainTolerance(t *testing.T) {
	box := problem.Regularizer{Kind: problem.Box, Lower: 0, Upper: 1}
	for _, c := range []struct {
		x, sphere, want float64
	}{{1 + 1e-13, 0, 0}, {2, 0, 0.5}, {2, 0.5, 0}, {2, 0.25, 0.5}} {
		if cert, _ := measured(t, linear([2]float64{0, 0}, box, nil), []float64{c.x, 0}, nil, Settings{Sphere: c.sphere}); cert.Domain != c.want {
			t.Errorf("%+v: the distance to the domain %v", c, cert.Domain)
		}
	}
	if v, w := Residuals([]float64{3, -2, 4}, nil); v != 5 || w != 0 {
		t.Errorf("without a multiplier: %v and %v, want 5 and 0", v, w)
	}
}

// narrow is a problem without constraints in float32.
type narrow struct{ *problem.HostSpace[float32] }

func (narrow) Dims() (n, m int)                         { return 1, 0 }
func (narrow) Forward([]float64) (float64, error)       { return 0, nil }
func (narrow) Backward([]float64, problem.Vector) error { return nil }

func TestDefaultsOfThePrecision(t *testing.T) {
	wide := require.Value(linear([2]float64{1, 0}, problem.Regularizer{}, nil).New([]float64{0, 0}))(t)
	for _, c := range []struct {
		p       problem.Problem
		s, want Settings
	}{
		{wide, Settings{}, Settings{Sphere: 1e-12, Kink: 1e-7}},
		{narrow{problem.NewHostSpace([]float32{0}, problem.Regularizer{})}, Settings{}, Settings{Sphere: 1e-6, Kink: 1e-4}},
		{wide, Settings{Sphere: 0.5, Kink: 0.25}, Settings{Sphere: 0.5, Kink: 0.25}},
	} {
		if got := c.s.withDefaults(c.p); got != c.want {
			t.Errorf("%+v became %+v, want %+v", c.s, got, c.want)
		}
	}
}

// TestFailedPasses fails in each backward pass of Better. Better also frees all vectors.
func TestFailedPasses(t *testing.T) {
	for failing := range 5 {
		p := require.Value(linear([2]float64{-1, 0}, problem.Regularizer{}, nil, [3]float64{1, 0, -1}).New([]float64{1, 0}))(t)
		c := &counted{Problem: p, failing: failing}
		at := problem.NewPoint(p)
		require.NoError(t, at.Forward(p))
		cert, err := Better(c, &at, []float64{5}, nil, Settings{}) // 1 pass with nu, 3 without
		if (err != nil) != (failing > 0) || err != nil && !errors.Is(err, errPass) {
			t.Errorf("a failure at pass %d: %v", failing, err)
		}
		if failing == 0 {
			if c.backward != 4 || cert.Nu[0] != 1 || cert.Own.Nu[0] != 5 {
				t.Errorf("%d passes, want 4: %+v", c.backward, cert)
			}
			for range 9 {
				require.Value(Measure(p, &at, nil, Settings{}))(t)
			}
			if v := p.Space().New(); v > 9 {
				t.Errorf("the vectors of certificates stay in memory: the next is %d", v)
			}
		}
	}
}

// For a quadratic objective the first target of Newton's model is the minimiser.
func TestModelIsExact(t *testing.T) {
	c, columns, set := certifierAt(t, problem.Regularizer{})
	w := &distanceModel{certifier: c, set: set, combined: make([]float64, 3), slope: make([]float64, 4), nu: make([]float64, 2)}
	for _, a := range columns {
		host := make([]float64, 3)
		c.p.Space().Read(host, a)
		w.columns = append(w.columns, host)
	}
	y := make([]float64, 4)
	w.Value(y)
	target, _ := w.Model(y)
	if got, want := objective(c, columns, set, target), objective(c, columns, set, c.leastShares(set, columns)); !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("the model's minimum %v, want %v", got, want)
	}
}

// Without a multiplier of the method, Better is a single Measure, also far from a KKT point.
func TestBetterWithoutAMultiplier(t *testing.T) {
	p := require.Value(linear([2]float64{-1, -1}, problem.Regularizer{}, nil, [3]float64{1, 0, -1}).New([]float64{1, 0}))(t)
	c := &counted{Problem: p}
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	cert, err := Better(c, &at, nil, []float64{5}, Settings{})
	if err != nil || cert.Own != nil || cert.Stationarity != 1 || c.backward != 3 {
		t.Errorf("%+v after %d passes, want 3: %v", cert, c.backward, err)
	}
}
