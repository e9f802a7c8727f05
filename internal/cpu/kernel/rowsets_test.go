package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRowSets compares the passes with loops, on vectors of every length that end or begin at a
// guard page. The elements outside the set are NaN.
func TestRowSets(t *testing.T) {
	eachKernel(t, testRowSets[float32], testRowSets[float64])
}

func testRowSets[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	r := rand.New(rand.NewPCG(1, 2))
	eachLength(t, 1, func(v [][]F) {
		x := v[0]
		n := len(x)
		for _, lo := range []int{0, 16, 240, 5, 33} {
			set, in := NewRowSet(lo+n), make([]bool, n)
			for i := range lo {
				set.Add(i)
			}
			var want float64
			for i := range x {
				if x[i] = F(math.NaN()); r.IntN(2) == 0 {
					set.Add(lo + i)
					x[i], in[i] = F(r.IntN(9)-4), true
					want += float64(x[i])
				}
			}
			if got := k.SumWhere(x, set, lo); got != want {
				t.Fatalf("%d rows from %d on: the sum is %v, want %v", n, lo, got, want)
			}
			for i := range x {
				x[i] = F(i)
			}
			k.AddWhere(x, set, lo, 0.5)
			check(t, x, in, func(i int) float64 { return float64(i) + 0.5 })
			k.SetWhere(x, set, lo, -2)
			check(t, x, in, func(int) float64 { return -2 })
		}
	})
}

// check compares the rows in the set with want, and checks that the other rows did not change.
func check[F Float](t *testing.T, x []F, in []bool, want func(i int) float64) {
	t.Helper()
	for i, got := range x {
		expected := float64(i)
		if in[i] {
			expected = want(i)
		}
		if float64(got) != expected {
			t.Fatalf("element %d of %d is %v, want %v", i, len(x), got, expected)
		}
	}
}

// TestSum compares the sum with the dot product with a vector of ones, to the bit.
func TestSum(t *testing.T) {
	eachKernel(t, testSum[float32], testSum[float64])
}

func testSum[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	r := rand.New(rand.NewPCG(1, 2))
	eachLength(t, 1, func(v [][]F) {
		x := v[0]
		ones := make([]F, len(x))
		for i := range x {
			x[i], ones[i] = F(r.NormFloat64()), 1
		}
		if got, want := k.Sum(x), k.Dot(x, ones); got != want {
			t.Errorf("the sum is %v, want %v", got, want)
		}
	})
}
