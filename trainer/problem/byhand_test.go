package problem_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer/problem"
)

// planes are f = x + 10 y with the terms 2x and 3y.
func planes() problem.Functions {
	return problem.Functions{N: 2, M: 2,
		F:         func(x []float64) float64 { return x[0] + 10*x[1] },
		Gradient:  func(dst, _ []float64) { dst[0], dst[1] = 1, 10 },
		G:         func(dst, x []float64) { dst[0], dst[1] = 2*x[0], 3*x[1] },
		JacobianT: func(dst, _, w []float64) { dst[0], dst[1] = 2*w[0], 3*w[1] },
	}
}

// backward returns the result of a backward pass of p with the coefficients.
func backward(t *testing.T, p problem.Problem, pass func([]float64, problem.Vector) error, coefficients ...float64) []float64 {
	t.Helper()
	d := p.Space().New()
	defer p.Space().Free(d)
	require.NoError(t, pass(coefficients, d))
	got := make([]float64, p.Space().Len())
	p.Space().Read(got, d)
	return got
}

func equal(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// At (3, 2) the terms tie: h = (6, 6).
func TestPiecesByHand(t *testing.T) {
	fn := planes()
	fn.Pieces = []problem.Piece{{Constraint: 0, Term: 0, Sign: 1, Offset: -1}, {Constraint: 0, Term: 1, Sign: 1, Offset: -1},
		{Constraint: 1, Term: 1, Sign: -2, Offset: 5}}
	p := testkit.Start(t, fn, 3, 2).(problem.Piecewise)
	g := make([]float64, 2)
	if f, err := p.Forward(g); err != nil || f != 23 {
		t.Errorf("f = %v, %v", f, err)
	}
	equal(t, "g", g, 5, -7)
	equal(t, "a tie", backward(t, p, p.Backward, 7, 4, 5), 7+4*1, 70+4*1.5-5*2*3)
	p.Space().Write(problem.Iterate, []float64{4, 2}) // h = (8, 6)
	require.Value(p.Forward(g))(t)
	equal(t, "a single largest piece", backward(t, p, p.Backward, 7, 4, 5), 7+4*2, 70-5*2*3)
	p.Space().Write(problem.Iterate, []float64{3, 2})
	equal(t, "terms", backward(t, p, p.BackwardTerms, 1, 2, 3), 1+2*2, 10+3*3)

	s := problem.Split(p)
	g = make([]float64, 3)
	if f, err := s.Forward(g); err != nil || f != 23 {
		t.Errorf("the smooth form has f = %v, %v", f, err)
	}
	equal(t, "g of the smooth form", g, 5, 5, -7)
	equal(t, "the smooth form", backward(t, s, s.Backward, 1, 10, 100, 1000), 1+10*2, 10+(100-2*1000)*3)

	for _, pieces := range [][]problem.Piece{{{Term: -1}}, {{Term: 2}}, {{Constraint: -1}}, {{Constraint: 1}}, {{}, {Constraint: 1}, {}}} {
		if _, err := problem.MakePiecewise(testkit.Start(t, planes(), 0, 0), pieces); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("pieces %v: %v", pieces, err)
		}
	}
}

// The centre is (1, 2), the iterate (3, 2), and rho = 4: the term is (4/2) 2^2 = 8.
func TestProximalByHand(t *testing.T) {
	p := testkit.Start(t, planes(), 1, 2)
	q := problem.NewProximal(p, 4)
	p.Space().Write(problem.Iterate, []float64{3, 2})
	g := make([]float64, 2)
	if f, err := q.Forward(g); err != nil || f != 23+8 || q.Objective != 23 {
		t.Errorf("f = %v, %v, without the term %v", f, err, q.Objective)
	}
	equal(t, "g", g, 6+8, 6+8)
	equal(t, "d", backward(t, q, q.Backward, 2, 3, 5), 2*1+3*2+4*(2+3+5)*2, 2*10+5*3)
	q.Plain = true
	if _, err := q.Forward(g); err != nil {
		t.Error(err)
	}
	equal(t, "g of the plain form", g, 6, 6)
	equal(t, "d of the plain form", backward(t, q, q.Backward, 2, 3, 5), 2*1+3*2+4*2*2, 2*10+5*3)
}

// A vector is in use at most once, and New returns freed vectors again.
func TestVectorsAreFreedOnce(t *testing.T) {
	p := testkit.Start(t, planes(), 1, 2)
	s := p.Space()
	made := func() []problem.Vector {
		vs := []problem.Vector{s.New(), s.New(), s.New(), s.New(), s.New()}
		for _, v := range vs {
			got := make([]float64, 2)
			s.Read(got, v)
			equal(t, "a new vector", got, 0, 0)
			s.Write(v, []float64{5, 6})
		}
		for _, v := range vs {
			s.Free(v)
		}
		slices.Sort(vs)
		return vs
	}
	first := made()
	q := problem.NewProximal(p, 1)
	v := q.Space().New()
	q.Space().New()
	q.Space().Free(v)
	q.Release()
	q.Release()
	if again := made(); !slices.Equal(again, first) {
		t.Errorf("after a proximal problem %v, before %v", again, first)
	}
	c := problem.NewScratch(s)
	c.New()
	c.New()
	c.Free()
	c.Free()
	if again := made(); !slices.Equal(again, first) {
		t.Errorf("after Scratch %v, before %v", again, first)
	}
}

