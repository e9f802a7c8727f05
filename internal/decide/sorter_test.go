package decide

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDescending compares the radix sort with a stable sort by comparisons, for margins with ties,
// both zeros, tiny and huge values, and for a sorter that has sorted another number of moves.
func TestDescending(t *testing.T) {
	rng, s := rand.New(rand.NewPCG(3, 4)), &sorter{}
	special := []float64{0, math.Copysign(0, -1), 5e-324, -5e-324, math.MaxFloat64, -math.MaxFloat64, 1, -1}
	for _, n := range []int{0, 1, 2, 500, 3, 500, 5000} {
		moves := make([]move, n)
		for i := range moves {
			moves[i] = move{margin: rng.NormFloat64() * math.Pow(10, float64(rng.IntN(40)-20)), row: int32(i), from: int32(rng.IntN(3)), to: 1}
			if rng.IntN(4) == 0 {
				moves[i].margin = special[rng.IntN(len(special))]
			}
		}
		want := slices.Clone(moves)
		slices.SortStableFunc(want, func(a, b move) int {
			switch {
			case a.margin > b.margin:
				return -1
			case a.margin < b.margin:
				return 1
			}
			return 0
		})
		s.descending(moves)
		if !slices.Equal(moves, want) {
			t.Errorf("%d moves are in another order than a stable sort gives", n)
		}
	}
}
