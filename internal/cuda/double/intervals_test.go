package double

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// After every addition, the intervals have the integers of a plain set, in order and with gaps.
func TestIntervals(t *testing.T) {
	const n = 40
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var set intervals
		var want [n]bool
		for range 12 {
			from := random.IntN(n + 1)
			to := from + random.IntN(min(8, n+1-from))
			set.add(from, to)
			for i := from; i < to; i++ {
				want[i] = true
			}
			for i, s := range set {
				if s.from >= s.to || i > 0 && s.from <= set[i-1].to {
					t.Fatalf("after %d to %d: %v", from, to, set)
				}
			}
			for from := range n + 1 {
				for to := from; to <= n; to++ {
					at := slices.Index(want[from:to], false)
					if at >= 0 {
						at += from
					}
					if have := set.missing(from, to); have != at {
						t.Fatalf("%v: %d to %d: first missing %d, want %d", set, from, to, have, at)
					}
				}
			}
		}
	}
}
