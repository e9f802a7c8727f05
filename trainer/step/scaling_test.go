package step

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"ppal/internal/require"
	"ppal/trainer/problem"
)

// scaledProblem is a problem with scales.
type scaledProblem struct {
	problem.Problem
	scales *problem.Scales
}

func (s scaledProblem) Scales() *problem.Scales { return s.scales }
func (s scaledProblem) Inner() problem.Problem  { return s.Problem }

// stretched returns the scales diag(s).
func stretched(s ...float64) *problem.Scales {
	scales := problem.NewScales(len(s))
	scales.Stretch(s)
	return scales
}

// whitened returns the scales of the second moments, for one score.
func whitened(t *testing.T, n int, moments ...float64) *problem.Scales {
	scales := problem.NewScales(n)
	if !scales.Whiten(mat.NewSymDense(n, moments), 1) {
		t.Fatalf("no scales of %v", moments)
	}
	return scales
}

// bowl is f = sum_i i x_i^2/2 + cosh(x_0 + x_1) - x_0 and g = x_0 + x_1^2 + x_2 - 1/4.
func bowl() problem.Functions {
	return problem.Functions{N: 3, M: 1,
		F: func(x []float64) float64 {
			return (x[0]*x[0]+2*x[1]*x[1]+3*x[2]*x[2])/2 + math.Cosh(x[0]+x[1]) - x[0]
		},
		Gradient: func(d, x []float64) {
			s := math.Sinh(x[0] + x[1])
			d[0], d[1], d[2] = x[0]+s-1, 2*x[1]+s, 3*x[2]
		},
		G:         func(g, x []float64) { g[0] = x[0] + x[1]*x[1] + x[2] - 0.25 },
		JacobianT: func(d, x, w []float64) { d[0], d[1], d[2] = w[0], 2*x[1]*w[0], w[0] }}
}

// substituted is fn + (ridge/2)||x||^2 as a function of u, where x = T u.
func substituted(fn problem.Functions, scales *problem.Scales, ridge float64) problem.Functions {
	of := func(u []float64) []float64 {
		x := slices.Clone(u)
		scales.Multiply(x)
		return x
	}
	return problem.Functions{N: fn.N, M: fn.M,
		F: func(u []float64) float64 { x := of(u); return fn.F(x) + ridge/2*dot3(vec3(x), vec3(x)) },
		Gradient: func(d, u []float64) {
			x := of(u)
			fn.Gradient(d, x)
			for i := range d {
				d[i] += ridge * x[i]
			}
			scales.MultiplyTransposed(d)
		},
		G:         func(g, u []float64) { fn.G(g, of(u)) },
		JacobianT: func(d, u, w []float64) { fn.JacobianT(d, of(u), w); scales.MultiplyTransposed(d) }}
}

// With scales, the steps are those of the problem in the variables u, with and without r, after new
// multipliers, and after a restart from a saved state.
func TestScaledSteps(t *testing.T) {
	for name, s := range map[string]*problem.Scales{
		"stretched": stretched(0.5, 2, 8), "whitened": whitened(t, 3, 4, 1, 0.5, 1, 2, -0.1, 0.5, -0.1, 0.2),
	} {
		t.Run(name, func(t *testing.T) { testScaledSteps(t, s) })
	}
}

