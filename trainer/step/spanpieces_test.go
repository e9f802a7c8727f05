package step

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"ppal/internal/vec"
)

// axes returns a model of R^n with B = diag(b), whose coordinates are those of the axes.
func axes(t *testing.T, b ...float64) *spanModel {
	t.Helper()
	n := len(b)
	var vectors [][]float64
	for i := range n {
		v := make([]float64, n)
		v[i] = 1
		vectors = append(vectors, v)
	}
	m := &spanModel{}
	if !m.build(gramOf(vectors...)) || m.rank != n {
		t.Fatal("no model")
	}
	for i, v := range b {
		m.b[i*n+i] = v
		for j := range i {
			m.b[i*n+j] = 0
		}
	}
	m.formed = true
	return m
}

// One variable, B = 1, c = 2. With g = -1 and the row a = 1:
//
//	t = 1:  p'(u) = 2u for u > -1/2:   d = 1/3, decrease 1/6;
//	t = -1: p(u) = (2u - 1)^2/4 for u > 1/2: -1 + d + 2d - 1 = 0: d = 2/3, decrease 2/3 - 2/9 - 1/36.
//
// In a region of radius 1/4, both steps are 1/4 long, and the second sees no constraint.
func TestPiecewiseByHand(t *testing.T) {
	for _, c := range []struct{ t, radius, d, decrease float64 }{
		{1, 1, 1.0 / 3, 1.0 / 6},
		{-1, 1, 2.0 / 3, 2.0/3 - 2.0/9 - 1.0/36},
		{1, 0.25, 0.25, 0.25 - 3.0/32},
		{-1, 0.25, 0.25, 0.25 - 1.0/32},
	} {
		p := piecewise{}
		p.begin(axes(t, 1), 2)
		p.g, p.x = []float64{-1}, []float64{0}
		p.add([]float64{1}, c.t)
		decrease, cut, ok := p.solve(c.radius)
		if cutWanted := c.radius < 1; !ok || cut != cutWanted || math.Abs(p.d[0]-c.d) > lengthTolerance || math.Abs(decrease-c.decrease) > lengthTolerance {
			t.Errorf("%+v: d = %v, decrease %v, cut %v, ok %v", c, p.d, decrease, cut, ok)
		}
	}
}

// The minimiser of random subproblems: the gradient of the function is -s d with s >= 0, and s = 0
// inside the region. The decrease is that of the function.
func TestPiecewiseMinimises(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	normal := func(n int, scale float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = scale * rng.NormFloat64()
		}
		return v
	}
	cuts, flips := 0, 0
	for k := range 200 {
		n, rows := 1+rng.IntN(6), rng.IntN(8)
		b := normal(n, 2)
		for i := range b {
			b[i] = 0.01 + b[i]*b[i]
		}
		c := math.Exp(3 * rng.NormFloat64())
		p := piecewise{}
		p.begin(axes(t, b...), c)
		p.g, p.x, p.ridge = normal(n, 1), normal(n, 1), []float64{0, 0.5}[k%2]
		for range rows {
			p.add(normal(n, 1), rng.NormFloat64())
		}
		radius := math.Exp(rng.NormFloat64())
		decrease, cut, ok := p.solve(radius)
		if !ok {
			t.Fatalf("case %d: no step", k)
		}
		value, slope := 0.0, make([]float64, n)
		for i, d := range p.d {
			value += d * (p.g[i] + b[i]*d/2 + p.ridge*(p.x[i]+d/2))
			slope[i] = p.g[i] + b[i]*d + p.ridge*(p.x[i]+d)
		}
		for j, a := range p.rows {
			w, after := math.Max(0, p.t[j]), math.Max(0, p.t[j]+c*floats.Dot(a, p.d))
			value += (after*after-w*w)/(2*c) - w*floats.Dot(a, p.d)
			floats.AddScaled(slope, after-w, a)
			if (w > 0) != (after > 0) {
				flips++
			}
		}
		length := vec.Norm(p.d)
		s := 0.0
		if cut {
			cuts++
			s = -floats.Dot(slope, p.d) / (length * length)
		}
		tolerance, accuracy := 1e-9*(1+c), 1e-9
		if cut { // the length is that of the region up to lengthTolerance
			tolerance = floats.Max(b) + p.ridge
			for _, a := range p.rows {
				tolerance += c * floats.Dot(a, a)
			}
			tolerance *= 2 * lengthTolerance * length
			accuracy = 3 * lengthTolerance
		}
		floats.AddScaled(slope, s, p.d)
		if math.Abs(value+decrease) > accuracy*(1+math.Abs(value)) || vec.Norm(slope) > tolerance || s < 0 ||
			length > (1+1e-12)*radius || cut && length < (1-2*lengthTolerance)*radius {
			t.Errorf("case %d: decrease %v, want %v; slope %v with s = %v; length %v of %v, cut %v", k, decrease, -value, slope, s, length, radius, cut)
		}
	}
	if cuts < 20 || flips < 20 {
		t.Errorf("%d steps are cut, %d constraints change: the cases are too easy", cuts, flips)
	}
}

// A pair of the Lagrangian with little curvature is damped, by hand: y = (4, 0) - 2 (3, 0) = (-2,
// 0) with s = (1, 0) follows the pair s = y = (1, 1), so that sigma = 1 and B = I before. Then s.y
// = -2 < 0.2, t = 0.8/3, and y = t (-2, 0) + (1 - t) (1, 0) = (0.2, 0).
func TestDampedPairByHand(t *testing.T) {
	var m spanModel
	vectors := [][]float64{{1, 1}, {1, 0}, {1, 1}, {4, 0}, {3, 0}}
	pairs := [][2]int{{0, 2}, {1, 3}}
	if !m.build(gramOf(vectors...)) {
		t.Fatal("no model")
	}
	m.correct(pairs, [][]float64{{0}, {2}}, 4, 0.5)
	if !m.hessian() || m.sigma != 1 {
		t.Fatalf("sigma %v", m.sigma)
	}
	along, s := make([]float64, m.rank), m.direction(1)
	m.times(along, s)
	if got := floats.Dot(s, along); !near(got, 0.2) {
		t.Errorf("s.Bs = %v, want 0.2", got)
	}
}

// The line search along the step 10 from d = 0, with B = 1, g = -10, a = 1, t = -1 and c = 2. The
// constraint becomes active at 1/2, and the slope is -100 + 100 t + 10 (20 t - 1) from there: t =
// 110/300. With s = 1 and a ridge of 1/2, 250 t replaces 100 t. Without the constraint, the step
// ends before the minimiser.
func TestPiecewiseSearchByHand(t *testing.T) {
	for _, c := range []struct{ t, ridge, s, want float64 }{{-1, 0, 0, 110.0 / 300}, {-1, 0.5, 1, 110.0 / 450}, {-1000, 0, 0, 1}} {
		p := piecewise{}
		p.begin(axes(t, 1), 2)
		p.g, p.x, p.ridge, p.multiplier = []float64{-10}, []float64{0}, c.ridge, c.s
		p.add([]float64{1}, c.t)
		p.expand()
		p.step[0] = 10
		if got := p.search(); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