func TestCheckNamesTheTerm(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		at         problem.Point
		term       string
		constraint int
	}{
		{problem.Point{Objective: inf}, "objective", 0},
		{problem.Point{Constraints: []float64{inf, 0}}, "constraint 1", 1},
		{problem.Point{Constraints: []float64{0, inf}}, "constraint 2", 2},
	} {
		var e *problem.NonFiniteError
		err := c.at.Check()
		if !errors.As(err, &e) || e.Term != c.term || e.Constraint != c.constraint || e.Value != inf {
			t.Errorf("%+v: %v", c, err)
		}
		if !errors.Is(err, problem.ErrNonFinite) || errors.Is(err, problem.ErrSettings) {
			t.Errorf("%v is of another kind", err)
		}
	}
	if err := (&problem.Point{Constraints: []float64{1}}).Check(); err != nil {
		t.Error(err)
	}
}

func TestFunctionsAreComplete(t *testing.T) {
	for name, change := range map[string]func(fn *problem.Functions){
		"N = 0":       func(fn *problem.Functions) { fn.N = 0 },
		"N = -1":      func(fn *problem.Functions) { fn.N = -1 },
		"M = -1":      func(fn *problem.Functions) { fn.M = -1 },
		"no f":        func(fn *problem.Functions) { fn.F = nil },
		"no gradient": func(fn *problem.Functions) { fn.Gradient = nil },
		"no g":        func(fn *problem.Functions) { fn.G = nil },
		"no Jacobian": func(fn *problem.Functions) { fn.JacobianT = nil },
		"regularizer": func(fn *problem.Functions) { fn.Regularizer = problem.Regularizer{Kind: problem.Ball} },
		"pieces":      func(fn *problem.Functions) { fn.Pieces = []problem.Piece{{Constraint: 2}} },
	} {
		fn := planes()
		change(&fn)
		if _, err := fn.New(make([]float64, max(fn.N, 0))); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := planes().New([]float64{0}); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("a start of another length: %v", err)
	}
}

func TestAffineObjectiveByHand(t *testing.T) {
	m := require.Value(problem.NewAffineMap(2, []problem.AffineRow{{Coefficients: []float64{1, 1}, Bound: 2}}))(t)
	a := require.Value(problem.NewAffine(testkit.Start(t, planes(), 3, 2), m))(t)
	if n, m := a.Dims(); n != 2 || m != 1 {
		t.Errorf("%d variables and %d constraints", n, m)
	}
	for _, c := range []struct {
		factor, want float64
		weights, d   []float64
	}{
		{1, 23, nil, []float64{2*1 + 3*2, 2*10 + 3*3}},
		{3, 69, nil, []float64{2*3 + 3*2, 2*30 + 3*3}},
		{1, 23 + 5*6 - 6, []float64{5, -1}, []float64{2*(1+5*2) + 3*2, 2*(10-3) + 3*3}},
	} {
		require.NoError(t, m.SetObjective(c.factor, c.weights))
		g := make([]float64, 1)
		if f, err := a.Forward(g); err != nil || f != c.want || g[0] != 10 {
			t.Errorf("f = %v, want %v; g = %v, %v", f, c.want, g, err)
		}
		equal(t, "d", backward(t, a, a.Backward, 2, 3), c.d...)
	}
	if err := m.SetObjective(1, []float64{math.NaN(), 0}); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("a weight of NaN: %v", err)
	}
	if _, err := problem.NewAffineMap(1, []problem.AffineRow{{Coefficients: []float64{math.NaN()}}}); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("a coefficient of NaN: %v", err)
	}
}

// failing is a problem whose passes fail.
type failing struct{ problem.Problem }

var errPass = errors.New("a failed pass")

func (failing) Forward([]float64) (float64, error)       { return 0, errPass }
func (failing) Backward([]float64, problem.Vector) error { return errPass }
func (failing) Sample(int) error                         { return errPass }

func TestErrorsOfPasses(t *testing.T) {
	p := failing{testkit.Start(t, planes(), 3, 2)}
	m := require.Value(problem.NewAffineMap(2, []problem.AffineRow{{Coefficients: []float64{1, 1}}}))(t)
	a := require.Value(problem.NewAffine(p, m))(t)
	pieces := require.Value(problem.MakePiecewise(p, problem.Abs(1, 2)))(t)
	d := p.Space().New()
	for name, q := range map[string]problem.Problem{"affine": a, "pieces": pieces, "split": problem.Split(pieces), "proximal": problem.NewProximal(p, 1)} {
		n := problem.Constraints(q)
		if _, err := q.Forward(make([]float64, n)); !errors.Is(err, errPass) {
			t.Errorf("%s: forward: %v", name, err)
		}
		if err := q.Backward(make([]float64, 1+n), d); !errors.Is(err, errPass) {
			t.Errorf("%s: backward: %v", name, err)
		}
	}
	if err := pieces.BackwardTerms(make([]float64, 3), d); !errors.Is(err, errPass) {
		t.Error(err)
	}
	at := problem.NewPoint(p)
	if err := at.SampleAndForward(testkit.Start(t, planes(), 3, 2), 1); !errors.Is(err, errPass) {
		t.Errorf("a failed sample: %v", err)
	}
}
