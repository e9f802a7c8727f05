package constraints_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"ppal/constraints"
	"ppal/internal/racing"
	"ppal/internal/require"
)

// TestCountedIsLinear checks, for every rate of the language, that the counted value is the value
// of the linear form of the rate at the counted cells, that the counts of the rate give the same
// value, and that the inequalities bound this value.
func TestCountedIsLinear(t *testing.T) {
	racing.Skip(t, "it starts no goroutines")
	rng := rand.New(rand.NewPCG(7, 8))
	compared := 0
	for trial := range 100 {
		p := randomPopulation(rng)
		decisions := make([]int, p.Len())
		for i := range decisions {
			decisions[i] = rng.IntN(len(p.Classes))
		}
		for _, rate := range constraints.RateNames() {
			for _, form := range []string{"%s[c1] <= 0.4", "%s[c0, u=x] >= 0.4", "gap(%s[c1], u) <= 0.1", "ratio(%s[c1], u) >= 0.8", "excess(%s[c0], u) <= 0.1", "distance(%s[c1], u) <= 0.1"} {
				c := require.Value(constraints.Parse(fmt.Sprintf(form, rate)))(t)
				s, err := constraints.NewSystem(constraints.Error(), []constraints.Constraint{c}, p)
				if err != nil { // too few rows, or the ratio of precisions
					continue
				}
				sample := require.Value(s.On(p))(t)
				smooth := make([]float64, s.Terms()) // of losses, which decisions do not determine
				for k := range smooth {
					smooth[k] = rng.Float64()
				}
				counted := require.Value(sample.CountWith(decisions, smooth))(t)
				got := counted.Values[0]
				if linear := s.SmoothValue(0, counted.Terms); got.Defined && math.Abs(got.Value-linear) > 1e-12 {
					t.Fatalf("trial %d: %s counts %v, and its linear form is %v", trial, c, got.Value, linear)
				}
				for _, r := range got.Rates {
					if v, ok := quotient(r); rate != "loss" && ok && math.Abs(v-r.Value) > 1e-12 {
						t.Fatalf("trial %d: %s: the counts give %v: %+v", trial, c, v, r)
					}
				}
				worst := math.Inf(-1)
				for _, b := range s.Bounds {
					over := b.Constant - b.Bound
					for k, w := range b.Coefficients {
						over += w * counted.Terms[k]
					}
					worst = max(worst, over)
				}
				met := got.Value <= c.Bound()+1e-9
				if c.IsAtLeast() {
					met = got.Value >= c.Bound()-1e-9
				}
				if got.Defined && met != (worst <= 1e-9) {
					t.Fatalf("trial %d: %s is %v, and its inequalities exceed their bounds by %v", trial, c, got.Value, worst)
				}
				compared++
			}
		}
	}
	if compared < 5000 {
		t.Errorf("%d values were compared", compared)
	}
}

// quotient returns a rate from its counts. ok is false without rows.
func quotient(r constraints.CountedRate) (v float64, ok bool) {
	if r.Parts == nil {
		return float64(r.Hits) / float64(r.Rows), r.Rows > 0
	}
	v = r.Constant
	for _, p := range r.Parts {
		v += p.Coefficient * float64(p.Hits) / float64(p.Rows)
	}
	return v, r.Rows > 0
}
