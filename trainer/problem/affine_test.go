package problem_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// rates returns a problem of three smooth terms in two variables.
func rates(t *testing.T, start ...float64) problem.Problem {
	t.Helper()
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	slope := func(v float64) float64 { s := sigmoid(v); return s * (1 - s) }
	p := require.Value(problem.Functions{
		N: 2, M: 3,
		F:        func(x []float64) float64 { return x[0]*x[0] + math.Sin(x[1]) },
		Gradient: func(dst, x []float64) { dst[0], dst[1] = 2*x[0], math.Cos(x[1]) },
		G: func(dst, x []float64) {
			dst[0], dst[1], dst[2] = sigmoid(x[0]), sigmoid(x[1]), sigmoid(x[0]-2*x[1])
		},
		JacobianT: func(dst, x, w []float64) {
			c := w[2] * slope(x[0]-2*x[1])
			dst[0], dst[1] = w[0]*slope(x[0])+c, w[1]*slope(x[1])-2*c
		},
	}.New(start))(t)
	return p
}

// gaps returns the rows of a gap of 0.1 over three groups, and the row of a lower bound on one
// rate.
func gaps() []problem.AffineRow {
	var rows []problem.AffineRow
	for a := range 3 {
		for b := range 3 {
			if a != b {
				c := make([]float64, 3)
				c[a], c[b] = 1, -1
				rows = append(rows, problem.AffineRow{Coefficients: c, Bound: 0.1})
			}
		}
	}
	return append(rows, problem.AffineRow{Coefficients: []float64{0, -2, 0}, Constant: 0.25, Bound: -0.5})
}

func affineOf(t *testing.T, p problem.Problem, rows []problem.AffineRow) *problem.Affine {
	t.Helper()
	m := require.Value(problem.NewAffineMap(3, rows))(t)
	return require.Value(problem.NewAffine(p, m))(t)
}

// TestAffineIsTheDenseProduct compares Forward and Transpose with dense loops, with shifts.
func TestAffineIsTheDenseProduct(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := gaps()
	for trial := range 20 {
		terms := rates(t, rng.NormFloat64(), rng.NormFloat64())
		a := affineOf(t, terms, rows)
		shifts, h := make([]float64, len(rows)), make([]float64, 3)
		for j := range shifts {
			shifts[j] = rng.NormFloat64()
		}
		require.NoError(t, a.Map().SetShifts(shifts))
		f := require.Value(terms.Forward(h))(t)
		g, w := make([]float64, len(rows)), make([]float64, len(rows))
		got, err := a.Forward(g)
		if err != nil || got != f {
			t.Fatalf("f = %v, %v; want %v", got, err, f)
		}
		back := make([]float64, 3)
		for j, r := range rows {
			want := r.Constant - r.Bound - shifts[j]
			for k, c := range r.Coefficients {
				want += c * h[k]
			}
			if math.Abs(g[j]-want) > 1e-14 {
				t.Errorf("trial %d: g[%d] = %v, want %v", trial, j, g[j], want)
			}
			w[j] = rng.NormFloat64()
			for k, c := range r.Coefficients {
				back[k] += c * w[j]
			}
		}
		transposed := make([]float64, 3)
		a.Map().Transpose(transposed, w)
		for k := range back {
			if math.Abs(transposed[k]-back[k]) > 1e-13 {
				t.Errorf("trial %d: (C^T w)[%d] = %v, want %v", trial, k, transposed[k], back[k])
			}
		}
		unshifted := make([]float64, len(rows))
		a.Map().ApplyUnshifted(unshifted, a.Terms())
		for j := range g {
			if math.Abs(unshifted[j]-shifts[j]-g[j]) > 1e-14 {
				t.Errorf("trial %d: unshifted g[%d] = %v, want %v", trial, j, unshifted[j], g[j]+shifts[j])
			}
		}
	}
}

