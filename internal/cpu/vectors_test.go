package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
	"ppal/trainer/method"
	"ppal/trainer/problem"
)

// vectorsOf returns the vector passes of a device.
func vectorsOf[T plan.Float](t testing.TB, level kernel.Level, threads int) problem.Passes[T] {
	t.Helper()
	d := require.Value(cpu.New(level, threads))(t)
	return cpu.PassesOf[T](d)
}

// guardedVector returns n random numbers v inside a longer slice all. No pass may change the
// elements around v.
func guardedVector[T plan.Float](rng *rand.Rand, n int) (all, v []T) {
	const room = 9
	all = make([]T, n+2*room)
	for i := range all {
		all[i] = T(rng.NormFloat64())
	}
	return all, all[room : room+n]
}

// outcome holds the results of the operations of a space: every vector, and the numbers that the
// operations return.
type outcome[T plan.Float] struct {
	vectors [][]T
	numbers []float64
}

// operate runs every operation of a space of n variables on the passes on. If on is nil, the plain
// loops run.
func operate[T plan.Float](t *testing.T, n int, r problem.Regularizer, on problem.Passes[T]) outcome[T] {
	t.Helper()
	rng := rand.New(rand.NewPCG(41, uint64(n)))
	all, x := guardedVector[T](rng, n)
	guards := slices.Clone(all)
	s := problem.NewHostSpaceOn(x, r, on)
	v := make([]problem.Vector, 5)
	for i := range v {
		v[i] = s.New()
		for j := range s.Slice(v[i]) {
			s.Slice(v[i])[j] = T(rng.NormFloat64())
		}
	}
	var o outcome[T]
	keep := func(numbers ...float64) {
		o.numbers = append(o.numbers, numbers...)
		o.vectors = append(o.vectors, slices.Clone(x))
		for _, h := range v {
			o.vectors = append(o.vectors, slices.Clone(s.Slice(h)))
		}
	}
	keep(s.Dot(v[0], v[1]), s.Distance(v[0], v[1]), s.Dot(v[2], v[2]))
	s.Combine(v[2], 0.3, v[0], -0.7, v[1])
	s.Combine(v[3], 0.3, v[3], 0, v[1])
	s.Combine(v[4], 1, v[0], 0.5, v[4])
	keep()
	for k, b := range []float64{0, 0.9, 0.5} {
		s.Space().Descend(problem.Descent{Direction: v[k%2], Velocity: v[2], Step: 0.2, Momentum: b, Length: 0.3})
		keep(s.Moved())
	}
	s.Combine(v[2], 0, v[2], 0, v[2])
	s.Combine(v[3], 0, v[3], 0, v[3])
	for k := range 3 {
		s.Space().Adam(v[k%2], v[2], v[3], 0.1, 1+k)
		keep()
	}
	s.Space().Prox(0.2, problem.Iterate)
	keep()
	for i, g := range all {
		if inside := i >= 9 && i < 9+n; !inside && g != guards[i] {
			t.Fatalf("n = %d, %v: a number beside x changed", n, r.Kind)
		}
	}
	return o
}

// same reports whether two outcomes have the same bits.
func (o outcome[T]) same(other outcome[T]) bool {
	return slices.EqualFunc(o.vectors, other.vectors, slices.Equal[[]T]) && slices.Equal(o.numbers, other.numbers)
}

// near returns the largest difference between elements of the vectors, and between returned
// numbers, of two outcomes, relative to 1 + |number|.
func (o outcome[T]) near(other outcome[T]) (vectors, numbers float64) {
	larger := func(worst, a, b float64) float64 {
		if d := math.Abs(a-b) / (1 + math.Abs(b)); !(d <= worst) {
			return d
		}
		return worst
	}
	for i, v := range o.vectors {
		for j, a := range v {
			vectors = larger(vectors, float64(a), float64(other.vectors[i][j]))
		}
	}
	for i, a := range o.numbers {
		numbers = larger(numbers, a, other.numbers[i])
	}
	return vectors, numbers
}

// vectorLengths lists lengths within one SIMD vector, within one chunk, over a few chunks, and long
// enough for three threads.
var vectorLengths = []int{1, 2, 15, 17, 63, 4095, 4096, 4097, 50_001}

// The device's steps equal the plain loops up to rounding. The number of threads and the level of
// instructions do not change the bits.
func TestVectorsAgreeWithTheLoops(t *testing.T) {
	t.Run("float64", vectorsAgree[float64])
	t.Run("float32", vectorsAgree[float32])
}

