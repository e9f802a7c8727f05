package certify

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/internal/estimate"
	"ppal/trainer/problem"
)

// nearScalar is min f(y) s.t. g(y) <= 0 in one variable, with the derivatives.
type nearScalar struct{ f, df, g, dg func(y float64) float64 }

// course is the course of a solver: the points of its forward passes, and its end.
type course struct {
	points                []float64
	distance, beyond      float64
	iterations, backwards int
	infeasible, solved    bool
}

// follow is the moving balls method in one variable from x, written from its description.
func (s *nearScalar) follow(x, rho, strong, beyond, tolerance float64, limit int) (o course) {
	u := 0x1p-53
	f := func(y float64) float64 { return s.f(y) + rho/2*(y-x)*(y-x) }
	g := func(y float64) float64 { return s.g(y) + rho/2*(y-x)*(y-x) }
	forgiven := func(v float64) float64 { return 64 * u * (1 + math.Abs(v)) }
	forward := func(y float64) { o.points = append(o.points, y) }
	forward(x)
	y, nu, member := x, 0.0, false
	var length, c, v, a, curvature, level, d, least float64
	solve := func() {
		curvature, level, least = rho+beyond, 0, math.Inf(-1)
		if member && c > 0 {
			low := c - a*a/(2*curvature)
			level = math.Max(0, low+0.1*(c-low))
			least = c - a*a/(2*strong)
		}
		d, nu = -v/curvature, 0
		if member && c+a*d+curvature/2*d*d > level {
			root := math.Sqrt(a*a - 2*curvature*(c-level)) // the two ends of the model's interval
			low, high := (-a-root)/curvature, (-a+root)/curvature
			if d < low {
				d = low
			} else {
				d = high
			}
			nu = -(v + curvature*d) / (a + curvature*d)
		}
	}
	last := math.Inf(1)
	for k := 0; ; k++ {
		o.iterations = k
		before := v // the gradient of the Lagrangian before the step
		if member {
			before += nu * a
		}
		if g(y) > 0 {
			member = true
		}
		if o.backwards++; member {
			o.backwards++
		}
		v, a, c = s.df(y)+rho*(y-x), s.dg(y)+rho*(y-x), g(y)
		if k > 0 && length > 1000*u*(1+math.Abs(y)) {
			pull := v
			if member {
				pull += nu * a
			}
			seen := math.Abs(pull-before) / (length * (1 + nu))
			beyond = math.Max(beyond/2, 1.1*seen-rho)
		}
		solve()
		length = math.Abs(d)
		if least > tolerance {
			o.infeasible, o.beyond = true, beyond
			return o
		}
		certified := func() bool {
			o.backwards++
			stationarity, complementarity := math.Abs(v+nu*a), nu*math.Abs(c)
			return math.Max(stationarity, complementarity)/(1+nu) <= tolerance && c <= tolerance
		}
		residual := curvature * length
		if residual <= tolerance/16 || residual <= tolerance && length > last/2 {
			if certified() {
				o.solved, o.distance, o.beyond = true, math.Abs(y-x), beyond
				return o
			}
		}
		last = length
		moved := false
		for trial := 0; k < limit && trial < 100; trial++ {
			z := y + d
			forward(z)
			within, needed := true, 0.0
			compare := func(at, from, along float64) {
				if !(at <= from+along+curvature/2*d*d+forgiven(from)) {
					within = false
					if l := 2*(at-from-along)/(d*d) - rho; !math.IsInf(l, 0) && !math.IsNaN(l) {
						needed = math.Max(needed, l)
					}
				}
			}
			compare(f(z), f(y), v*d)
			if member {
				compare(g(z), c, a*d)
			}
			if !within {
				if beyond = math.Max(2*math.Max(beyond, rho/64), needed); beyond >= 1e30 {
					break
				}
				solve()
				continue
			}
			if !member && g(z) > level+forgiven(level) {
				member = true
				o.backwards++
				forward(y)
				solve()
				continue
			}
			moved = z != y
			y = z
			break
		}
		if !moved {
			forward(y)
			o.solved, o.beyond = certified(), beyond
			o.distance = math.Abs(y - x)
			return o
		}
		length = math.Abs(d)
	}
}

