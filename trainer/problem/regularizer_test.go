package problem

import (
	"math"
	"math/rand/v2"
	"testing"

	"ppal/internal/require"
	"ppal/internal/vec"
)

// prox replaces x by prox_{step r}(x).
func prox[T float32 | float64](r Regularizer, step float64, x []T) {
	NewHostSpace(x, r).Space().Prox(step, Iterate)
}

// regularizers returns a regularizer of every kind on six variables.
func regularizers() []Regularizer {
	return []Regularizer{
		{}, {Kind: Ball, Radius: 1.5}, {Kind: Box, Lower: -0.5, Upper: 1}, {Kind: Box, Lower: 0, Upper: math.Inf(1)},
		{Kind: L1, Weight: 0.7}, {Kind: SquaredL2, Weight: 0.7}, {Kind: GroupL1, Weight: 0.7, Groups: []int{1, 3, 6}},
	}
}

// subproblem returns r(y) + ||y - x||^2/(2 step), which is infinite outside dom r.
func (r Regularizer) subproblem(y, x []float64, step float64) float64 {
	if r.Infeasibility(y) > 1e-12 {
		return math.Inf(1)
	}
	sum := 0.0
	for i := range y {
		sum += (y[i] - x[i]) * (y[i] - x[i])
	}
	return r.Value(y) + sum/(2*step)
}

// The proximal map returns the minimiser p: (x - p)/step is in the subdifferential of r at p, and
// no other point has a lower value.
func TestProximalMaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, r := range regularizers() {
		require.NoError(t, r.Validate(6))
		for trial := range 200 {
			x, p := make([]float64, 6), make([]float64, 6)
			single := make([]float32, 6)
			for i := range x {
				x[i] = rng.NormFloat64() * math.Pow(10, float64(trial%3-1))
				single[i] = float32(x[i])
			}
			copy(p, x)
			step := 0.1 + rng.Float64()
			prox(r, step, p)
			prox(r, step, single)
			slope, residual := make([]float64, 6), make([]float64, 6)
			for i := range p {
				slope[i] = (p[i] - x[i]) / step
				if math.Abs(float64(single[i])-p[i]) > 1e-6*(1+math.Abs(x[i])) {
					t.Fatalf("%v: the map of %v is %v in float32, %v in float64", r.Kind, x, single, p)
				}
			}
			r.Residual(residual, p, slope, 1e-12)
			if e := vec.Norm(residual); e > 1e-13*(1+vec.Norm(x))/step {
				t.Fatalf("%v: prox(%v) = %v is %v from optimal", r.Kind, x, p, e)
			}
			value := r.subproblem(p, x, step)
			for range 50 {
				y := make([]float64, 6)
				for i := range y {
					y[i] = p[i] + rng.NormFloat64()*math.Pow(10, -4*rng.Float64())
				}
				if got := r.subproblem(y, x, step); got < value-1e-14*(1+value) {
					t.Fatalf("%v: %v at prox(%v) = %v, %v at %v", r.Kind, value, x, p, got, y)
				}
			}
		}
	}
}

// subgradient draws an element of the subdifferential of r at x from the definition. x lies exactly
// on kinks and boundaries.
func (r Regularizer) subgradient(rng *rand.Rand, x []float64) []float64 {
	s := make([]float64, len(x))
	switch r.Kind {
	case Ball:
		if vec.Norm(x) >= r.Radius*(1-1e-12) {
			a := 3 * rng.ExpFloat64()
			for i, v := range x {
				s[i] = a * v
			}
		}
	case Box:
		for i, v := range x {
			switch v {
			case r.Lower:
				s[i] = -3 * rng.ExpFloat64()
			case r.Upper:
				s[i] = 3 * rng.ExpFloat64()
			}
		}
	case L1:
		for i, v := range x {
			s[i] = math.Copysign(r.Weight, v)
			if v == 0 {
				s[i] = r.Weight * (2*rng.Float64() - 1)
			}
		}
	case SquaredL2:
		for i, v := range x {
			s[i] = r.Weight * v
		}
	case GroupL1:
		r.eachGroup(func(lo, hi int) {
			n := vec.Norm(x[lo:hi])
			length := 1.0
			if n == 0 {
				for i := lo; i < hi; i++ {
					s[i] = rng.NormFloat64()
				}
				n, length = vec.Norm(s[lo:hi]), rng.Float64()
			} else {
				copy(s[lo:hi], x[lo:hi])
			}
			vec.Scale(s[lo:hi], r.Weight*length/n)
		})
	}
	return s
}

