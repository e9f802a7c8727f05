package problem_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

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

// apply returns what the map makes of v.
func apply(replace func([]float64), v ...float64) []float64 {
	replace(v)
	return v
}

func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(a, b float64) bool { return math.Abs(a-b) <= 1e-12 })
}

// G = [4 2; 2 5] has L = [2 0; 1 2], so T = L^-T = [1/2 -1/4; 0 1/2].
func TestWhiten(t *testing.T) {
	g := mat.NewSymDense(2, []float64{4, 2, 2, 5})
	s := problem.NewScales(2)
	if !s.Whiten(g, 1) || !s.Whitened() || s.Identity() || s.Len() != 2 {
		t.Fatal("not whitened")
	}
	for name, c := range map[string]struct{ got, want []float64 }{
		"T (4, 8)":    {apply(s.Multiply, 4, 8), []float64{0, 4}},
		"T^T (4, 8)":  {apply(s.MultiplyTransposed, 4, 8), []float64{2, 3}},
		"T^-1 (0, 4)": {apply(s.Divide, 0, 4), []float64{4, 8}},
	} {
		if !near(c.got, c.want) {
			t.Errorf("%s = %v, want %v", name, c.got, c.want)
		}
	}
	for extra, rest := range [][]float64{nil, {7}, {7, -9}} { // columns (4, 8) and (1, 0), and variables after them
		two := problem.NewScales(4 + extra)
		if !two.Whiten(g, 2) {
			t.Fatal("not whitened")
		}
		with := func(v ...float64) []float64 { return slices.Concat(v, rest) }
		if got := apply(two.Multiply, with(4, 1, 8, 0)...); !near(got, with(0, 0.5, 4, 0)) {
			t.Errorf("T of two columns = %v", got)
		}
		if got := apply(two.Divide, with(0, 0.5, 4, 0)...); !near(got, with(4, 1, 8, 0)) {
			t.Errorf("T^-1 of two columns = %v", got)
		}
		if got := apply(two.MultiplyTransposed, with(4, 1, 8, 0)...); !near(got, with(2, 0.5, 3, -0.25)) {
			t.Errorf("T^T of two columns = %v", got)
		}
	}
}

// ||u||^2 is the mean square of the scores of the rows.
func TestWhitenedLength(t *testing.T) {
	rows, x := [][]float64{{1, 2, 1}, {-1, 0.5, 1}, {0, 3, 1}, {2, -1, 1}}, []float64{0.3, -0.7, 0.2}
	g, square := mat.NewSymDense(3, nil), 0.0
	for _, row := range rows {
		g.SymRankOne(g, 1/float64(len(rows)), mat.NewVecDense(3, row))
		score := mat.Dot(mat.NewVecDense(3, row), mat.NewVecDense(3, x))
		square += score * score / float64(len(rows))
	}
	s := problem.NewScales(3)
	if !s.Whiten(g, 1) {
		t.Fatal("not whitened")
	}
	u := mat.NewVecDense(3, apply(s.Divide, x...))
	if got := mat.Dot(u, u); math.Abs(got-square) > 1e-12 {
		t.Errorf("||u||^2 = %v, want %v", got, square)
	}
}

// Scales are T = I at first, and stay as they are if the moments are not positive definite.
func TestScalesUnchanged(t *testing.T) {
	s := problem.NewScales(2)
	if got := apply(s.Multiply, 3, 4); !slices.Equal(got, []float64{3, 4}) {
		t.Errorf("new scales make (3, 4) %v", got)
	}
	s.Stretch([]float64{2, 0.5})
	for _, g := range []*mat.SymDense{mat.NewSymDense(2, nil), mat.NewSymDense(2, []float64{1, math.NaN(), 0, 1}), mat.NewSymDense(2, []float64{math.Inf(1), 0, 0, 1})} {
		if s.Whiten(g, 1) || s.Whitened() {
			t.Errorf("whitened by %v", mat.Formatted(g))
		}
	}
	if good := mat.NewSymDense(2, []float64{4, 2, 2, 5}); s.Whiten(good, 2) || s.Whiten(good, 0) || s.Identity() || !problem.NewScales(2).Identity() {
		t.Error("whitened with more weights than variables, or T = I is wrong")
	}
	for _, replace := range []func([]float64){s.Multiply, s.MultiplyTransposed} {
		if got := apply(replace, 3, 4); !slices.Equal(got, []float64{6, 2}) {
			t.Errorf("(3, 4) becomes %v, want (6, 2)", got)
		}
	}
	if got := apply(s.Divide, 6, 2); !slices.Equal(got, []float64{3, 4}) {
		t.Errorf("(6, 2) becomes %v, want (3, 4)", got)
	}
}
