package certify_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/internal/testproblems"
	"ppal/trainer"
	"ppal/trainer/certify"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// certifyAt returns the certificate of the iterate x.
func certifyAt(t testing.TB, fn problem.Functions, x, nu []float64, s certify.Settings) certify.Certificate {
	t.Helper()
	p := testkit.New(t, fn, x)
	_, m := p.Dims()
	at := &problem.Point{Constraints: make([]float64, m)}
	var err error
	if at.Objective, err = p.Forward(at.Constraints); err != nil {
		t.Fatal(err)
	}
	c, err := certify.Measure(p, at, nu, s)
	require.NoError(t, err)
	return c
}

// Every published KKT point has a certificate of rounding size. The test tries the multipliers that
// Certify finds, and the published multipliers.
func TestPublishedPointsAreCertified(t *testing.T) {
	for _, tp := range testproblems.All() {
		t.Run(tp.Name, func(t *testing.T) {
			fn := testkit.FunctionsOf(tp)
			size := 1.0
			for _, nu := range tp.Multipliers {
				size += math.Abs(nu)
			}
			gradient := make([]float64, tp.N)
			tp.Grad(gradient, tp.Optimum)
			for _, v := range gradient {
				size += math.Abs(v)
			}
			c := certifyAt(t, fn, tp.Optimum, nil, certify.Settings{})
			if c.Epsilon > 1e-9*size || c.Domain != 0 {
				t.Errorf("x* has %+v, gradients of size %.2g", c, size)
			}
			if fn.M == tp.M && fn.Pieces == nil {
				if c := certifyAt(t, fn, tp.Optimum, tp.Multipliers, certify.Settings{}); c.Epsilon > 1e-9*size {
					t.Errorf("x* with the published multipliers has %+v", c)
				}
			}
			for j, nu := range c.Nu {
				if !(nu >= 0) {
					t.Errorf("nu_%d = %v", j, nu)
				}
			}
		})
	}
}

func TestPointsThatAreNotKKT(t *testing.T) {
	for _, test := range []struct {
		problem string
		x       []float64
		least   float64
	}{
		{"qp-one-active", []float64{0, 0}, 1},
		{"HS43", []float64{0.1, 1, 2, -1.1}, 0.1},
		{"abs-kink", []float64{3, -1, 2}, 0.1},
		{"ball-boundary", nil, 0.1},
	} {
		tp := testkit.Named(t, test.problem)
		x := test.x
		if x == nil {
			x = make([]float64, tp.N)
			x[0] = tp.Ball
			if slices.Equal(x, tp.Optimum) {
				x[0] = -tp.Ball
			}
		}
		if c := certifyAt(t, testkit.FunctionsOf(tp), x, nil, certify.Settings{}); c.Epsilon < test.least {
			t.Errorf("%s at %v: epsilon %v, want at least %v", test.problem, x, c.Epsilon, test.least)
		}
	}
}

// An inactive constraint whose gradient is parallel to grad f does not certify the point. The term
// (nu g)^2 of the objective keeps its multiplier small.
func TestInactiveConstraintIsNotLoaded(t *testing.T) {
	c := certifyAt(t, testkit.Line(), []float64{0.5}, nil, certify.Settings{}) // grad f = -2.5, grad g = 1, g = -0.5
	if want := 2.5 / (1 + 0.25); math.Abs(c.Nu[0]-want) > 1e-14 {
		t.Errorf("nu = %v, want -a.v/(a^2 + g^2) = %v", c.Nu[0], want)
	}
	if math.Abs(c.Stationarity-0.5) > 1e-14 || math.Abs(c.Complementarity-1) > 1e-14 || c.Epsilon != c.Complementarity {
		t.Errorf("%+v, want the stationarity 0.5 and the complementarity 1", c)
	}
}