// TestAffineBackwardIsTheDerivative compares Backward with central differences of c_0 f + c.g.
func TestAffineBackwardIsTheDerivative(t *testing.T) {
	const step = 1e-6
	rows, x := gaps(), []float64{0.3, -0.7}
	for _, own := range [][]float64{nil, {0.5, 0, -2}} {
		a := affineOf(t, rates(t, x...), rows)
		if own != nil {
			require.NoError(t, a.Map().SetObjective(0.25, own))
			f := require.Value(a.Problem.Forward(make([]float64, 3)))(t)
			got, err := a.Forward(make([]float64, len(rows)))
			if want := 0.25*f + 0.5*a.Terms()[0] - 2*a.Terms()[2]; err != nil || math.Abs(got-want) > 1e-14 {
				t.Errorf("the objective is %v, %v; want %v", got, err, want)
			}
		}
		derivative(t, a, x, len(rows), step)
	}
}

// derivative compares the gradient of a problem with central differences.
func derivative(t *testing.T, a *problem.Affine, x []float64, m int, step float64) {
	t.Helper()
	g, c := make([]float64, m), make([]float64, 1+m)
	for j := range c {
		c[j] = 1 / float64(j+1)
	}
	value := func(x []float64) float64 {
		a.Space().Write(problem.Iterate, x)
		f := require.Value(a.Forward(g))(t)
		sum := c[0] * f
		for j, v := range g {
			sum += c[1+j] * v
		}
		return sum
	}
	value(x)
	d, got := a.Space().New(), make([]float64, 2)
	require.NoError(t, a.Backward(c, d))
	a.Space().Read(got, d)
	for i := range x {
		up, down := []float64{x[0], x[1]}, []float64{x[0], x[1]}
		up[i] += step
		down[i] -= step
		if want := (value(up) - value(down)) / (2 * step); math.Abs(got[i]-want) > 1e-8 {
			t.Errorf("derivative %d is %v, central differences give %v", i, got[i], want)
		}
	}
}

// TestAffineMapIsShared checks that a shift changes every problem that shares the map.
func TestAffineMapIsShared(t *testing.T) {
	m := require.Value(problem.NewAffineMap(3, gaps()))(t)
	a, errA := problem.NewAffine(rates(t, 1, 2), m)
	b, errB := problem.NewAffine(rates(t, 0, 0), m)
	require.NoError(t, errors.Join(errA, errB))
	n := problem.Constraints(a)
	before, after := make([]float64, n), make([]float64, n)
	for _, p := range []problem.Problem{a, b} {
		require.NoError(t, m.SetShifts(make([]float64, n)))
		require.Value(p.Forward(before))(t)
		shifts := m.Shifts()
		shifts[0] = 0.5
		require.NoError(t, m.SetShifts(shifts))
		require.Value(p.Forward(after))(t)
		if got := before[0] - after[0]; math.Abs(got-0.5) > 1e-15 || before[1] != after[1] {
			t.Errorf("a shift of 0.5 lowers g[0] by %v and g[1] by %v, want 0.5 and 0", got, before[1]-after[1])
		}
	}
}

// TestAffineErrors checks the errors for bad rows.
func TestAffineErrors(t *testing.T) {
	for name, rows := range map[string][]problem.AffineRow{
		"a short row":           {{Coefficients: []float64{1}}},
		"an infinite bound":     {{Coefficients: []float64{1, 0, 0}, Bound: math.Inf(1)}},
		"a coefficient not set": {{Coefficients: []float64{1, math.NaN(), 0}}},
	} {
		if _, err := problem.NewAffineMap(3, rows); !errors.Is(err, problem.ErrSettings) {
			t.Errorf("%s: %v, want ErrSettings", name, err)
		}
	}
	m := require.Value(problem.NewAffineMap(3, gaps()))(t)
	if err := m.SetShifts([]float64{1}); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("one shift for 7 constraints: %v, want ErrSettings", err)
	}
	bad := m.Shifts()
	bad[3] = math.NaN()
	if err := m.SetShifts(bad); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("a shift of NaN: %v, want ErrSettings", err)
	}
	if err := m.SetObjective(1, []float64{1}); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("one weight for 3 terms: %v, want ErrSettings", err)
	}
	if err := m.SetObjective(math.Inf(1), nil); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("an infinite factor: %v, want ErrSettings", err)
	}
	other := require.Value(problem.NewAffineMap(2, nil))(t)
	if _, err := problem.NewAffine(rates(t, 0, 0), other); !errors.Is(err, problem.ErrSettings) {
		t.Errorf("a map of 2 terms on a problem of 3: %v, want ErrSettings", err)
	}
}