func vectorsAgree[T plan.Float](t *testing.T) {
	var zero T
	bound := 1e-14
	if _, single := any(zero).(float32); single {
		bound = 5e-7 // seven steps of one or two roundings each
	}
	lengths := vectorLengths
	if require.Racing { // shorter vectors run on one thread
		lengths = lengths[len(lengths)-1:]
	}
	for _, n := range lengths {
		size := math.Sqrt(float64(n))
		for _, r := range []problem.Regularizer{
			{}, {Kind: problem.Ball, Radius: 0.7 * size}, {Kind: problem.Ball, Radius: 9 * size}, {Kind: problem.Box, Lower: 0.5, Upper: 1},
			{Kind: problem.L1, Weight: 0.7}, {Kind: problem.SquaredL2, Weight: 0.7},
			{Kind: problem.GroupL1, Weight: 0.7 * size, Groups: []int{n / 3, n - n/3, n}},
		} {
			elementwise := r.Kind != problem.Ball && r.Kind != problem.GroupL1
			if n < 4 && r.Kind == problem.GroupL1 || n > 5000 && elementwise { // too short for three groups; long element-wise vectors use the same kernels
				continue
			}
			want := operate[T](t, n, r, nil)
			byLevel := map[kernel.Level]outcome[T]{}
			for _, level := range levels() {
				for _, threads := range []int{1, 3} {
					got := operate(t, n, r, vectorsOf[T](t, level, threads))
					if threads == 1 {
						byLevel[level] = got
						if e, sums := got.near(want); !(e <= bound) || !(sums <= bound+1e-12) { // a dot product of many terms may cancel
							t.Errorf("n = %d, %v, %v: %.2g from the loops, sums %.2g", n, r.Kind, level, e, sums)
						}
					} else if !got.same(byLevel[level]) {
						t.Errorf("n = %d, %v, %v: other bits on %d threads", n, r.Kind, level, threads)
					}
				}
			}
			if avx512, ok := byLevel[kernel.AVX512]; ok && len(byLevel) > 1 && !avx512.same(byLevel[kernel.AVX2]) {
				t.Errorf("n = %d, %v: AVX-512 and AVX2 differ", n, r.Kind)
			}
		}
	}
}

// A step on one thread does not allocate. A step on more threads allocates one goroutine for each
// thread, for any length.
func TestVectorsDoNotAllocate(t *testing.T) {
	for threads := 1; threads <= 2; threads++ {
		s, d := onDevice(t, 100_000, problem.Regularizer{Kind: problem.Ball, Radius: 1}, threads)
		if n := testing.AllocsPerRun(20, func() {
			s.Space().Descend(problem.Descent{Direction: d, Velocity: d + 1, Step: 0.1, Momentum: 0.5})
			s.Distance(d, d+1)
		}); n > float64(9*(threads-1)) {
			t.Errorf("%d threads: %v allocations in three passes", threads, n)
		}
	}
}

// onDevice returns a float32 space on a device with two more vectors, d and d+1.
func onDevice(t testing.TB, n int, r problem.Regularizer, threads int) (*problem.HostSpace[float32], problem.Vector) {
	s := problem.NewHostSpaceOn(make([]float32, n), r, vectorsOf[float32](t, kernel.Best(), threads))
	d := s.New()
	s.New()
	return s, d
}

// settled is a problem whose passes cost nothing. After the first calls all directions are equal.
type settled struct {
	*problem.HostSpace[float32]
	filled int
}

func (p *settled) Dims() (n, m int) { return len(p.Slice(problem.Iterate)), 0 }

func (p *settled) Forward([]float64) (float64, error) { return 0, nil }

// Backward fills the alternating vectors in the first calls and then leaves them unchanged.
func (p *settled) Backward(_ []float64, d problem.Vector) error {
	if p.filled++; p.filled < 9 {
		for i := range p.Slice(d) {
			p.Slice(d)[i] = float32(1+p.filled%2) * 1e-6 * float32(i%97-48)
		}
	}
	return nil
}

// BenchmarkPrimalStep measures the whole primal step, momentum with the curvature rule and the
// projection onto the ball, for a network of 784 x 256 x 4 in float32. An iteration consists of
// this step and the passes over the data.
func BenchmarkPrimalStep(b *testing.B) {
	const n = 203_530
	for _, radius := range []float64{40, 1} { // inside the ball and on its boundary
		ball := problem.Regularizer{Kind: problem.Ball, Radius: radius}
		for _, threads := range []int{0, 1, 2} {
			name := fmt.Sprintf("radius %g/%d threads", radius, threads)
			space := problem.NewHostSpace(make([]float32, n), ball)
			if threads == 0 {
				name = fmt.Sprintf("radius %g/plain loops", radius)
			} else {
				space, _ = onDevice(b, n, ball, threads)
			}
			b.Run(name, func(b *testing.B) {
				p := &settled{HostSpace: space}
				for i := range p.Slice(problem.Iterate) {
					p.Slice(problem.Iterate)[i] = float32(i%89-44) * 1e-3
				}
				m, at := &method.Unconstrained{}, &problem.Point{}
				require.NoError(b, m.Init(p, at))
				b.ReportAllocs()
				for b.Loop() {
					require.NoError(b, m.Iterate(p, at))
				}
			})
		}
	}
}
