package step

import (
	"math/rand/v2"
	"testing"

	"ppal/trainer/problem"
)

// BenchmarkPlan measures the part of a step on the host: the model of 20 pairs and its minimiser.
// In the three cases, nothing limits the step, the trust region cuts it, or the sphere of the ball
// limits it.
func BenchmarkPlan(b *testing.B) {
	const n = 200
	for _, c := range []struct {
		name         string
		radius, ball float64
	}{{"inner", 1e6, 1e6}, {"cut", 1e-3, 1e6}, {"sphere", 1e6, 1}} {
		b.Run(c.name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			start := make([]float64, n)
			for i := range start {
				start[i] = rng.NormFloat64() / 14
			}
			fn := problem.Functions{N: n,
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
				}}
			p, err := fn.New(start)
			if err != nil {
				b.Fatal(err)
			}
			p.Space().Regularizer = problem.Regularizer{Kind: problem.Ball, Radius: 1e6}
			q, err := NewQuasiNewton(p)
			if err != nil {
				b.Fatal(err)
			}
			at := problem.NewPoint(p)
			if err := at.Forward(p); err != nil {
				b.Fatal(err)
			}
			phi := Augmented{Multipliers: make([]float64, problem.Constraints(p)), Penalty: 1}
			for range 40 {
				if _, _, err := q.Predict(p, &at, phi); err != nil {
					b.Fatal(err)
				}
				if _, err := q.Try(p, &at, phi); err != nil {
					b.Fatal(err)
				}
			}
			if len(q.order) != pairsMost {
				b.Fatal(len(q.order), "pairs")
			}
			p.Space().Regularizer.Radius = c.ball
			q.limit = 1e9
			q.radius = c.radius
			if _, cut := q.solve(Augmented{}, nil); cut != (c.name == "cut") || q.plan.sphere != (c.name == "sphere") {
				b.Fatalf("cut %v, sphere %v", cut, q.plan.sphere)
			}
			b.ReportAllocs()
			for b.Loop() {
				q.radius = c.radius
				q.solve(Augmented{}, nil)
			}
		})
	}
}
