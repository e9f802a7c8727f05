package step

import (
	"math"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// The inner products of the step stay those of its vectors, through moves, rejected steps, new
// multipliers and pairs that replace the oldest ones.
func TestPairsKeepTheirInnerProducts(t *testing.T) {
	const n = 40
	fn := quadratic(n)
	base, slope := fn.F, fn.Gradient
	fn.F = func(x []float64) float64 { return base(x) + math.Cosh(x[0]+x[1]) }
	fn.Gradient = func(dst, x []float64) {
		slope(dst, x)
		dst[0] += math.Sinh(x[0] + x[1])
		dst[1] += math.Sinh(x[0] + x[1])
	}
	fn.Regularizer = problem.Regularizer{Kind: problem.Ball, Radius: 0.5}
	start := make([]float64, n)
	for i := range start {
		start[i] = math.Sin(float64(i)) / 20
	}
	p := newProblem(t, fn, start)
	at := problem.NewPoint(p)
	require.NoError(t, at.Forward(p))
	q := require.Value(NewQuasiNewton(p))(t)
	full, oldest := false, 0
	for k := range 150 {
		if k%25 == 24 {
			q.Refresh()
		}
		if _, _, err := q.Predict(p, &at, Augmented{}); err != nil {
			t.Fatal(err)
		}
		full, oldest = full || len(q.order) == pairsMost, max(oldest, q.age)
		handles, rows := q.basis(q.d, problem.Iterate)
		for i, v := range handles {
			for j, w := range handles[:i+1] {
				got, want := q.gram.At(rows[i], rows[j]), q.space.Dot(v, w)
				if size := math.Sqrt(q.space.Dot(v, v) * q.space.Dot(w, w)); math.Abs(got-want) > 1e-11*size {
					t.Fatalf("step %d: the product of rows %d and %d is %v, want %v", k, rows[i], rows[j], got, want)
				}
			}
		}
		require.Value(q.Try(p, &at, Augmented{}))(t)
	}
	if !full || oldest < iterateAge-1 {
		t.Errorf("all pairs: %v, oldest row of x: %d; the test must replace pairs and add up rows", full, oldest)
	}
}