func testScaledSteps(t *testing.T, s *problem.Scales) {
	start := []float64{0.5, -1, 2}
	for _, ridge := range []float64{0, 0.1} {
		fn := bowl()
		if ridge > 0 {
			fn.Regularizer = problem.Regularizer{Kind: problem.SquaredL2, Weight: ridge}
		}
		p := problem.Problem(scaledProblem{newProblem(t, fn, start), s})
		u := slices.Clone(start)
		s.Divide(u)
		reference := newProblem(t, substituted(bowl(), s, ridge), u)
		phi := Augmented{Multipliers: []float64{0.3}, Penalty: 10}
		at, atReference := problem.NewPoint(p), problem.NewPoint(reference)
		require.NoError(t, at.Forward(p))
		require.NoError(t, atReference.Forward(reference))
		q := require.Value(NewQuasiNewton(p))(t)
		r := require.Value(NewQuasiNewton(reference))(t)
		q.limit, r.limit = 0.5, 0.5
		rejected, rounding := 0, false
		for k := range 40 {
			switch k {
			case 8:
				q.Refresh()
				r.Refresh()
				phi.Multipliers[0] = 1
			case 12:
				next := scaledProblem{newProblem(t, fn, numbers(p.Space(), problem.Iterate)), s}
				again := require.Value(NewQuasiNewton(next))(t)
				restore(q, p.Space(), again, next.Space())
				if got, want := numbers(next.Space(), again.scaling.u), numbers(p.Space(), q.scaling.u); !slices.Equal(got, want) {
					t.Errorf("restored u = %v, want %v", got, want)
				}
				q, p = again, next
			}
			decrease, cut, err := q.Predict(p, &at, phi)
			require.NoError(t, err)
			want, wantCut, err := r.Predict(reference, &atReference, phi)
			require.NoError(t, err)
			rounding = rounding || !(want > 1e-12) // rounding errors decide from here on
			if !rounding && (math.Abs(decrease-want) > 1e-6*want || cut != wantCut) {
				t.Errorf("ridge %v, step %d: decrease %v (cut %v), want %v (%v)", ridge, k, decrease, cut, want, wantCut)
			}
			moved := require.Value(q.Try(p, &at, phi))(t)
			wantMoved := require.Value(r.Try(reference, &atReference, phi))(t)
			if moved != wantMoved && !rounding {
				t.Errorf("ridge %v, step %d: moved %v, want %v", ridge, k, moved, wantMoved)
			}
			if !moved {
				rejected++
			}
			x, place := numbers(p.Space(), problem.Iterate), numbers(reference.Space(), problem.Iterate)
			s.Multiply(place)
			for i := range x {
				if math.Abs(x[i]-place[i]) > 1e-7*(1+math.Abs(x[i])) {
					t.Fatalf("ridge %v, step %d: x = %v, want %v", ridge, k, x, place)
				}
			}
		}
		if length := q.Last(); rejected == 40 || !(length < 1e-4) {
			t.Errorf("ridge %v: %d of 40 steps rejected, the last %v long", ridge, rejected, length)
		}
		q.Free()
	}
}

// The move from (1, 2) to (2, 0) with s = (1/2, 2) is (2, -1), and ||x||^2 falls from 5 to 4.
func TestScaledMove(t *testing.T) {
	fn := problem.Functions{N: 2, F: func([]float64) float64 { return 0 }, Gradient: func([]float64, []float64) {},
		Regularizer: problem.Regularizer{Kind: problem.SquaredL2, Weight: 6}}
	p := newProblem(t, fn, []float64{2, 0})
	space := p.Space()
	c := newScaling(scaledProblem{p, stretched(0.5, 2)})
	start, s := space.New(), space.New()
	space.Write(start, []float64{1, 2})
	if decrease := c.moved(space, s, start); decrease != 3 || !slices.Equal(numbers(space, s), []float64{2, -1}) {
		t.Errorf("decrease %v of r by the move %v, want 3 by [2 -1]", decrease, numbers(space, s))
	}
}

// With a ball, no scales are used, and neither is T = I.
func TestUnusedScales(t *testing.T) {
	ball := bowl()
	ball.Regularizer = problem.Regularizer{Kind: problem.Ball, Radius: 3}
	for name, p := range map[string]problem.Problem{
		"ball": scaledProblem{newProblem(t, ball, make([]float64, 3)), stretched(1, 2, 3)},
		"I":    scaledProblem{newProblem(t, bowl(), make([]float64, 3)), problem.NewScales(3)},
	} {
		q := require.Value(NewQuasiNewton(p))(t)
		if q.scaling.on() {
			t.Errorf("%s: the step has scales", name)
		}
	}
}

// numbers returns the elements of v.
func numbers(space *problem.Space, v problem.Vector) []float64 {
	x := make([]float64, space.Len())
	space.Read(x, v)
	return x
}