// The residual p is v + s for a subgradient s, and no other subgradient gives a shorter sum: (p -
// (v + s)).p <= 0 for every s.
func TestResidualIsTheProjection(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for _, r := range regularizers() {
		for range 300 {
			x, v, p := make([]float64, 6), make([]float64, 6), make([]float64, 6)
			for i := range x {
				x[i], v[i] = rng.NormFloat64(), 2*rng.NormFloat64()
			}
			prox(r, 0.3+rng.Float64(), x) // to points on kinks and boundaries
			r.Residual(p, x, v, 1e-12)
			for range 100 {
				inner := 0.0
				for i, s := range r.subgradient(rng, x) {
					inner += (p[i] - v[i] - s) * p[i]
				}
				if inner > 1e-12*(1+vec.Dot(v, v)) {
					t.Fatalf("%v at %v, v = %v: %v is not the shortest: %v", r.Kind, x, v, p, inner)
				}
			}
			// p - v is a subgradient: r lies above the plane through r(x) with the slope p - v.
			for range 100 {
				y, inner := make([]float64, 6), 0.0
				for i := range y {
					y[i] = x[i] + rng.NormFloat64()
				}
				switch r.Kind {
				case Ball, Box:
					prox(r, 1, y)
				}
				for i := range y {
					inner += (p[i] - v[i]) * (y[i] - x[i])
				}
				if r.Value(y) < r.Value(x)+inner-1e-11*(1+vec.Norm(v)) {
					t.Fatalf("%v at %v, v = %v: p - v is not a subgradient", r.Kind, x, v)
				}
			}
		}
	}
}

// residualDerivative equals the derivative of residual with respect to v, at points where residual
// is differentiable.
func TestResidualDerivative(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for _, r := range regularizers() {
		if r.Kind == Ball { // the normal of the sphere is a column of the least squares
			continue
		}
		for range 100 {
			x, v, u := make([]float64, 6), make([]float64, 6), make([]float64, 6)
			for i := range x {
				x[i], v[i], u[i] = rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
			}
			prox(r, 1, x)
			at := func(t float64) []float64 {
				p, w := make([]float64, 6), make([]float64, 6)
				for i := range w {
					w[i] = v[i] + t*u[i]
				}
				r.Residual(p, x, w, 1e-12)
				return p
			}
			const h = 1e-6
			below, p, above := at(-h), at(0), at(h)
			got := append([]float64{}, u...)
			r.ResidualDerivative(got, p, x, v, 1e-12)
			for i := range got {
				if want := (above[i] - below[i]) / (2 * h); math.Abs(got[i]-want) > 1e-5*(1+math.Abs(want)) {
					t.Fatalf("%v: component %d is %v, by differences %v", r.Kind, i, got[i], want)
				}
			}
		}
	}
}

func TestInfeasibility(t *testing.T) {
	for _, test := range []struct {
		r    Regularizer
		x    []float64
		want float64
	}{
		{Regularizer{}, []float64{1e9}, 0},
		{Regularizer{Kind: Ball, Radius: 2}, []float64{3}, 0.5},
		{Regularizer{Kind: Ball, Radius: 2}, []float64{1}, 0},
		{Regularizer{Kind: Box, Lower: -1, Upper: 3}, []float64{-2, 0}, 0.5},
		{Regularizer{Kind: Box, Lower: -1, Upper: 3}, []float64{0, 5}, 0.5},
		{Regularizer{Kind: Box, Lower: 0, Upper: math.Inf(1)}, []float64{1e300}, 0},
		{Regularizer{Kind: Box, Lower: math.Inf(-1), Upper: 0}, []float64{-1, 1}, 1},
	} {
		if got := test.r.Infeasibility(test.x); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("%+v at %v: %v, want %v", test.r, test.x, got, test.want)
		}
	}
}