// TestAffineDoesNotAllocate checks that an iteration on an affine problem allocates nothing.
func TestAffineDoesNotAllocate(t *testing.T) {
	a := affineOf(t, rates(t, 1, 2), gaps())
	g, c, d := make([]float64, 7), make([]float64, 8), a.Space().New()
	c[0], c[3] = 1, 2
	if n := testing.AllocsPerRun(10, func() {
		_, errF := a.Forward(g)
		if errB := a.Backward(c, d); errF != nil || errB != nil {
			t.Fatal(errF, errB)
		}
	}); n != 0 {
		t.Errorf("a forward and a backward pass allocate %v times", n)
	}
}

// Dots and Sum equal loops in float64, with a vector that appears twice and a sum in place.
func TestDotsAndSum(t *testing.T) {
	t.Run("float64", dotsAndSum[float64])
	t.Run("float32", dotsAndSum[float32])
}

func dotsAndSum[T float32 | float64](t *testing.T) {
	const n = 37
	s, d, v, w := drawn[T](n, problem.Regularizer{})
	list, coefficients := []problem.Vector{d, v, w, d}, []float64{0.1, -3, 1e-9, 0.7}
	for _, dst := range []problem.Vector{w, problem.Iterate} { // in place first
		dots, want := make([]float64, len(list)), make([]float64, n)
		s.Dots(dots, []problem.Vector{v}, list)
		for k, y := range list {
			if dots[k] != s.Dot(v, y) {
				t.Errorf("dot product %d is %v, want %v", k, dots[k], s.Dot(v, y))
			}
			for i, x := range s.Slice(y) {
				want[i] += coefficients[k] * float64(x)
			}
		}
		s.Sum(dst, coefficients, list)
		for i, x := range s.Slice(dst) {
			if x != T(want[i]) {
				t.Errorf("element %d of the sum is %v, want %v", i, x, T(want[i]))
			}
		}
	}
	s.Dots(nil, []problem.Vector{v}, nil)
	s.Sum(v, nil, nil)
	if size := s.Dot(v, v); size != 0 {
		t.Errorf("a sum of no vectors has the squared norm %v", size)
	}
}

// A number that is not finite reaches the results, with a coefficient of 0 too.
func TestSumKeepsWhatIsNotANumber(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		s, d, v, w := drawn[float32](9, problem.Regularizer{})
		s.Slice(d)[4] = float32(bad)
		dots := make([]float64, 2)
		s.Dots(dots, []problem.Vector{v}, []problem.Vector{w, d})
		if finite := dots[1]-dots[1] == 0; finite || dots[0]-dots[0] != 0 {
			t.Errorf("%v: dot products %v", bad, dots)
		}
		s.Sum(w, []float64{1, 0}, []problem.Vector{v, d})
		for i, x := range s.Slice(w) {
			if finite := x-x == 0; finite == (i == 4) {
				t.Errorf("%v: element %d of the sum is %v", bad, i, x)
			}
		}
	}
}

// Lists of other lengths than the numbers panic.
func TestListsOfOtherLengths(t *testing.T) {
	s, d, _, _ := drawn[float32](9, problem.Regularizer{})
	for name, call := range map[string]func(){
		"dots": func() { s.Dots(make([]float64, 2), []problem.Vector{d}, []problem.Vector{d}) },
		"sum":  func() { s.Sum(d, nil, []problem.Vector{d}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}
