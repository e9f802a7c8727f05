package vec

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortAndOrder compares both results with a stable sort by comparisons, for numbers with ties,
// both zeros, infinities, tiny and huge values, and for a sorter that has sorted other numbers.
func TestSortAndOrder(t *testing.T) {
	draws, s := rand.New(rand.NewPCG(3, 4)), &Sorter{}
	special := []float64{0, math.Copysign(0, -1), 5e-324, -5e-324, math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.Inf(-1), 1, -1}
	for _, n := range []int{0, 1, 2, 500, 3, 500, 5000} {
		x, want := make([]float64, n), make([]int32, n)
		for i := range x {
			x[i], want[i] = draws.NormFloat64()*math.Pow(10, float64(draws.IntN(40)-20)), int32(i)
			switch draws.IntN(8) {
			case 0, 1:
				x[i] = special[draws.IntN(len(special))]
			case 2, 3:
				x[i] = float64(float32(x[i])) // a common digit
			}
		}
		slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(x[a], x[b]) })
		if got := s.Order(n, func(i int) float64 { return x[i] }); !slices.Equal(got, want) {
			t.Errorf("%d numbers are in another order than a stable sort gives", n)
		}
		sorted := slices.Sorted(slices.Values(x))
		s.Sort(x)
		if !slices.Equal(x, sorted) {
			t.Errorf("%d numbers are sorted differently from slices.Sort", n)
		}
	}
}

// TestSortSingle compares the sort of float32 numbers with slices.Sort, and checks which numbers
// count as float32.
func TestSortSingle(t *testing.T) {
	draws, s := rand.New(rand.NewPCG(5, 6)), &Sorter{}
	special := []float64{0, math.Copysign(0, -1), math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, math.MaxFloat32, -math.MaxFloat32, math.Inf(1), math.Inf(-1)}
	for _, n := range []int{0, 1, 3, 5000, 700} {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(float32(draws.NormFloat64() * math.Pow(10, float64(draws.IntN(40)-20))))
			if draws.IntN(4) == 0 {
				x[i] = special[draws.IntN(len(special))]
			}
		}
		if !single(x) {
			t.Errorf("%d numbers of float32 do not count as such", n)
		}
		want := make([]int32, n)
		for i := range want {
			want[i] = int32(i)
		}
		slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(x[a], x[b]) })
		if got := s.Order(n, func(i int) float64 { return x[i] }); !slices.Equal(got, want) {
			t.Errorf("%d numbers of float32 are in another order than a stable sort gives", n)
		}
		sorted := slices.Sorted(slices.Values(x))
		s.Sort(x)
		if !slices.Equal(x, sorted) {
			t.Errorf("%d numbers of float32 are sorted differently from slices.Sort", n)
		}
	}
	if single([]float64{1, 0.1}) || single([]float64{math.NaN()}) {
		t.Error("0.1 or NaN counts as a float32")
	}
}

func BenchmarkSort(b *testing.B) {
	x := make([]float64, 30000)
	var s Sorter
	for b.Loop() {
		draws := rand.New(rand.NewPCG(1, 2))
		for i := range x {
			x[i] = float64(float32(draws.NormFloat64()))
		}
		s.Sort(x)
	}
}
