package certify_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"ppal/internal/require"
	"ppal/internal/testkit"
	"ppal/trainer/certify"
	"ppal/trainer/problem"
)

// rates returns the problem with the bounds low <= 0.1 on the mean of sigmoid(s) over all rows and
// high >= 0.9 over the rows of a group, where s = a x of rows a that overlap.
func rates(rows int) problem.Functions {
	const n = 4
	r := rand.New(rand.NewPCG(3, 1))
	a := make([][n]float64, rows)
	for i := range a {
		for k := range n - 1 {
			a[i][k] = math.Round(r.NormFloat64()*4) / 4
			if i%2 == 0 {
				a[i][k] += 0.5
			}
		}
		a[i][n-1] = 1
	}
	sigmoid := func(x []float64, i int) float64 {
		s := 0.0
		for k, v := range a[i] {
			s += v * x[k]
		}
		return 1 / (1 + math.Exp(-s))
	}
	return problem.Functions{N: n, M: 2,
		F:        func([]float64) float64 { return 0 },
		Gradient: func(dst, _ []float64) { clear(dst) },
		G: func(dst, x []float64) {
			dst[0], dst[1] = -0.1, 0.9
			for i := range rows {
				p := sigmoid(x, i) / float64(rows)
				dst[0] += p
				if i%2 == 0 {
					dst[1] -= 2 * p
				}
			}
			for j, v := range dst {
				dst[j] = float64(float32(v))
			}
		},
		JacobianT: func(dst, x, w []float64) {
			clear(dst)
			for i := range rows {
				p := sigmoid(x, i)
				c := w[0] * p * (1 - p) / float64(rows)
				if i%2 == 0 {
					c -= 2 * w[1] * p * (1 - p) / float64(rows)
				}
				for k, v := range a[i] {
					dst[k] += c * v
				}
			}
		}}
}

// searchKinked says that the constraints may have kinks.
type feasibleKinked struct{ problem.Problem }

func (feasibleKinked) NonSmooth() bool { return true }

// Bounds on rates that conflict are proven in float32 from every start, by quasi-Newton steps to
// the rounding of the gradient, and by projected gradients, which g with kinks needs. A search that
// begins where another ended proves the conflict again, although v falls by rounding errors only.
func TestConflictOfRates(t *testing.T) {
	fn := rates(400)
	fn.Regularizer = problem.Regularizer{Kind: problem.Ball, Radius: 30}
	for seed := range 6 {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		x := make([]float64, fn.N)
		for k := range x {
			x[k] = 3 * r.NormFloat64()
		}
		for _, kinks := range []bool{false, true} {
			most, passes := 1e-4, 110
			if kinks {
				most, passes = 0.03, 300
			}
			for range 2 {
				p := testkit.NewNarrow(t, fn, x)
				if kinks {
					p = feasibleKinked{p}
				}
				o, err := certify.SearchFeasible(t.Context(), p, certify.InfeasibleSettings{Iterations: 100, Tolerance: 1e-3})
				if err != nil || o.Certificate == nil || o.Certificate.Stationarity > most || o.Evaluations > passes {
					t.Fatalf("start %d, kinks %v: %+v, %+v, %v", seed, kinks, o, o.Certificate, err)
				}
				x = o.Certificate.X
			}
		}
	}
}

// A search frees its vectors: at most two times 20 of the pairs, and five more.
func TestSearchFreesVectors(t *testing.T) {
	p := testkit.NewNarrow(t, rates(40), []float64{1, 2, 3, 4})
	for range 40 {
		require.Value(certify.SearchFeasible(t.Context(), p, certify.InfeasibleSettings{Iterations: 10}))(t)
	}
	for range 4 { // the first two may be the copy of the start and a gradient
		if v := p.Space().New(); v > 50 {
			t.Errorf("the vectors of the searches stay in memory: the next is %d", v)
		}
	}
}