func TestResidualsByHand(t *testing.T) {
	c := certifyAt(t, testkit.Line(), []float64{1.5}, []float64{2}, certify.Settings{})
	if c.Stationarity != 0.5 || c.Infeasibility != 0.5 || c.Complementarity != 1 || c.Epsilon != 1 || c.Nu[0] != 2 {
		t.Errorf("%+v", c)
	}
	if c := certifyAt(t, testkit.Line(), []float64{1}, nil, certify.Settings{}); c.Epsilon > 1e-15 || math.Abs(c.Nu[0]-2) > 1e-15 {
		t.Errorf("x* = 1 with nu = 2 has %+v", c)
	}
}

// On the sphere of radius t the multiplier of the ball is free along x. Inside the sphere the
// multiplier is 0. Outside, the certificate reports the distance to the ball.
func TestSphere(t *testing.T) {
	fn := problem.Functions{N: 2, F: func(x []float64) float64 { return -2 * x[0] },
		Gradient:    func(dst, _ []float64) { dst[0], dst[1] = -2, 0 },
		Regularizer: problem.Regularizer{Kind: problem.Ball, Radius: 3}}
	for _, test := range []struct {
		x                    []float64
		sphere               float64
		stationarity, domain float64
	}{
		{[]float64{3, 0}, 0, 0, 0},
		{[]float64{3 - 1e-6, 0}, 0, 2, 0},
		{[]float64{3 - 1e-6, 0}, 1e-6, 0, 0},
		{[]float64{-3, 0}, 0, 2, 0}, // the normal cone points away
		{[]float64{0, 3}, 0, 2, 0},
		{[]float64{3.003, 0}, 0, 0, 1e-3},
	} {
		c := certifyAt(t, fn, test.x, nil, certify.Settings{Sphere: test.sphere})
		if math.Abs(c.Stationarity-test.stationarity) > 1e-14 || math.Abs(c.Domain-test.domain) > 1e-12 {
			t.Errorf("x = %v, tolerance %v: %+v, want %+v", test.x, test.sphere, c, test)
		}
		if want := max(c.Stationarity, c.Infeasibility, c.Complementarity, c.Domain); c.Epsilon != want {
			t.Errorf("x = %v: epsilon = %v, want %v, the largest residual", test.x, c.Epsilon, want)
		}
	}
	// With a constraint, Certify finds the ball's multiplier t and nu together.
	tp := testkit.Named(t, "ball-and-plane")
	if c := certifyAt(t, testkit.FunctionsOf(tp), tp.Optimum, nil, certify.Settings{}); c.Epsilon > 1e-12 {
		t.Errorf("ball-and-plane's optimum has %+v", c)
	}
}

// kinkLine is min a x s.t. |x| <= 0.
func kinkLine(a float64) problem.Functions {
	return problem.Functions{N: 1, M: 1, Pieces: problem.Abs(0),
		F:         func(x []float64) float64 { return a * x[0] },
		Gradient:  func(dst, _ []float64) { dst[0] = a },
		G:         func(dst, x []float64) { dst[0] = x[0] },
		JacobianT: func(dst, _, w []float64) { dst[0] = w[0] },
	}
}

