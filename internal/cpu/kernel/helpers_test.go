package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"ppal/internal/require"
)

// alone is the reason why the race detector does not run the tests of the kernels. The tests of
// internal/cpu run every kernel with the detector.
const alone = "a kernel starts no goroutine; TestProductsConcurrent runs kernels on several"

// canary fills memory that a kernel must not touch.
const canary = 12345.5

// eachLevel runs a test at every level of this machine.
func eachLevel(t *testing.T, test func(t *testing.T, level Level)) {
	t.Helper()
	require.NoRace(t, alone)
	for _, level := range Levels() {
		t.Run(level.String(), func(t *testing.T) { test(t, level) })
	}
}

// eachKernel runs a test of both types at every level of this machine.
func eachKernel(t *testing.T, single, double func(t *testing.T, level Level)) {
	eachLevel(t, func(t *testing.T, level Level) {
		t.Run("float32", func(t *testing.T) { single(t, level) })
		t.Run("float64", func(t *testing.T) { double(t, level) })
	})
}

// bothWide runs a test of both types that compares AVX2 with AVX-512, if the machine has both.
func bothWide(t *testing.T, single, double func(t *testing.T)) {
	t.Helper()
	require.NoRace(t, alone)
	if !AVX512.Supported() {
		t.Skip("needs AVX-512")
	}
	t.Run("float32", single)
	t.Run("float64", double)
}

// sameBits compares the results of AVX2 with those of AVX-512. A NaN equals every other NaN.
func sameBits[F Float](t *testing.T, run func(k *Kernels[F]) []float64) {
	t.Helper()
	avx2, avx512 := run(mustNew[F](t, AVX2)), run(mustNew[F](t, AVX512))
	for i, v := range avx2 {
		if v != avx512[i] && !(math.IsNaN(v) && math.IsNaN(avx512[i])) {
			t.Fatalf("result %d: AVX2 %v, AVX-512 %v", i, v, avx512[i])
		}
	}
}

// wide returns the elements of the vectors in float64.
func wide[F Float](vectors ...[]F) (all []float64) {
	for _, v := range vectors {
		for _, x := range v {
			all = append(all, float64(x))
		}
	}
	return all
}

// measure runs each pass as a benchmark that reports the time of an element.
func measure(b *testing.B, of string, elements float64, passes map[string]func()) {
	for name, pass := range passes {
		b.Run(of+"/"+name, func(b *testing.B) {
			for b.Loop() {
				pass()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/elements, "ns/element")
		})
	}
}

func mustNew[F Float](t testing.TB, level Level) *Kernels[F] {
	t.Helper()
	return require.Value(New[F](level))(t)
}

// epsilon is half the distance from 1 to the next number.
func epsilon[F Float]() float64 {
	if sizeof[F]() == 4 {
		return 0x1p-24
	}
	return 0x1p-53
}

// lengths returns lengths around the length of every vector and past two steps of the longest loop.
func lengths() []int {
	var n []int
	for i := range 70 {
		n = append(n, i)
	}
	return append(n, 95, 96, 97, 127, 128, 129, 1000)
}

// eachLength runs a test on a number of vectors of every length, which end or begin at a guard
// page.
func eachLength[F Float](t *testing.T, count int, test func(v [][]F)) {
	t.Helper()
	most := lengths()[len(lengths())-1]
	for _, atEnd := range []bool{false, true} {
		pages := make([][]F, count)
		for i := range pages {
			pages[i] = guarded[F](t, most, atEnd)
		}
		for _, n := range lengths() {
			v := make([][]F, count)
			for i, p := range pages {
				if v[i] = p[:n]; atEnd {
					v[i] = p[most-n:]
				}
			}
			if test(v); t.Failed() {
				t.Fatalf("length %d", n)
			}
		}
	}
}

func equal[F Float](a, b []F) bool {
	for i, v := range a {
		if math.Float64bits(float64(v)) != math.Float64bits(float64(b[i])) {
			return false
		}
	}
	return len(a) == len(b)
}

// operand returns a matrix of numbers, ending or beginning at a guard page, with gaps of canaries
// between rows, and its leading dimension.
func operand[F Float](t testing.TB, r *rand.Rand, rows, cols int, atEnd bool, number func() F) ([]F, int) {
	t.Helper()
	ld, n := cols+r.IntN(3), 0
	if rows > 0 && cols > 0 {
		n = (rows-1)*ld + cols
	}
	a := guarded[F](t, n, atEnd)
	for i := range a {
		if a[i] = canary; i%ld < cols {
			a[i] = number()
		}
	}
	return a, ld
}

// normals draws normal numbers.
func normals[F Float](r *rand.Rand) func() F { return func() F { return F(r.NormFloat64()) } }

// mustPanic checks that each of the calls, a mistake of a caller, panics.
func mustPanic(t *testing.T, calls map[string]func()) {
	t.Helper()
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			call()
		})
	}
}

// guarded returns n elements whose end, or else beginning, lies at a page that cannot be read or
// written: a kernel that leaves its operand faults.
func guarded[F element](t testing.TB, n int, atEnd bool) []F {
	t.Helper()
	if n == 0 {
		return nil
	}
	b := require.Guarded(t, n*int(sizeof[F]()), atEnd)
	return unsafe.Slice((*F)(unsafe.Pointer(&b[0])), n)
}
