package certify_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// linearFunctions is min f.x s.t. rows[j].x <= bounds[j].
func linearFunctions(f []float64, rows [][]float64, bounds []float64) problem.Functions {
	dot := func(x, y []float64) (sum float64) {
		for i, v := range x {
			sum += v * y[i]
		}
		return sum
	}
	return problem.Functions{N: len(f), M: len(rows),
		F:        func(x []float64) float64 { return dot(f, x) },
		Gradient: func(dst, _ []float64) { copy(dst, f) },
		G: func(dst, x []float64) {
			for j, a := range rows {
				dst[j] = dot(a, x) - bounds[j]
			}
		},
		JacobianT: func(dst, _, w []float64) {
			clear(dst)
			for j, a := range rows {
				for i, v := range a {
					dst[i] += w[j] * v
				}
			}
		}}
}

// From x = 0 with rho^ = 1 the constraints a.y - e + ||y||^2/2 <= 0 are discs with the centre -a
// and the squared radius ||a||^2 + 2 e. For two nearly opposite vectors a the discs intersect in a
// thin lens. The minimum of f is at a corner of the lens, with large multipliers.
func TestNearStationarityOfNearlyOppositeConstraints(t *testing.T) {
	for _, bend := range []float64{0, 0.01, 0.3} {
		for _, e := range []float64{1e-2, 1e-4} {
			a, b := [2]float64{1, bend}, [2]float64{-1, bend}
			// The corners are symmetric in the first coordinate: (0, y) with bend y - e + y^2/2 = 0. The
			// lower corner is the solution.
			want := bend + math.Sqrt(bend*bend+2*e)
			fn := linearFunctions([]float64{0, 100}, [][]float64{a[:], b[:]}, []float64{e, e})
			for form, make := range map[string]func(testing.TB, problem.Functions, []float64) problem.Problem{
				"float64": testkit.New, "float32": testkit.NewNarrow} {
				p := make(t, fn, []float64{0, 0})
				n := require.Value(certify.MeasureNear(t.Context(), p, evaluated(t, p), certify.NearSettings{RhoHat: 1}))(t)
				if n.Reason != "" || math.Abs(n.Distance-want) > math.Min(n.Error+p.Space().Roundoff(), 1e-3) {
					t.Errorf("%s, bend %v, e %v: distance %v with error %v, reason %q, want %v", form, bend, e, n.Distance, n.Error, n.Reason, want)
				}
				if nu := n.Certificate.Nu; bend == 0 && (len(nu) != 2 || nu[0] < 100 || math.Abs(nu[0]/nu[1]-1) > 1e-3) {
					t.Errorf("%s, e %v: multipliers %v, want two large equal ones", form, e, nu)
				}
			}
		}
	}
}

func euclidean(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += (v - y[i]) * (v - y[i])
	}
	return math.Sqrt(sum)
}

// The proximal problem of min ||y - p||^2/2 s.t. ||y||^2 <= 1 has two families of concentric balls.
// Its solution is the projection of (p + rho^ x)/(1 + rho^) on the ball (1 + rho^/2)||y||^2 - rho^
// x.y + (rho^/2)||x||^2 <= 1.
func TestNearStationarityOfABall(t *testing.T) {
	target := []float64{3, -1, 2}
	fn := problem.Functions{N: 3, M: 1,
		F: func(x []float64) float64 { d := euclidean(x, target); return d * d / 2 },
		Gradient: func(dst, x []float64) {
			for i, v := range x {
				dst[i] = v - target[i]
			}
		},
		G: func(dst, x []float64) { d := euclidean(x, make([]float64, 3)); dst[0] = d*d - 1 },
		JacobianT: func(dst, x, w []float64) {
			for i, v := range x {
				dst[i] = 2 * w[0] * v
			}
		}}
	for _, rho := range []float64{0.1, 1, 10} {
		for _, x := range [][]float64{{0, 0, 0}, {0.2, 0.5, 0.1}, {0.9, 0.9, 0}, {0.8017837257372732, -0.2672612419124244, 0.5345224838248488}} {
			p := testkit.New(t, fn, x)
			n := require.Value(certify.MeasureNear(t.Context(), p, evaluated(t, p), certify.NearSettings{RhoHat: rho}))(t)
			centre, free, solution := make([]float64, 3), make([]float64, 3), make([]float64, 3)
			xx, cc := 0.0, 0.0
			for i, v := range x {
				centre[i], free[i] = rho/2*v/(1+rho/2), (target[i]+rho*v)/(1+rho)
				xx, cc = xx+v*v, cc+centre[i]*centre[i]
			}
			squared := cc - (rho/2*xx-1)/(1+rho/2)
			if squared < 0 {
				if !strings.Contains(n.Reason, "infeasible") {
					t.Errorf("rho^ %v from %v: distance %v, reason %q, want it infeasible", rho, x, n.Distance, n.Reason)
				}
				continue
			}
			share := math.Min(1, math.Sqrt(squared)/euclidean(free, centre))
			for i := range solution {
				solution[i] = centre[i] + share*(free[i]-centre[i])
			}
			if want := euclidean(solution, x); n.Reason != "" || math.Abs(n.Distance-want) > 1e-6 {
				t.Errorf("rho^ %v from %v: distance %v, reason %q, want %v", rho, x, n.Distance, n.Reason, want)
			}
		}
	}
}

