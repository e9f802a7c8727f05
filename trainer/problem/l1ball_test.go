package problem

import (
	"math"
	"math/rand/v2"
	"testing"

	"ppal/internal/require"
	"ppal/internal/vec"
)

// A step with an l1 ball is the step of r alone, followed by the nearest point of the ball:
// no other point of the set is nearer. The multiplier of the norm leaves no residual at this point.
func TestL1Ball(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6))
	bound := &L1Ball{Count: 5, Bound: 1.5, Constraint: 1}
	for _, r := range []Regularizer{{L1Ball: bound}, {Kind: SquaredL2, Weight: 0.7, L1Ball: bound}, {Kind: L1, Weight: 0.1, L1Ball: bound}} {
		require.NoError(t, r.Validate(6))
		active := 0
		for range 200 {
			x, d := make([]float64, 6), make([]float64, 6)
			for i := range x {
				x[i], d[i] = rng.NormFloat64()/2, rng.NormFloat64()/2
			}
			plain := r
			plain.L1Ball = nil
			free, p := NewHostSpace(append([]float64{}, x...), plain), NewHostSpace(append([]float64{}, x...), r)
			for _, h := range []*HostSpace[float64]{free, p} {
				v := h.Space().New()
				h.Space().Write(v, d)
				h.Space().Descend(Descent{Direction: v, Step: 0.9, Length: 0.9})
			}
			y, got := free.Slice(Iterate), p.Slice(Iterate)
			if r.Infeasibility(got) > 1e-14 || got[5] != y[5] {
				t.Fatalf("%v became %v, outside the set", y, got)
			}
			moved, norm := p.Space().Moved()
			if by := p.Space().Distance(Iterate, p.own(x)); math.Abs(moved-by) > 1e-14 || math.Abs(norm-vec.Norm(got)) > 1e-14 {
				t.Fatalf("moved %v to the norm %v, want %v and %v", moved, norm, by, vec.Norm(got))
			}
			distance := func(z []float64) (sum float64) {
				for i := range z {
					sum += (z[i] - y[i]) * (z[i] - y[i])
				}
				return sum
			}
			for range 50 {
				z := append([]float64{}, got...)
				for i := range z[:5] {
					z[i] += rng.NormFloat64() * math.Pow(10, -3*rng.Float64())
				}
				if over := vec.Norm1(z[:5]) / bound.Bound; over > 1 {
					vec.Scale(z[:5], 1/over)
				}
				if distance(z) < distance(got)-1e-14 {
					t.Fatalf("%v is nearer to %v than %v", z, y, got)
				}
			}
			// grad f = got - y, and nu sign(x_i) of the norm, 0 at 0
			price, v := 0.0, make([]float64, 6)
			for i, x := range got {
				if v[i] = got[i] - y[i]; x != 0 && i < 5 {
					price = math.Abs(v[i])
				}
			}
			for i, x := range got[:5] {
				if x != 0 {
					v[i] += math.Copysign(price, x)
				}
			}
			none := Regularizer{L1Ball: bound}.WithMultipliers([]float64{7, price})
			none.Residual(v, got, v, 0)
			if vec.Norm(v) > 1e-14 {
				t.Fatalf("%v at %v: residual %v", y, got, v)
			}
			if price > 0 {
				active++
			}
		}
		if active < 50 || active == 200 {
			t.Errorf("%d of 200 points are outside the set", active)
		}
	}
	none := []float64{1, -2, 0.5, 3}
	if (&L1Ball{Count: 3}).project(none); none[0] != 0 || none[1] != 0 || none[2] != 0 || none[3] != 3 {
		t.Errorf("a bound of 0 gives %v", none)
	}
	for _, r := range []Regularizer{{Kind: Box, Upper: 1, L1Ball: bound}, {L1Ball: &L1Ball{Count: 7, Bound: 1}}, {L1Ball: &L1Ball{Count: 1, Bound: -1}}} {
		if r.Validate(6) == nil {
			t.Errorf("%v with %+v is valid", r.Kind, r.L1Ball)
		}
	}
}

// FitMultiplier finds the multiplier with the least residual and complementarity, and changes the
// gradient to that multiplier's.
func TestFitMultiplier(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 6))
	for _, r := range []Regularizer{{}, {Kind: SquaredL2, Weight: 0.7}, {Kind: L1, Weight: 0.3}} {
		r.L1Ball = &L1Ball{Count: 5, Bound: 1, Constraint: 1}
		fitted := 0
		for trial := range 200 {
			x, base, g := make([]float64, 6), make([]float64, 6), []float64{3, -rng.Float64() * float64(trial%2)}
			for i := range x {
				x[i], base[i] = rng.NormFloat64()*float64(rng.IntN(2)), rng.NormFloat64()
			}
			gradient := func(nu float64) []float64 {
				v := append([]float64{}, base...)
				for i, xi := range x[:5] {
					if xi != 0 {
						v[i] += math.Copysign(nu, xi)
					}
				}
				return v
			}
			value := func(v []float64, nu float64) float64 {
				p := make([]float64, 6)
				r.WithMultipliers([]float64{9, nu}).Residual(p, x, v, 0)
				return vec.Dot(p, p) + nu*nu*g[1]*g[1]
			}
			nu := []float64{9, 2 * rng.Float64()}
			v := gradient(nu[1])
			r.FitMultiplier(nu, g, x, v)
			off := gradient(nu[1])
			for i := range off {
				off[i] -= v[i]
			}
			if nu[0] != 9 || !(nu[1] >= 0) || vec.Norm(off) > 1e-14 {
				t.Fatalf("multipliers %v, the gradient %v, want %v", nu, v, gradient(nu[1]))
			}
			for _, other := range []float64{0, nu[1] * 0.99, nu[1] + 0.01, 3 * rng.Float64()} {
				if value(gradient(other), other) < value(v, nu[1])-1e-14 {
					t.Fatalf("%v at %v: %v is better than %v", base, x, other, nu[1])
				}
			}
			if nu[1] > 0 {
				fitted++
			}
		}
		if fitted < 50 || fitted == 200 {
			t.Errorf("%d of 200 multipliers are positive", fitted)
		}
	}
}

// own returns a vector with the elements of x.
func (s *HostSpace[T]) own(x []float64) Vector {
	v := s.space.New()
	s.space.Write(v, x)
	return v
}