// traced lists the points of the forward passes, and fails in one of the passes.
type traced struct {
	problem.Problem
	points          []float64
	passes, failing int // failing counts the passes from 1; 0: none
}

func (p *traced) Forward(g []float64) (float64, error) {
	x := []float64{0}
	p.Space().Read(x, problem.Iterate)
	p.points = append(p.points, x[0])
	if p.passes++; p.passes == p.failing {
		return 0, errPass
	}
	return p.Problem.Forward(g)
}

func (p *traced) Backward(coefficients []float64, d problem.Vector) error {
	if p.passes++; p.passes == p.failing {
		return errPass
	}
	return p.Problem.Backward(coefficients, d)
}

func (s *nearScalar) at(t *testing.T, x float64) problem.Problem {
	t.Helper()
	p := require.Value(problem.Functions{N: 1, M: 1,
		F: func(x []float64) float64 { return s.f(x[0]) }, Gradient: func(dst, x []float64) { dst[0] = s.df(x[0]) },
		G:         func(dst, x []float64) { dst[0] = s.g(x[0]) },
		JacobianT: func(dst, x, w []float64) { dst[0] = w[0] * s.dg(x[0]) }}.New([]float64{x}))(t)
	return p
}

func scalars() map[string]*nearScalar {
	return map[string]*nearScalar{
		"line":    {func(y float64) float64 { return (y - 3) * (y - 3) / 2 }, func(y float64) float64 { return y - 3 }, func(y float64) float64 { return y - 1 }, func(float64) float64 { return 1 }},
		"quartic": {func(y float64) float64 { return y * y * y * y }, func(y float64) float64 { return 4 * y * y * y }, func(y float64) float64 { return y*y - 2 }, func(y float64) float64 { return 2 * y }},
		"waves":   {func(y float64) float64 { return math.Sin(2 * y) }, func(y float64) float64 { return 2 * math.Cos(2*y) }, func(y float64) float64 { return math.Cos(y) - 0.5 }, func(y float64) float64 { return -math.Sin(y) }},
		"cosh":    {func(y float64) float64 { return math.Cosh(2 * y) }, func(y float64) float64 { return 2 * math.Sinh(2*y) }, func(y float64) float64 { return 1.5 - y }, func(float64) float64 { return -1 }},
		// with rho^ = 1 from 1, the constraint is 0 everywhere, and the level is 0
		"grazing":  {func(y float64) float64 { return (y - 3) * (y - 3) / 2 }, func(y float64) float64 { return y - 3 }, func(y float64) float64 { return -(y - 1) * (y - 1) / 2 }, func(y float64) float64 { return 1 - y }},
		"nowhere":  {func(y float64) float64 { return y + math.Sqrt(-math.Abs(y-1)) }, func(float64) float64 { return 1 }, func(float64) float64 { return -1 }, func(float64) float64 { return 0 }},
		"conflict": {func(y float64) float64 { return y }, func(float64) float64 { return 1 }, func(y float64) float64 { return y*y + 1 }, func(y float64) float64 { return 2 * y }},
	}
}

