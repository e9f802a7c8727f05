package problem_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"ppal/trainer/problem"
)

// regularizersOf returns a regularizer of every kind on n variables. Balls and boxes are so small
// that the tests' steps leave them.
func regularizersOf(n int) []problem.Regularizer {
	size := math.Sqrt(float64(n))
	return []problem.Regularizer{
		{}, {Kind: problem.Ball, Radius: 0.7 * size}, {Kind: problem.Ball, Radius: 9 * size}, {Kind: problem.Box, Lower: -0.5, Upper: 1},
		{Kind: problem.Box, Lower: 0.5, Upper: math.Inf(1)}, {Kind: problem.L1, Weight: 0.7}, {Kind: problem.SquaredL2, Weight: 0.7},
		{Kind: problem.GroupL1, Weight: 0.7, Groups: []int{n / 3, n/3 + 1, n}}, {Kind: problem.GroupL1, Weight: 50, Groups: []int{n/2 + 1, n}},
	}
}

// drawn returns a space with a random iterate and three random vectors.
func drawn[T float32 | float64](n int, r problem.Regularizer) (s *problem.HostSpace[T], d, v, w problem.Vector) {
	s = problem.NewHostSpace(make([]T, n), r)
	d, v, w = s.New(), s.New(), s.New()
	rng := rand.New(rand.NewPCG(31, uint64(n)))
	for _, x := range []problem.Vector{problem.Iterate, d, v, w} {
		for i := range s.Slice(x) {
			s.Slice(x)[i] = T(rng.NormFloat64())
		}
	}
	return s, d, v, w
}

// apart fails the test if two vectors differ by more than a few rounding errors of numbers of size
// 10.
func apart[T float32 | float64](t *testing.T, what string, got, want []T, u float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(float64(got[i])-float64(want[i])) <= 10*u*(1+math.Abs(float64(want[i])))) {
			t.Fatalf("%s: element %d of %d is %v, want %v", what, i, len(want), got[i], want[i])
		}
	}
}

// A step equals the composition of its parts: v = b v + d, w = d + b v, y = x - e w, x+ = prox(y),
// and the norms of x+ - x and x+.
func TestDescendIsItsParts(t *testing.T) {
	t.Run("float64", descendIsItsParts[float64])
	t.Run("float32", descendIsItsParts[float32])
}

func descendIsItsParts[T float32 | float64](t *testing.T) {
	for _, n := range []int{3, 7, 64, 301} {
		for _, r := range regularizersOf(n) {
			for _, b := range []float64{0, 0.9} {
				t.Run(fmt.Sprintf("%v %d %g", r.Kind, n, b), func(t *testing.T) {
					const e, c = 0.3, 0.8
					fused, d, v, _ := drawn[T](n, r)
					fused.Space().Descend(problem.Descent{Direction: d, Velocity: v, Step: e, Momentum: b, Length: c})
					parts, d, v, w := drawn[T](n, r)
					parts.Combine(w, 1, d, 0, d)
					if b > 0 {
						parts.Combine(v, b, v, 1, d)
						parts.Combine(w, 1, w, b, v)
					}
					old := parts.New()
					parts.Combine(old, 1, problem.Iterate, 0, old)
					parts.Combine(problem.Iterate, 1, problem.Iterate, -e, w)
					parts.Space().Prox(c, problem.Iterate)
					u := parts.Roundoff()
					apart(t, "x", fused.Slice(problem.Iterate), parts.Slice(problem.Iterate), u)
					apart(t, "v", fused.Slice(v), parts.Slice(v), u)
					apart(t, "d", fused.Slice(d), parts.Slice(d), 0)
					moved, norm := fused.Moved()
					size := math.Sqrt(parts.Dot(problem.Iterate, problem.Iterate))
					if want := parts.Distance(problem.Iterate, old); math.Abs(moved-want) > 10*u*(want+size) || math.Abs(norm-size) > 10*u*size {
						t.Errorf("moved by %v to the norm %v, want %v and %v", moved, norm, want, size)
					}
				})
			}
		}
	}
}

// A step of Adam equals Adam by hand on one number, followed by the proximal map.
func TestAdamIsItsParts(t *testing.T) {
	t.Run("float64", adamIsItsParts[float64])
	t.Run("float32", adamIsItsParts[float32])
}

func adamIsItsParts[T float32 | float64](t *testing.T) {
	const n, step, steps = 65, 0.2, 3
	for _, r := range regularizersOf(n) {
		s, d, m1, m2 := drawn[T](n, r)
		want, wd, _, _ := drawn[T](n, r)
		clear(s.Slice(m1))
		clear(s.Slice(m2))
		first, second := make([]float64, n), make([]float64, n)
		for k := 1; k <= steps; k++ {
			s.Space().Adam(d, m1, m2, step, k)
			for i, g := range want.Slice(wd) {
				first[i] = 0.9*first[i] + 0.1*float64(g)
				second[i] = 0.999*second[i] + 0.001*float64(g)*float64(g)
				a := first[i] / (1 - math.Pow(0.9, float64(k)))
				b := second[i] / (1 - math.Pow(0.999, float64(k)))
				want.Slice(problem.Iterate)[i] -= T(step * a / (math.Sqrt(b) + 1e-8))
			}
			want.Space().Prox(step, problem.Iterate)
			apart(t, r.Kind.String(), s.Slice(problem.Iterate), want.Slice(problem.Iterate), s.Roundoff())
		}
	}
}

// A direction that is not finite makes the iterate not finite, for every regularizer. The run then
// ends, because no operation turns such a number into 0.
func TestStepsKeepWhatIsNotANumber(t *testing.T) {
	for _, r := range regularizersOf(9) {
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			s, d, v, _ := drawn[float64](9, r)
			s.Slice(d)[4] = bad
			s.Space().Descend(problem.Descent{Direction: d, Velocity: v, Step: 0.1, Momentum: 0.5, Length: 0.1})
			x, box := s.Slice(problem.Iterate)[4], r.Kind == problem.Box && math.IsInf(bad, 1)
			if finite := !math.IsNaN(x) && !math.IsInf(x, 0); finite && !box { // the projection of infinity on a box is finite
				t.Errorf("%v: a direction of %v gives x = %v", r.Kind, bad, x)
			}
		}
	}
}

// The steps of a space allocate nothing.
func TestStepsDoNotAllocate(t *testing.T) {
	for _, r := range regularizersOf(50) {
		s, d, v, w := drawn[float32](50, r)
		if count := testing.AllocsPerRun(20, func() {
			s.Space().Descend(problem.Descent{Direction: d, Velocity: v, Step: 0.1, Momentum: 0.5, Length: 0.1})
			s.Space().Adam(d, v, w, 1e-3, 5)
			s.Space().Prox(0.1, problem.Iterate)
			s.Combine(w, 1, d, s.Distance(d, v), v)
			s.Moved()
		}); count > 0 {
			t.Errorf("%v: %v allocations", r.Kind, count)
		}
	}
}
