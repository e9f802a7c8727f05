package constraints

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
)

// TestInParts checks that the parts cover each row once, and that a panic of a part arrives.
func TestInParts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	for _, n := range []int{0, 1, leastPart, 2*leastPart + 1, 9 * leastPart} {
		seen, parts := make([]int32, n), int32(0)
		inParts(n, func(from, to int) {
			atomic.AddInt32(&parts, 1)
			for i := from; i < to; i++ {
				atomic.AddInt32(&seen[i], 1)
			}
		})
		for i, times := range seen {
			if times != 1 {
				t.Fatalf("%d rows: row %d is in %d parts", n, i, times)
			}
		}
		if want := int32(max(1, min(3, n/leastPart))); parts != want {
			t.Errorf("%d rows: %d parts, want %d", n, parts, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("the panic of a task is lost")
		}
	}()
	together(func() {}, func() { panic("a task") })
}

// TestLossesOfBoth compares with the losses of each op to the bit.
func TestLossesOfBoth(t *testing.T) {
	draws := rand.New(rand.NewPCG(7, 8))
	scores, labels := make([]float64, 2*leastPart+3), make([]int, 2*leastPart+3)
	for i := range scores {
		scores[i], labels[i] = 20*draws.NormFloat64(), 2*draws.IntN(2)-1
	}
	copy(scores, []float64{0, math.Copysign(0, -1), 800, -800, math.Inf(1), math.Inf(-1), 5e-324})
	for _, phis := range [][2]Phi{{Logistic, Sigmoid}, {Sigmoid, Logistic}, {Hinge, Sigmoid}, {Logistic, Hinge}} {
		a, err := NewSignedLoss(labels, phis[0])
		if err != nil {
			t.Fatal(err)
		}
		b, err := NewRates(len(scores), phis[1])
		if err != nil {
			t.Fatal(err)
		}
		ofA, ofB := lossesOfBoth(a, b, scores)
		wantA, wantB := signedLosses(a, scores), signedLosses(b, scores)
		for i := range scores {
			if ofA[i] != wantA[i] || ofB[i] != wantB[i] {
				t.Fatalf("%v, score %v, label %d: %v and %v, want %v and %v", phis, scores[i], labels[i], ofA[i], ofB[i], wantA[i], wantB[i])
			}
		}
	}
}
