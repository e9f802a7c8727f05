package constraints

import (
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"testing"

	"ppal/internal/require"
)

// TestMeanLogistic compares the mean with a sum of math.Log1p in high precision, and the rates with
// the rates of the op to the bit. The mean does not depend on the number of cores.
func TestMeanLogistic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	draws := rand.New(rand.NewPCG(7, 8))
	for _, scale := range []float64{1e-9, 0.1, 3, 20, 300} {
		for _, n := range []int{1, logisticChunk - 1, logisticChunk, logisticChunk + 1, 2*leastPart + 3} {
			scores, labels := make([]float64, n), make([]int, n)
			for i := range scores {
				scores[i], labels[i] = scale*draws.NormFloat64(), 2*draws.IntN(2)-1
			}
			checkMeanLogistic(t, scores, labels)
			for i, y := range labels { // all rows on their side: the mean is small
				scores[i] = float64(y) * math.Abs(scores[i])
			}
			checkMeanLogistic(t, scores, labels)
		}
	}
	checkMeanLogistic(t, []float64{0, math.Copysign(0, -1), 800, -800, 1e308, 5e-324}, []int{1, 1, -1, 1, 1, -1})
	// on both sides of smallExponential, alone
	for _, e := range []float64{smallExponential, math.Nextafter(smallExponential, 1), 0.0039, 1e-4, 1e-12, 1e-300} {
		checkMeanLogistic(t, []float64{-math.Log(e)}, []int{1})
	}
}

func checkMeanLogistic(t *testing.T, scores []float64, labels []int) {
	t.Helper()
	loss := require.Value(NewSignedLoss(labels, Logistic))(t)
	rate := require.Value(NewRates(len(scores), Sigmoid))(t)
	sum := new(big.Float).SetPrec(200)
	for _, l := range signedLosses(loss, scores) {
		sum.Add(sum, big.NewFloat(l))
	}
	want, _ := sum.Quo(sum, big.NewFloat(float64(len(scores)))).Float64()
	wantRates := signedLosses(rate, scores)
	// the errors of the factors 1+e that are above 1+smallExponential, and of the sums
	const tolerance = 1e-13
	first := 0.0
	for _, cores := range []int{1, 3} {
		runtime.GOMAXPROCS(cores)
		got, rates := meanLogistic(loss, rate, scores)
		if math.Abs(got-want) > tolerance*want {
			t.Errorf("%d scores such as %v: %v, want %v", len(scores), scores[0], got, want)
		}
		if cores == 1 {
			first = got
		}
		if got != first {
			t.Errorf("%d scores: %v on %d cores, %v on one", len(scores), got, cores, first)
		}
		for i := range rates {
			if rates[i] != wantRates[i] {
				t.Fatalf("rate of %v: %v, want %v", scores[i], rates[i], wantRates[i])
			}
		}
	}
}
