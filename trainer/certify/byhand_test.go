package certify

import (
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/internal/vec"
	"ppal/trainer/problem"
)

// certifierAt returns a certifier at x = (2, -1, 3) with the regularizer and the constraints
// x_0^2 + x_1 - 4.5, x_1 x_2 + 2.75, and the columns of grad f and four shares of the constraints.
func certifierAt(t *testing.T, r problem.Regularizer) (c *certifier, columns []problem.Vector, set shareSet) {
	t.Helper()
	p := require.Value(problem.Functions{N: 3, M: 2, Regularizer: r,
		F:        func(x []float64) float64 { return x[0] * x[1] },
		Gradient: func(dst, x []float64) { dst[0], dst[1], dst[2] = x[1], x[0], 0.5 },
		G:        func(dst, x []float64) { dst[0], dst[1] = x[0]*x[0]+x[1]-4.5, x[1]*x[2]+2.75 },
		JacobianT: func(dst, x, w []float64) {
			dst[0], dst[1], dst[2] = 2*x[0]*w[0], w[0]+x[2]*w[1], x[1]*w[1]
		}}.New([]float64{2, -1, 3}))(t)
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	c = &certifier{p: p, at: &at, set: Settings{}.withDefaults(p), x: []float64{2, -1, 3}, residual: make([]float64, 3),
		scratch: problem.NewScratch(p.Space())}
	for _, a := range [][]float64{{-1, 2, 0.5}, {0.5, -1, 0.25}, {-0.25, -0.5, 1}, {0.75, 0.5, -1}, {0.1, -0.6, -0.3}} {
		v := c.scratch.New()
		p.Space().Write(v, a)
		columns = append(columns, v)
	}
	return c, columns, shareSet{constraint: []int{0, 0, 1, 1}}
}

// The slope of Newton's objective is its derivative, also where a constraint has several shares.
func TestDistanceSlope(t *testing.T) {
	for _, r := range []problem.Regularizer{{}, {Kind: problem.SquaredL2, Weight: 0.3}, {Kind: problem.L1, Weight: 0.1}} {
		c, columns, set := certifierAt(t, r)
		w := &distanceModel{certifier: c, set: set, combined: make([]float64, 3), slope: make([]float64, 4), nu: make([]float64, 2)}
		for _, a := range columns {
			host := make([]float64, 3)
			c.p.Space().Read(host, a)
			w.columns = append(w.columns, host)
		}
		y := []float64{0.4, 0.7, 0.2, 0.9}
		w.Value(y)
		_, slope := w.Model(y)
		for i := range y {
			const h = 1e-5
			moved := func(by float64) float64 {
				z := append([]float64(nil), y...)
				z[i] += by
				value, _ := w.Value(z)
				return value
			}
			if want := (moved(h) - moved(-h)) / (2 * h); math.Abs(slope[i]-want) > 1e-7 {
				t.Errorf("%v: slope %d is %v, want %v", r.Kind, i, slope[i], want)
			}
		}
	}
}

// objective is ||a_0 + sum_i y_i a_i||^2 + sum_j (nu_j g_j)^2.
func objective(c *certifier, columns []problem.Vector, set shareSet, y []float64) float64 {
	sum, a, nu := make([]float64, 3), make([]float64, 3), make([]float64, 2)
	c.p.Space().Read(sum, columns[0])
	for i, share := range y {
		c.p.Space().Read(a, columns[1+i])
		for k := range sum {
			sum[k] += share * a[k]
		}
		nu[set.constraint[i]] += share
	}
	value := vec.Dot(sum, sum)
	for j, n := range nu {
		value += n * n * c.at.Constraints[j] * c.at.Constraints[j]
	}
	return value
}

// The least shares minimise the objective over shares that are not negative; Newton's steps find
// the same minimum.
func TestLeastShares(t *testing.T) {
	c, columns, set := certifierAt(t, problem.Regularizer{})
	for name, y := range map[string][]float64{"least squares": c.leastShares(set, columns), "newton": c.newton(set, columns)} {
		least := objective(c, columns, set, y)
		for i := range y {
			for _, by := range []float64{-1e-3, 1e-3} {
				z := append([]float64(nil), y[:4]...)
				if z[i] += by; z[i] >= 0 && objective(c, columns, set, z) < least {
					t.Errorf("%s: %v has %v, but %v has less", name, y, least, z)
				}
			}
		}
	}
}