func TestWholeSubdifferentialAtKinks(t *testing.T) {
	for _, test := range []struct {
		name         string
		fn           problem.Functions
		x            float64
		nu           []float64
		kink         float64
		stationarity float64
	}{
		{"found", kinkLine(2), 0, nil, 0, 0},
		{"found below", kinkLine(-2), 0, nil, 0, 0},
		{"given", kinkLine(2), 0, []float64{5}, 0, 0}, // 5 [-1, 1] holds -2
		{"given, too small", kinkLine(2), 0, []float64{1.5}, 0, 0.5},
		{"given, upper", kinkLine(2), 1, []float64{1.5}, 0, 3.5},
		{"given, lower", kinkLine(2), -1, []float64{1.5}, 0, 0.5},
		{"beside the kink", kinkLine(2), 1e-6, []float64{1}, 0, 3},
		{"within the tolerance", kinkLine(2), 1e-6, []float64{1}, 1e-5, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := certifyAt(t, test.fn, []float64{test.x}, test.nu, certify.Settings{Kink: test.kink})
			if math.Abs(c.Stationarity-test.stationarity) > 1e-12 {
				t.Errorf("%+v, want the stationarity %v", c, test.stationarity)
			}
			if want := max(test.kink, 1e-7*float64(b2i(test.kink == 0))); c.KinkTolerance != want {
				t.Errorf("the certificate says a kink tolerance of %v, want %v", c.KinkTolerance, want)
			}
		})
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// max(x_1, x_2) at a tie: nu (s, 1-s) for any share s.
func TestMaximumOfTwo(t *testing.T) {
	fn := problem.Functions{N: 2, M: 2, Pieces: []problem.Piece{{Constraint: 0, Term: 0, Sign: 1}, {Constraint: 0, Term: 1, Sign: 1}},
		F:         func(x []float64) float64 { return -x[0] - 3*x[1] },
		Gradient:  func(dst, _ []float64) { dst[0], dst[1] = -1, -3 },
		G:         func(dst, x []float64) { copy(dst, x) },
		JacobianT: func(dst, _, w []float64) { copy(dst, w) },
	}
	for _, test := range []struct {
		nu   []float64
		want float64
	}{{nil, 0}, {[]float64{4}, 0}, {[]float64{2}, math.Sqrt2}, {[]float64{0}, math.Sqrt(10)}} {
		c := certifyAt(t, fn, []float64{0, 0}, test.nu, certify.Settings{})
		if math.Abs(c.Stationarity-test.want) > 1e-12 || test.nu == nil && math.Abs(c.Nu[0]-4) > 1e-12 {
			t.Errorf("nu %v: %+v, want the stationarity %v", test.nu, c, test.want)
		}
	}
	// Other regularizers use projected gradients on the product of simplices. The L1 norm of weight
	// 0.5 absorbs a part of nu.
	fn.Regularizer = problem.Regularizer{Kind: problem.L1, Weight: 0.5}
	for _, test := range []struct {
		nu   []float64
		want float64
	}{{nil, 0}, {[]float64{4}, 0}, {[]float64{3}, 0}, {[]float64{2}, math.Hypot(0.5, 0.5)}} {
		c := certifyAt(t, fn, []float64{0, 0}, test.nu, certify.Settings{})
		if math.Abs(c.Stationarity-test.want) > 1e-9 {
			t.Errorf("l1, nu %v: %+v, want the stationarity %v", test.nu, c, test.want)
		}
	}
}

// kinked marks a problem as a problem that has kinks of its own.
type kinked struct{ problem.Problem }

func (kinked) NonSmooth() bool { return true }

func TestUpperBoundLabel(t *testing.T) {
	smooth := testkit.Start(t, testkit.Line(), 1)
	at := &problem.Point{Constraints: make([]float64, 1)}
	split := func(p problem.Problem) problem.Problem {
		return require.Value(problem.MakePiecewise(p, problem.Abs(1)))(t)
	}
	for _, test := range []struct {
		p    problem.Problem
		want bool
	}{{smooth, false}, {kinked{smooth}, true}, {split(smooth), false}, {split(kinked{smooth}), true},
		{problem.Split(split(kinked{smooth}).(problem.Piecewise)), true}} {
		_, m := test.p.Dims()
		at.Constraints = make([]float64, m)
		require.Value(test.p.Forward(at.Constraints))(t)
		c, err := certify.Measure(test.p, at, nil, certify.Settings{})
		if err != nil || c.UpperBound != test.want {
			t.Errorf("%T: upper bound %v, error %v, want %v", test.p, c.UpperBound, err, test.want)
		}
	}
}

// A certificate in the middle of a run changes neither the iterate, nor the method, nor the rest of
// the run, to the bit. The cases cover every algorithm of the package.
func TestCertifyChangesNothing(t *testing.T) {
	l1 := problem.Regularizer{Kind: problem.L1, Weight: 0.1}
	for _, test := range []struct {
		name, problem string
		r             problem.Regularizer
		times         int // number of copies of each constraint
	}{
		{"least squares", "HS43", problem.Regularizer{}, 1},
		{"l1", "HS43", l1, 1},
		{"many constraints", "HS43", problem.Regularizer{}, 12},
		{"many constraints, l1", "HS43", l1, 12},
		{"pieces", "abs-two-kinks", problem.Regularizer{}, 1},
		{"ball", "ball-and-plane", problem.Regularizer{Kind: problem.Ball, Radius: 1}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			tp := testkit.Named(t, test.problem)
			fn := repeated(testkit.FunctionsOf(tp), test.times)
			fn.Regularizer = test.r
			run := func(measure bool) ([]float64, *trainer.State) {
				p, m := testkit.New(t, fn, tp.Start), &method.ALM{}
				p.Space().Prox(1, problem.Iterate)
				_, count := p.Dims()
				at := &problem.Point{Constraints: make([]float64, count)}
				var err error
				if at.Objective, err = p.Forward(at.Constraints); err != nil {
					t.Fatal(err)
				}
				require.NoError(t, m.Init(p, at))
				for k := range 20 {
					require.NoError(t, m.Iterate(p, at))
					if !measure || k%4 != 3 {
						continue
					}
					before, g := trainer.Capture(p, m), slices.Clone(at.Constraints)
					require.Value(certify.Measure(p, at, nil, certify.Settings{}))(t)
					if diff := cmp.Diff(before, trainer.Capture(p, m), cmp.Comparer(testkit.SameBits)); diff != "" || !slices.Equal(g, at.Constraints) {
						t.Fatalf("the certificate changed the state, or g from %v to %v:\n%s", g, at.Constraints, diff)
					}
				}
				return testkit.Iterate(p), trainer.Capture(p, m)
			}
			x, state := run(false)
			y, measured := run(true)
			if diff := cmp.Diff(state, measured, cmp.Comparer(testkit.SameBits)); diff != "" || !slices.Equal(x, y) {
				t.Errorf("a measured run differs:\n%s", diff)
			}
		})
	}
}

