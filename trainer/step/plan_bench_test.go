package step

import (
	"math/rand/v2"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// BenchmarkPlan measures the part of a step on the host: the model of 20 pairs and its minimiser.
// Nothing limits the step, the trust region cuts it, or the sphere of the ball limits it. Two cases
// have a secant Jacobian of two constraints.
func BenchmarkPlan(b *testing.B) {
	for _, c := range []struct {
		name         string
		m            int
		radius, ball float64
	}{{"inner", 0, 1e6, 1e6}, {"cut", 0, 1e-3, 1e6}, {"sphere", 0, 1e6, 1}, {"secant-inner", 2, 1e6, 0}, {"secant-cut", 2, 1e-3, 0}} {
		b.Run(c.name, func(b *testing.B) {
			q, phi, g := planned(b, c.m, c.ball > 0)
			q.space.Regularizer.Radius = c.ball
			q.limit = 1e9
			q.radius = c.radius
			if _, cut := q.solve(phi, g); cut != (c.radius < 1) || q.plan.sphere != (c.name == "sphere") {
				b.Fatalf("cut %v, sphere %v", cut, q.plan.sphere)
			}
			b.ReportAllocs()
			for b.Loop() {
				q.radius = c.radius
				q.solve(phi, g)
			}
		})
	}
}

// planned returns a step after 40 trials on a quadratic function of 200 variables, with phi and g.
// Constraint j of m bounds the sum of every m-th variable, from the j-th on. If ball is true, the
// regularizer is a large ball.
func planned(b *testing.B, m int, ball bool) (*QuasiNewton, Augmented, []float64) {
	const n = 200
	rng := rand.New(rand.NewPCG(1, 2))
	start := make([]float64, n)
	for i := range start {
		start[i] = rng.NormFloat64() / 14
	}
	fn := problem.Functions{N: n, M: m,
		F: func(x []float64) float64 {
			f := 0.0
			for i, v := range x {
				f += float64(i+1) * (v - 1) * (v - 1) / 2
			}
			return f
		},
		Gradient: func(dst, x []float64) {
			for i, v := range x {
				dst[i] = float64(i+1) * (v - 1)
			}
		},
		G: func(dst, x []float64) {
			for j := range dst {
				dst[j] = -1
			}
			for i, v := range x {
				dst[i%m] += v / 50
			}
		},
		JacobianT: func(dst, _, w []float64) {
			for i := range dst {
				dst[i] = w[i%m] / 50
			}
		}}
	if m == 0 {
		fn.G, fn.JacobianT = nil, nil
	}
	if ball {
		fn.Regularizer = problem.Regularizer{Kind: problem.Ball, Radius: 1e6}
	}
	p := require.Value(fn.New(start))(b)
	q := require.Value(NewQuasiNewton(p))(b)
	at := problem.NewPoint(p)
	require.NoError(b, at.Forward(p))
	phi := Augmented{Multipliers: make([]float64, m), Penalty: 1}
	for range 40 {
		if _, _, err := q.Predict(p, &at, phi); err != nil {
			b.Fatal(err)
		}
		require.Value(q.Try(p, &at, phi))(b)
	}
	if len(q.order) != pairsMost || q.jacobian.on() != (m > 0) {
		b.Fatal(len(q.order), "pairs")
	}
	return q, phi, at.Constraints
}
