package bench

import (
	"math"
	"slices"
	"testing"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/require"
)

// TestPairs checks that the passes cover all pairs, for any number of threads: the derivatives of
// each document's pairs add up to 0 over a query, and are those of a single thread.
func TestPairs(t *testing.T) {
	const queries, relevant, others = 11, 5, 9
	var want []float64
	for _, threads := range []int{1, 2, 5} {
		device := require.Value(cpu.New(kernel.Best(), threads))(t)
		defer device.Close()
		p := require.Value(NewPairs[float64](device, queries, relevant, others))(t)
		for range 2 { // the second run starts with the sums of the first run
			p.Run()
		}
		if want == nil {
			want = slices.Clone(p.d)
		}
		if !slices.Equal(p.d, want) {
			t.Errorf("%d threads: other derivatives", threads)
		}
		for q := range queries {
			d, e := p.d[q*(relevant+others):][:relevant+others], p.e[q*(relevant+others):]
			first, sum := 0.0, 0.0
			for _, y := range e[relevant:][:others] {
				first -= e[0] * y / ((e[0] + y) * (e[0] + y))
			}
			for _, v := range d {
				sum += v
			}
			if math.Abs(d[0]-first) > 1e-13 || math.Abs(sum) > 1e-12 {
				t.Errorf("query %d: the first derivative is %v, want %v; the sum is %v", q, d[0], first, sum)
			}
		}
	}
}