// repeated returns fn with the given number of copies of every constraint.
func repeated(fn problem.Functions, times int) problem.Functions {
	if times == 1 {
		return fn
	}
	m, g, jtw := fn.M, fn.G, fn.JacobianT
	one := make([]float64, m)
	fn.M = m * times
	fn.G = func(dst, x []float64) {
		g(one, x)
		for k := range times {
			copy(dst[k*m:], one)
		}
	}
	fn.JacobianT = func(dst, x, w []float64) {
		clear(one)
		for i, v := range w {
			one[i%m] += v
		}
		jtw(dst, x, one)
	}
	return fn
}

// Above 32 constraints, the multiplier has the smallest epsilon up to a thousandth: with every
// constraint repeated, epsilon is at most that of least squares on the original constraints.
func TestManyConstraints(t *testing.T) {
	for _, name := range []string{"HS43", "HS100", "HS113", "qp-random-50x20", "HS86"} {
		tp := testkit.Named(t, name)
		fn := testkit.FunctionsOf(tp)
		for _, at := range []string{"start", "optimum", "near"} {
			x := slices.Clone(tp.Start)
			switch at {
			case "optimum":
				copy(x, tp.Optimum)
			case "near":
				for i := range x {
					x[i] = tp.Optimum[i] + 1e-3*float64(1+i%3)
				}
			}
			few := certifyAt(t, fn, x, nil, certify.Settings{})
			many := certifyAt(t, repeated(fn, 40), x, nil, certify.Settings{})
			residual := func(c certify.Certificate) float64 { return max(c.Stationarity, c.Complementarity) }
			infeasibility := few.Infeasibility * math.Sqrt(40) // no multiplier lowers it
			if most := max(infeasibility, residual(few)) * 1.001; many.NotResolved || residual(many) > most+1e-11 {
				t.Errorf("%s at the %s: %.6g, not resolved: %v, least squares %.6g", name, at, residual(many), many.NotResolved, most)
			}
		}
	}
}
