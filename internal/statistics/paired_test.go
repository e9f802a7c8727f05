package statistics

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The exact coverage of Paired, by enumeration of all outcomes, is close to the level, and the
// interval is that of the paper's formula.
func TestPairedCoverage(t *testing.T) {
	const level = 0.95
	logFactorial := func(n int) float64 { v, _ := math.Lgamma(float64(n + 1)); return v }
	mean, cases := 0.0, 0.0
	for _, n := range []int{10, 30, 100} {
		for _, p := range []float64{0.01, 0.05, 0.2, 0.4} {
			for _, q := range []float64{0.01, 0.05, 0.2, 0.4} {
				covered := 0.0
				for b := 0; b <= n; b++ {
					for c := 0; b+c <= n; c++ {
						i := Paired(b, c, n, level)
						if i.Low <= p-q && p-q <= i.High {
							rest := n - b - c
							covered += math.Exp(logFactorial(n) - logFactorial(b) - logFactorial(c) - logFactorial(rest) +
								float64(b)*math.Log(p) + float64(c)*math.Log(q) + float64(rest)*math.Log(1-p-q))
						}
					}
				}
				if covered < 0.93 {
					t.Errorf("%d rows, %v gained, %v lost: coverage %.3f", n, p, q, covered)
				}
				mean, cases = mean+covered, cases+1
			}
		}
	}
	if mean /= cases; mean < level || mean > 0.985 {
		t.Errorf("mean coverage %.4f", mean)
	}
	if i := Paired(0, 0, 8, level); math.Abs(i.High-1.959964*math.Sqrt(0.02)) > 1e-6 || i.Low != -i.High {
		t.Errorf("%+v", i)
	}
}

// PairedPrecision covers the difference of precisions of dependent decisions with about its level.
func TestPairedPrecisionCoverage(t *testing.T) {
	const level, samples, n = 0.95, 2000, 300
	rng := rand.New(rand.NewPCG(8, 3))
	// A row is positive with probability 0.4. The old model accepts positive rows with probability 0.7
	// and others with 0.2; the new one repeats the decision with probability 0.8, else draws anew with
	// 0.6 and 0.1.
	accepted := func(a, b float64) float64 { return 0.4 * a / (0.4*a + 0.6*b) }
	want := accepted(0.8*0.7+0.2*0.6, 0.8*0.2+0.2*0.1) - accepted(0.7, 0.2)
	covered := 0
	truth, old, new := make([]bool, n), make([]bool, n), make([]bool, n)
	of := func(list []bool) func(int) bool { return func(i int) bool { return list[i] } }
	for range samples {
		for i := range truth {
			truth[i] = rng.Float64() < 0.4
			first, again := 0.2, 0.1
			if truth[i] {
				first, again = 0.7, 0.6
			}
			old[i] = rng.Float64() < first
			if new[i] = old[i]; rng.Float64() < 0.2 {
				new[i] = rng.Float64() < again
			}
		}
		if i := PairedPrecision(of(truth), of(old), of(new), n, level); i.Low <= want && want <= i.High {
			covered++
		}
	}
	if share := float64(covered) / samples; share < 0.935 || share > 0.97 {
		t.Errorf("coverage %.3f", share)
	}
	if i := PairedPrecision(of(truth), of(old), of(make([]bool, n)), n, level); i != (Interval{-1, 1}) {
		t.Errorf("%+v", i)
	}
}