// TestSolverInOneVariable compares the points of the solver with the method in one variable.
func TestSolverInOneVariable(t *testing.T) {
	solved := 0
	for name, s := range scalars() {
		for _, x := range []float64{-4, -1.3, 0, 0.25, 0.9, 1, 1.2, 1.4, 2.5, 7} {
			for _, set := range []NearSettings{{RhoHat: 1, Modulus: 0.25}, {RhoHat: 5, Modulus: 4.5}, {RhoHat: 20, Modulus: 1}} {
				if name == "grazing" && set.RhoHat != 1 {
					continue // without a multiplier
				}
				for _, beyond := range []float64{0, 3, 500} {
					for i, limit := range []int{1, 3, 60, 60, 60} {
						set.Tolerance, set.Iterations = []float64{1e-5, 1e-5, 1e-5, 0.03, 0.4}[i], limit
						n := newNearSolver(s.at(t, x), set, estimate.Curvature{Objective: beyond})
						p := &traced{Problem: n.q.Problem}
						n.q.Problem = p
						got := require.Value(n.run(t.Context()))(t)
						want := s.follow(x, set.RhoHat, n.strong, beyond, set.Tolerance, limit)
						same := slices.EqualFunc(p.points, want.points, func(x, y float64) bool { return math.Abs(x-y) <= 1e-6*(1+math.Abs(y)) })
						if !same || got.Iterations != want.iterations || p.passes-len(p.points) != want.backwards || (got.Reason == "") != want.solved || !(math.Abs(n.beyond-want.beyond) <= 1e-3*(1+want.beyond)) ||
							want.solved && !(math.Abs(got.Distance-want.distance) <= 1e-7) {
							t.Errorf("%s from %v, rho^ %v, l %v, limit %d:\n%v after %d, l %v, %v, %q, want\n%v after %d, l %v, %v, %v", name, x, set.RhoHat, beyond, limit,
								p.points, got.Iterations, n.beyond, got.Distance, got.Reason, want.points, want.iterations, want.beyond, want.distance, want.solved)
						}
						if want.solved {
							solved++
						}
					}
				}
			}
		}
	}
	if solved < 150 {
		t.Errorf("%d problems solved, want at least 150", solved)
	}
}

// Each failed pass ends the measurement with the error. The iterate and the vectors are as before.
func TestMeasureFails(t *testing.T) {
	run := func(n int) (*traced, Stationarity, error) {
		p := &traced{Problem: scalars()["quartic"].at(t, 1.2), failing: n}
		at := problem.NewPoint(p)
		require.NoError(t, at.Forward(p.Problem))
		r, err := MeasureNear(t.Context(), p, &at, NearSettings{})
		return p, r, err
	}
	whole, r, err := run(0)
	if err != nil || r.Reason != "" || r.Iterations == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	for n := 1; n <= whole.passes; n++ {
		p, r, err := run(n)
		if !errors.Is(err, errPass) || r.Distance != 0 {
			t.Errorf("a failure in pass %d of %d: %+v, %v", n, whole.passes, r, err)
		}
		if v := p.Space().New(); v > 7 {
			t.Errorf("a failure in pass %d: the next vector is %d", n, v)
		}
	}
}

// The same failures of a run that ends at its limit: the last pass is at the last point.
func TestConcludeFails(t *testing.T) {
	s := scalars()["quartic"]
	run := func(n int) (*traced, Stationarity, error) {
		solver := newNearSolver(s.at(t, 1.2), NearSettings{RhoHat: 5, Iterations: 1}, estimate.Curvature{})
		p := &traced{Problem: solver.q.Problem, failing: n}
		solver.q.Problem = p
		r, err := solver.run(t.Context())
		return p, r, err
	}
	whole, r, err := run(0)
	if err != nil || !strings.Contains(r.Reason, "was not solved: epsilon is") || !strings.HasSuffix(r.Reason, "after 1 iterations") || r.Iterations != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	for n := 1; n <= whole.passes; n++ {
		if _, r, err := run(n); !errors.Is(err, errPass) || r.Reason != "" {
			t.Errorf("a failure in pass %d of %d: %+v, %v", n, whole.passes, r, err)
		}
	}
}

// The modulus of strong convexity is rho^ minus the larger of the setting and the estimate. Maxima
// are in split form. The default of the limit is 500.
func TestNewSolverByHand(t *testing.T) {
	line := scalars()["line"]
	n := newNearSolver(line.at(t, 0), NearSettings{RhoHat: 2, Modulus: 0.25}, estimate.Curvature{Weak: 0.5, Objective: 3, Constraint: 4})
	if n.strong != 1.5 || n.rho != 2 || n.beyond != 4 || n.limit != DefaultNearIterations || len(n.values) != 1 {
		t.Errorf("%+v", n)
	}
	n = newNearSolver(line.at(t, 0), NearSettings{RhoHat: 2, Modulus: 0.75, Iterations: 7}, estimate.Curvature{Weak: 0.5, Objective: 3, Constraint: 2})
	if n.strong != 1.25 || n.beyond != 3 || n.limit != 7 {
		t.Errorf("%+v", n)
	}
	fn := problem.Functions{N: 1, M: 1, Pieces: problem.Abs(1), F: func([]float64) float64 { return 0 }, Gradient: func(dst, _ []float64) { dst[0] = 0 },
		G: func(dst, x []float64) { dst[0] = x[0] }, JacobianT: func(dst, _, w []float64) { dst[0] = w[0] }}
	p := require.Value(fn.New([]float64{0}))(t)
	if n := newNearSolver(p, NearSettings{RhoHat: 2}, estimate.Curvature{}); len(n.values) != 2 || len(n.coefficients) != 3 {
		t.Errorf("|x| <= 1 has %d constraints in split form", len(n.values))
	}
}

