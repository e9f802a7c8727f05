package testproblems

import (
	"math"
	"math/rand/v2"
	"testing"
)

// samples calls visit at random points. The points alternate between the box, the neighbourhood of
// the start and the neighbourhood of the optimum.
func samples(p Problem, count int, visit func(x []float64)) {
	rng := rand.New(rand.NewPCG(7, 11))
	x := make([]float64, p.N)
	for k := range count {
		centre := p.Start
		if k%2 == 1 {
			centre = p.Optimum
		}
		for i := range x {
			x[i] = centre[i] + 0.1*(1+math.Abs(centre[i]))*rng.NormFloat64()
			if p.Lower != nil {
				x[i] = min(max(x[i], p.Lower[i]+0.01), p.Upper[i])
			}
		}
		visit(x)
	}
}

// TestDerivatives compares Grad and every row of J with central differences.
func TestDerivatives(t *testing.T) {
	for _, p := range append(All(), derivedForms()...) {
		t.Run(p.Name, func(t *testing.T) {
			samples(p, 20, func(x []float64) {
				got := make([]float64, p.N)
				p.Grad(got, x)
				compareGradient(t, "f", x, got, p.F)

				g, w := make([]float64, p.M), make([]float64, p.M)
				for j := range p.M {
					clear(w)
					w[j] = 1
					got[0] = math.NaN() // JTW must overwrite
					p.JTW(got, x, w)
					compareGradient(t, "g", x, got, func(x []float64) float64 {
						p.G(g, x)
						return g[j]
					})
				}
			})
		})
	}
}

// compareGradient checks got against the fourth-order central difference of f.
func compareGradient(t *testing.T, what string, x, got []float64, f func([]float64) float64) {
	t.Helper()
	y := append([]float64(nil), x...)
	at := func(i int, h float64) float64 {
		y[i] = x[i] + h
		v := f(y)
		y[i] = x[i]
		return v
	}
	scale := 1 + math.Abs(f(x)) + norm(got)
	for i := range x {
		h := 1e-4 * max(0.1, math.Abs(x[i]))
		want := (8*(at(i, h)-at(i, -h)) - (at(i, 2*h) - at(i, -2*h))) / (12 * h)
		if !(math.Abs(got[i]-want) <= 1e-8*scale) {
			t.Fatalf("d%s/dx_%d at %v: %.12g, differences %.12g", what, i+1, x, got[i], want)
		}
	}
}

// derivedForms returns the smooth and scaled forms that differ from the original problems.
func derivedForms() []Problem {
	var forms []Problem
	for _, p := range All() {
		if s := smooth(p); s.M != p.M || p.Kind == Kink {
			s.Name += "/smooth"
			forms = append(forms, s)
		}
		if p.BadlyScaled {
			s := p.Scaled(0.01, 0.1)
			s.Name += "/scaled"
			forms = append(forms, s)
		}
	}
	return forms
}

func TestJTWIsLinear(t *testing.T) {
	for _, p := range append(All(), derivedForms()...) {
		if p.M == 0 {
			continue
		}
		rng := rand.New(rand.NewPCG(3, 5))
		w, unit := make([]float64, p.M), make([]float64, p.M)
		for j := range w {
			w[j] = rng.NormFloat64()
		}
		got, want, row := make([]float64, p.N), make([]float64, p.N), make([]float64, p.N)
		samples(p, 4, func(x []float64) {
			p.JTW(got, x, w)
			clear(want)
			var scale float64
			for j := range w {
				clear(unit)
				unit[j] = 1
				p.JTW(row, x, unit)
				axpy(want, w[j], row)
				scale += math.Abs(w[j]) * norm(row)
			}
			for i := range got {
				if math.Abs(got[i]-want[i]) > 1e-13*scale {
					t.Errorf("%s: J^T w not linear in w: %v, rows give %v", p.Name, got, want)
				}
			}
		})
	}
}

func TestFunctionsAllocateNothing(t *testing.T) {
	for _, p := range append(All(), derivedForms()...) {
		grad, g := make([]float64, p.N), make([]float64, p.M)
		allocations := testing.AllocsPerRun(5, func() {
			p.F(p.Start)
			p.Grad(grad, p.Start)
			p.G(g, p.Start)
			p.JTW(grad, p.Start, g)
		})
		if allocations != 0 {
			t.Errorf("%s: %v allocations", p.Name, allocations)
		}
	}
}

// TestConvex checks midpoint convexity of f and of every constraint, for the problems that are
// marked as convex.
func TestConvex(t *testing.T) {
	for _, p := range All() {
		if !p.Convex {
			continue
		}
		p := p.Split()
		mid, previous := make([]float64, p.N), append([]float64(nil), p.Start...)
		if p.Lower != nil {
			for i := range previous {
				previous[i] = min(max(previous[i], p.Lower[i]), p.Upper[i])
			}
		}
		ga, gb, gm := make([]float64, p.M), make([]float64, p.M), make([]float64, p.M)
		check := func(what string, m, a, b float64) {
			if m > (a+b)/2+1e-12*(1+math.Abs(a)+math.Abs(b)) {
				t.Errorf("%s: %s is not convex: %v at a midpoint, %v and %v at the ends", p.Name, what, m, a, b)
			}
		}
		samples(p, 400, func(x []float64) {
			for i := range mid {
				mid[i] = (x[i] + previous[i]) / 2
			}
			check("f", p.F(mid), p.F(x), p.F(previous))
			p.G(ga, x)
			p.G(gb, previous)
			p.G(gm, mid)
			for j := range gm {
				check("g", gm[j], ga[j], gb[j])
			}
			copy(previous, x)
		})
	}
}
