package rates

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestUmbrella compares Umbrella with order statistics from scipy.stats.binom.sf. Tong, Feng and Li
// give 59 rows as the smallest number for a bound of 5 % and a tail of 5 %.
func TestUmbrella(t *testing.T) {
	for _, c := range []struct {
		n           int
		bound, tail float64
		k           int
	}{
		{58, 0.05, 0.05, 0}, {59, 0.05, 0.05, 59}, {100, 0.05, 0.05, 99}, {1000, 0.05, 0.05, 962},
		{5497, 0.05, 0.05, 5249}, {500, 0.01, 0.05, 499}, {298, 0.01, 0.05, 0}, {299, 0.01, 0.05, 299},
		{100000, 0.05, 0.05, 95114}, {44, 0.05, 0.1, 0}, {45, 0.05, 0.1, 45}, {0, 0.05, 0.05, 0},
		{10, 0, 0.05, 0}, {10, 1, 0.05, 1},
	} {
		k, ok := Umbrella(c.n, c.bound, c.tail)
		if k != c.k || ok != (c.k > 0) {
			t.Errorf("n %d, bound %v, tail %v: k = %d, %v, want %d", c.n, c.bound, c.tail, k, ok, c.k)
		}
	}
}

// TestUmbrellaRows checks that umbrellaRows returns the smallest number of rows with which Umbrella
// succeeds.
func TestUmbrellaRows(t *testing.T) {
	for _, bound := range []float64{0.2, 0.1, 0.05, 0.01, 0.001} {
		for _, tail := range []float64{0.5, 0.1, 0.05, 0.01} {
			n := umbrellaRows(bound, tail)
			if _, ok := Umbrella(n, bound, tail); !ok {
				t.Errorf("bound %v, tail %v: %d rows are not enough", bound, tail, n)
			}
			if _, ok := Umbrella(n-1, bound, tail); ok {
				t.Errorf("bound %v, tail %v: %d rows are enough, not only %d", bound, tail, n-1, n)
			}
		}
	}
	if n := umbrellaRows(0.05, 0.05); n != 59 {
		t.Errorf("%d rows for 5 %% and 5 %%, want 59", n)
	}
	if n := umbrellaRows(0, 0.05); n != 0 {
		t.Errorf("%d rows for a bound of 0, want 0 (impossible)", n)
	}
}

// TestUmbrellaHolds draws scores with a fixed seed, continuous and tied, and counts the draws in
// which the share of new scores above the threshold exceeds the bound. The share of these draws is
// at most the tail, and for continuous scores it equals the exact probability. 5 standard
// deviations of 4000 draws are 1.7 percentage points.
func TestUmbrellaHolds(t *testing.T) {
	const draws, bound, tail = 4000, 0.1, 0.05
	rng := rand.New(rand.NewPCG(2, 0x756d62))
	for _, n := range []int{29, 100, 731} {
		k, ok := Umbrella(n, bound, tail)
		if !ok {
			t.Fatalf("%d rows are not enough", n)
		}
		wrong, tied := 0, 0
		scores := make([]float64, n)
		for range draws {
			for i := range scores {
				scores[i] = rng.Float64()
			}
			slices.Sort(scores)
			// A new uniform score is above the threshold with probability 1 - threshold.
			if 1-scores[k-1] > bound {
				wrong++
			}
			// Round the scores down to multiples of 1/20: a share of 1 - threshold - 0.05 is above.
			if step := math.Floor(scores[k-1]*20) / 20; 1-step-0.05 > bound+1e-12 {
				tied++
			}
		}
		exact := umbrellaTail(n, k, bound)
		if share := float64(wrong) / draws; math.Abs(share-exact) > 0.017 || exact > tail {
			t.Errorf("n %d: %v of the draws exceed the bound, want about %v <= %v", n, share, exact, tail)
		}
		if share := float64(tied) / draws; share > tail+0.017 {
			t.Errorf("n %d, tied scores: %v of the draws exceed the bound, want at most %v", n, share, tail)
		}
	}
}