// A rho^ of exactly the estimated modulus of weak convexity is too small.
func TestMeasureNeedsMoreThanTheModulus(t *testing.T) {
	s := &nearScalar{func(y float64) float64 { return -y * y }, func(y float64) float64 { return -2 * y }, func(float64) float64 { return -1 }, func(float64) float64 { return 0 }}
	p := s.at(t, 1)
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	nearMeasured := require.Value(estimate.Curvatures(p, &at, true))(t)
	r, err := MeasureNear(t.Context(), p, &at, NearSettings{RhoHat: nearMeasured.Weak})
	if err != nil || !strings.Contains(r.Reason, "at most the modulus of weak convexity") || !math.IsNaN(r.Distance) {
		t.Errorf("%+v, %v", r, err)
	}
}

// The accuracy is the tolerance, or the rounding error 128 u (1 + ||v|| + max ||a_j||) + 16 u s
// ||y||, at least 1e-7. The certificate divides the stationarity by 1 + ||nu||_1.
func TestAccuracyByHand(t *testing.T) {
	n := newNearSolver(scalars()["line"].at(t, 0), NearSettings{RhoHat: 2}, estimate.Curvature{})
	u := n.q.Space().Roundoff()
	n.model = lineModel(problem.Regularizer{}, -3e9, 4e9, 5, 0, [2]float64{0, -2e10}, [2]float64{0, 1e10})
	if got, want := n.accuracy(), u*(128*(1+4e9+2e10)+16*5*3e9); !closeTo(got, want) || want < 2e-7 {
		t.Errorf("accuracy %v, want %v", got, want)
	}
	n.model = lineModel(problem.Regularizer{}, 3, 4, 5, 0)
	if got := n.accuracy(); got != DefaultNearTolerance {
		t.Errorf("accuracy %v, want %v", got, DefaultNearTolerance)
	}
	n.tolerance = 1e-12
	if got := n.accuracy(); got != 1e-12 {
		t.Errorf("accuracy %v, want 1e-12", got)
	}
}

// At y = 1.5, min y^2/2 s.t. y <= 1 with the multiplier 1 has the stationarity 2.5, the
// complementarity 0.5 and the infeasibility 0.5. 2.5/(1 + 1) is the largest number that counts.
func TestCertifyByHand(t *testing.T) {
	s := &nearScalar{func(y float64) float64 { return y * y / 2 }, func(y float64) float64 { return y }, func(y float64) float64 { return y - 1 }, func(float64) float64 { return 1 }}
	for _, c := range []struct {
		y, nu, tolerance float64
		want             bool
	}{{1.5, 1, 1.25, true}, {1.5, 1, 1.249, false}, {1.5, -1.5, 0.5, true}, {1.5, -1.5, 0.499, false}, {-3, 3, 3, true}, {-3, 3, 2.999, false}} {
		n := newNearSolver(s.at(t, c.y), NearSettings{RhoHat: 2, Tolerance: c.tolerance}, estimate.Curvature{})
		n.working, n.multipliers = []int{0}, []float64{c.nu}
		require.NoError(t, n.at.Forward(n.q))
		result := Stationarity{Distance: -1}
		got, err := n.certify(&result)
		if err != nil || got != c.want || (result.Distance == 0) != c.want || result.Certificate.Nu[0] != c.nu {
			t.Errorf("%+v: %v, %+v, error %v", c, got, result, err)
		}
	}
}
