package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/problem"
)

// Dot products with a list of vectors have the bits of single dot products. A sum of vectors equals
// a loop in float64, rounded once. The number of threads does not change the bits. Lengths are
// around one block of a sum, one chunk, and enough chunks for three threads.
func TestListsAgreeWithTheLoops(t *testing.T) {
	t.Run("float64", listsAgree[float64])
	t.Run("float32", listsAgree[float32])
}

func listsAgree[T plan.Float](t *testing.T) {
	lengths := []int{1, 3, 17, 1023, 1024, 1025, 4095, 4096, 4097, 20_001}
	if require.Racing { // shorter vectors run on one thread
		lengths = lengths[len(lengths)-1:]
	}
	for _, n := range lengths {
		for _, count := range []int{0, 1, 2, 9} {
			for _, level := range levels() {
				for threads := 1; threads <= 3; threads++ {
					on := vectorsOf[T](t, level, threads)
					for inPlace := 0; inPlace < 2 && inPlace <= count; inPlace++ {
						listsAre(t, fmt.Sprintf("n = %d, %d vectors, %v, %d threads", n, count, level, threads), on, n, count, inPlace)
					}
				}
			}
		}
	}
}

// listsAre checks the passes on with some vectors of n elements. The sum replaces the last vector
// if inPlace is 1.
func listsAre[T plan.Float](t *testing.T, name string, on problem.Passes[T], n, count, inPlace int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), uint64(count)))
	all, x := guardedVector[T](rng, n)
	vectors, coefficients, dots := make([][]T, count), make([]float64, count), make([]float64, 2*count)
	for k := range vectors {
		_, vectors[k] = guardedVector[T](rng, n)
		coefficients[k], dots[k], dots[count+k] = rng.NormFloat64(), math.NaN(), math.NaN()
		if k == 3 {
			clear(vectors[k])
		}
		if k == 5 {
			vectors[k] = vectors[4]
		}
	}
	if inPlace == 1 {
		vectors[count-1] = x
	}
	want, size := make([]float64, n), make([]float64, n)
	_, second := guardedVector[T](rng, n)
	on.Dots(dots, [][]T{x, second}, vectors)
	for k, y := range vectors {
		if want := [2]float64{on.Dot(x, y), on.Dot(second, y)}; dots[k] != want[0] || dots[count+k] != want[1] {
			t.Fatalf("%s: dot products %d are %v and %v, want %v", name, k, dots[k], dots[count+k], want)
		}
		for i, v := range y {
			want[i] += coefficients[k] * float64(v)
			size[i] += math.Abs(coefficients[k] * float64(v))
		}
	}
	before := append([]T(nil), all...)
	on.Sum(x, coefficients, vectors)
	for i, got := range x {
		// The sum in float64 may differ by fused operations, and so may the rounding.
		rounded := T(want[i])
		if e := math.Abs(float64(got) - want[i]); !(e <= 1e-15*float64(count)*size[i]+math.Abs(float64(rounded)-want[i])*(1+1e-6)) {
			t.Fatalf("%s: element %d is %v, want %v", name, i, got, rounded)
		}
	}
	for i := range 9 {
		if all[i] != before[i] || all[9+n+i] != before[9+n+i] {
			t.Fatalf("%s: the sum changed a number beside its vector", name)
		}
	}
}

// A list of many short vectors runs on as many threads as chunks, with the same bits.
func TestListsOnThreads(t *testing.T) {
	const n, count = 3 * 4096, 40
	rng := rand.New(rand.NewPCG(3, 4))
	vectors, coefficients := make([][]float32, count), make([]float64, count)
	for k := range vectors {
		_, vectors[k] = guardedVector[float32](rng, n)
		coefficients[k] = rng.NormFloat64()
	}
	var first []float32
	for threads := 1; threads <= 3; threads++ {
		sum := make([]float32, n)
		vectorsOf[float32](t, kernel.Best(), threads).Sum(sum, coefficients, vectors)
		if first == nil {
			first = sum
		}
		for i, v := range sum {
			if v != first[i] {
				t.Fatalf("%d threads: element %d is %v, want %v", threads, i, v, first[i])
			}
		}
	}
}

// NaN and Inf reach their element of the sum and their dot product, and no other.
func TestListsKeepWhatIsNotANumber(t *testing.T) {
	for _, level := range levels() {
		on := vectorsOf[float32](t, level, 2)
		for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
			for _, at := range []int{0, 1030, 9000} {
				const n = 9001
				rng := rand.New(rand.NewPCG(1, 1))
				_, x := guardedVector[float32](rng, n)
				_, y := guardedVector[float32](rng, n)
				dots, sum := make([]float64, 2), make([]float32, n)
				y[at] = float32(bad)
				on.Dots(dots, [][]float32{x}, [][]float32{x, y})
				if dots[0]-dots[0] != 0 || dots[1]-dots[1] == 0 {
					t.Errorf("%v, %v at %d: dot products %v", level, bad, at, dots)
				}
				on.Sum(sum, []float64{1, 0}, [][]float32{x, y})
				for i, v := range sum {
					if finite := v-v == 0; finite == (i == at) {
						t.Fatalf("%v, %v at %d: element %d of the sum is %v", level, bad, at, i, v)
					}
				}
			}
		}
	}
}

// Passes over lists allocate nothing after the first.
func TestListsDoNotAllocate(t *testing.T) {
	for threads := 1; threads <= 2; threads++ {
		s, d := onDevice(t, 100_000, problem.Regularizer{}, threads)
		list, numbers := []problem.Vector{d, d + 1, problem.Iterate}, make([]float64, 6)
		pass := func() {
			s.Dots(numbers, list[:2], list)
			s.Sum(d, numbers[:3], list)
		}
		pass()
		if n := testing.AllocsPerRun(20, pass); n > 0 {
			t.Errorf("%d threads: %v allocations in two passes", threads, n)
		}
	}
}

// BenchmarkLists compares passes over a list of vectors with single passes, for the lists of a
// quasi-Newton step with 20 pairs and a network of 784 x 256 x 4 in float32.
func BenchmarkLists(b *testing.B) {
	const n, count = 203_530, 40
	for _, threads := range []int{0, 1, 2} {
		name, on := "plain loops", problem.Passes[float32](nil)
		if threads > 0 {
			name, on = fmt.Sprintf("%d threads", threads), vectorsOf[float32](b, kernel.Best(), threads)
		}
		s := problem.NewHostSpaceOn(make([]float32, n), problem.Regularizer{}, on)
		list, numbers := make([]problem.Vector, count), make([]float64, count)
		for i := range list {
			list[i] = s.New()
			for j := range s.Slice(list[i]) {
				s.Slice(list[i])[j] = float32((i+j)%89-44) * 1e-3
			}
		}
		for _, c := range []struct {
			name string
			run  func()
		}{
			{"Dots", func() { s.Dots(numbers, list[:1], list) }},
			{"Dot", func() {
				for i, v := range list {
					numbers[i] = s.Dot(list[0], v)
				}
			}},
			{"Sum", func() { s.Sum(problem.Iterate, numbers, list) }},
			{"Combine", func() {
				for i, v := range list {
					s.Combine(problem.Iterate, 1, problem.Iterate, numbers[i], v)
				}
			}},
		} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.SetBytes(4 * n * count)
				for b.Loop() {
					c.run()
				}
			})
		}
	}
}
