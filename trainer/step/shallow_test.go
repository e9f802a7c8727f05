package step

import (
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// deep hides that functions have no hidden layers.
type deep struct{ problem.Problem }

// The first steps are longer without hidden layers: at most 0.1 (1 + ||x||) instead of 0.05 (1 +
// ||x||), and 0.5 (1 + ||u||) with whitened scales. With hidden layers, whitened scales allow 0.1.
func TestFirstLimit(t *testing.T) {
	p := newProblem(t, parabola(), []float64{1})
	for _, c := range []struct {
		p    problem.Problem
		want float64
	}{{p, 0.1}, {deep{p}, 0.05}, {scaledProblem{p, stretched(2)}, 0.1}, {scaledProblem{p, whitened(t, 1, 4)}, 0.5},
		{scaledProblem{deep{p}, whitened(t, 1, 4)}, 0.1}, {scaledProblem{deep{p}, stretched(2)}, 0.05}} {
		q := require.Value(NewQuasiNewton(c.p))(t)
		if q.limit != c.want || q.least != c.want {
			t.Errorf("%T: the first limit is %v and the least %v, want %v", c.p, q.limit, q.least, c.want)
		}
	}
}