// The test solves problems with gaps and a curved objective under each regularizer, from feasible
// and infeasible starts. Every solution is certified to the tolerance, and a second call gives the
// same bits.
func TestNearStationarityUnderRegularizers(t *testing.T) {
	const n, gaps = 12, 40
	for name, r := range map[string]problem.Regularizer{
		"none": {}, "ball": {Kind: problem.Ball, Radius: 0.7}, "box": {Kind: problem.Box, Lower: -0.2, Upper: 0.3},
		"l1": {Kind: problem.L1, Weight: 0.1}, "l2": {Kind: problem.SquaredL2, Weight: 0.5},
		"group-l1": {Kind: problem.GroupL1, Weight: 0.2, Groups: []int{3, 7, 12}}} {
		for seed := range uint64(6) {
			rng := rand.New(rand.NewPCG(seed, 5))
			normal := func(size float64) []float64 {
				v := make([]float64, n)
				for i := range v {
					v[i] = size * rng.NormFloat64()
				}
				return v
			}
			rows, eps := make([][]float64, gaps), make([]float64, gaps)
			for j := range rows {
				rows[j], eps[j] = normal(0.5), 0.4
			}
			fn := linearFunctions(normal(1), rows, make([]float64, gaps))
			linear, gradient := fn.F, fn.Gradient
			fn.F = func(x []float64) float64 {
				sum := linear(x)
				for i, v := range x {
					sum += math.Cos(v + float64(i))
				}
				return sum
			}
			fn.Gradient = func(dst, x []float64) {
				gradient(dst, x)
				for i, v := range x {
					dst[i] -= math.Sin(v + float64(i))
				}
			}
			fn.Pieces, fn.Regularizer = problem.Abs(eps...), r
			p := testkit.New(t, fn, normal(0.1*float64(seed%3)))
			set := certify.NearSettings{RhoHat: 3}
			got := require.Value(certify.MeasureNear(t.Context(), p, evaluated(t, p), set))(t)
			c := got.Certificate
			if solved := got.Reason == ""; !solved && !strings.Contains(got.Reason, "infeasible") || solved &&
				(c.Infeasibility > 1e-7 || math.Max(c.Stationarity, c.Complementarity) > 1e-7*(1+absSum1(c.Nu)) || got.Error > 1e-3) {
				t.Errorf("%s, seed %d: %+v", name, seed, got)
			}
			if seed%3 == 0 && got.Reason != "" {
				t.Errorf("%s, seed %d: not solved from the feasible start 0: %s", name, seed, got.Reason)
			}
			again, err := certify.MeasureNear(t.Context(), p, evaluated(t, p), set)
			if err != nil || again.Distance != got.Distance && got.Reason == "" || again.Reason != got.Reason {
				t.Errorf("%s, seed %d: again %+v, %v, first %+v", name, seed, again, err, got)
			}
		}
	}
}

func absSum1(x []float64) (sum float64) {
	for _, v := range x {
		sum += math.Abs(v)
	}
	return sum
}

// The distance is undefined if rho^ does not make the proximal problem convex: f = -||x||^2 has the
// modulus of weak convexity 2.
func TestNearStationarityNeedsConvexity(t *testing.T) {
	fn := problem.Functions{N: 2,
		F:        func(x []float64) float64 { return -x[0]*x[0] - x[1]*x[1] },
		Gradient: func(dst, x []float64) { dst[0], dst[1] = -2*x[0], -2*x[1] }}
	for rho, convex := range map[float64]bool{1: false, 3: true} {
		p := testkit.Start(t, fn, 1, 1)
		n := require.Value(certify.MeasureNear(t.Context(), p, evaluated(t, p), certify.NearSettings{RhoHat: rho}))(t)
		// At rho^ = 3 the solution is 3 x.
		if got := strings.Contains(n.Reason, "at the iterate, 2:"); got == convex || convex && math.Abs(n.Distance-2*math.Sqrt2) > 1e-6 {
			t.Errorf("rho^ %v: distance %v, reason %q", rho, n.Distance, n.Reason)
		}
	}
}
