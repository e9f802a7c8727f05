package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// surrogate is a function of a margin, and its derivative.
type surrogate struct {
	name         string
	value, slope func(y float64) float64
}

func surrogates() []surrogate {
	share := func(y float64) float64 { return 1 / (1 + math.Exp(y)) }
	return []surrogate{
		{"sigmoid", share, func(y float64) float64 { return -share(y) * share(-y) }},
		{"logistic", func(y float64) float64 { return max(0, -y) + math.Log1p(math.Exp(-math.Abs(y))) }, func(y float64) float64 { return -share(y) }},
	}
}

// lists draws scores of lists with the given spread.
func lists(rng *rand.Rand, sizes []int, spread float64) (scores []float64, ends []int) {
	for _, size := range sizes {
		for range size {
			scores = append(scores, 3+spread*(rng.Float64()-0.5))
		}
		ends = append(ends, len(scores))
	}
	return scores, ends
}

// Sums and their derivatives agree with loops over the pairs, for scores that lie close together
// and far apart, at the ends of the bins, and equal.
func TestPairSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, phi := range surrogates() {
		s := NewPairSums(phi.name)
		for _, spread := range []float64{0, 0.3, 5, 20, 90, 2000} {
			scores, ends := lists(rng, []int{70, 1, 130, 40}, spread)
			for i := range 20 {
				scores[i] = math.Round(scores[i])
			}
			if !LoadScores(s, scores, ends) {
				t.Fatalf("%s, %v: refused", phi.name, spread)
			}
			v, want, d := make([]float64, 16), make([]float64, len(scores)), make([]float64, len(scores))
			start := func(b int) int { return append([]int{0}, ends...)[b] }
			for a := range 4 {
				for b := range a {
					v[4*a+b] = rng.NormFloat64()
					sum := 0.0
					for i := start(a); i < ends[a]; i++ {
						for j := start(b); j < ends[b]; j++ {
							sum += phi.value(scores[i] - scores[j])
							slope := v[4*a+b] * phi.slope(scores[i]-scores[j])
							want[i], want[j] = want[i]+slope, want[j]-slope
						}
					}
					if got := s.Sum(a, b); math.Abs(got-sum) > 1e-12*math.Max(sum, 1) {
						t.Errorf("%v, spread %v, lists %d and %d: %v, by loops %v", phi.name, spread, a, b, got, sum)
					}
				}
			}
			SetSlopes(s, d, v)
			for i := range d {
				if math.Abs(d[i]-want[i]) > 3e-11 {
					t.Errorf("%v, spread %v, slope %d: %v, by loops %v", phi.name, spread, i, d[i], want[i])
					break
				}
			}
		}
	}
}

// LoadScores refuses scores that have no bins.
func TestRefusedScores(t *testing.T) {
	s := NewPairSums("sigmoid")
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e5} {
		if LoadScores(s, []float64{0, x, 1}, []int{1, 3}) {
			t.Errorf("%v: no refusal", x)
		}
	}
	if NewPairSums("hinge") != nil {
		t.Error("a kink has no polynomial")
	}
}

func BenchmarkSums(b *testing.B) {
	for _, n := range []int{2000, 100000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			scores, ends := lists(rand.New(rand.NewPCG(1, 2)), []int{n / 4, n / 4, n / 4, n / 4}, 20)
			s, d, v := NewPairSums("sigmoid"), make([]float32, n), []float64{8: 1, 1, 12: 1, 1, 15: 0}
			for b.Loop() {
				LoadScores(s, scores, ends)
				for _, a := range []int{2, 3} {
					s.Sum(a, 0)
					s.Sum(a, 1)
				}
				SetSlopes(s, d, v)
			}
		})
	}
}
