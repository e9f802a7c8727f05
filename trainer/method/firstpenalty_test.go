package method

import (
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// layered hides that functions have no hidden layers.
type layered struct{ problem.Problem }

// The first penalty of quasi-Newton steps is 10 without hidden layers, and 1 for other problems. It
// does not grow without bound.
func TestFirstPenalty(t *testing.T) {
	for _, hides := range []bool{false, true} {
		p, at := begun(t, scaled(1, 1), 3)
		want := 10.0
		if hides {
			p, want = layered{p}, 1
		}
		m := &ALM{}
		require.NoError(t, m.Init(p, at))
		if m.c != want {
			t.Errorf("hides %v: c = %v, want %v", hides, m.c, want)
		}
		for range 100 {
			m.tighten()
		}
		if m.c < mostPenalty || m.c > 2*mostPenalty {
			t.Errorf("hides %v: the largest c is %v, want about %v", hides, m.c, float64(mostPenalty))
		}
	}
}
