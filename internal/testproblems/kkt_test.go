package testproblems

import (
	"math"
	"testing"
)

// tolerance bounds every KKT residual, relative to the terms that cancel.
const tolerance = 1e-9

// activity holds the active constraints at the optimum, as gradients of constraints <= 0 with their
// multipliers: g, then bounds, then the ball.
type activity struct {
	gradients   [][]float64
	multipliers []float64
}

// smooth returns p with its pieces and its box turned into constraints.
func smooth(p Problem) Problem { return p.Split().BoundsAsConstraints() }

// activeAt collects the active constraints of a problem in smooth form.
func activeAt(p Problem) activity {
	var act activity
	g := make([]float64, p.M)
	p.G(g, p.Optimum)
	for j, gj := range g {
		w := make([]float64, p.M)
		w[j] = 1
		row := make([]float64, p.N)
		p.JTW(row, p.Optimum, w)
		if math.Abs(gj) <= tolerance*(1+norm(row)*norm(p.Optimum)) {
			act.gradients = append(act.gradients, row)
			act.multipliers = append(act.multipliers, p.Multipliers[j])
		}
	}
	if p.Ball > 0 && math.Abs(norm(p.Optimum)-p.Ball) <= tolerance*p.Ball {
		act.gradients = append(act.gradients, append([]float64(nil), p.Optimum...))
		act.multipliers = append(act.multipliers, ballMultiplier(p))
	}
	return act
}

// ballMultiplier returns the t >= 0 that minimises ||grad f + J^T nu + t x||.
func ballMultiplier(p Problem) float64 {
	v := p.lagrangianGradient(p.Optimum, p.Multipliers)
	t := max(0, -dot(v, p.Optimum)/dot(p.Optimum, p.Optimum))
	if t < tolerance {
		return 0
	}
	return t
}

func TestKKT(t *testing.T) {
	for _, original := range append(All(), derivedForms()...) {
		t.Run(original.Name, func(t *testing.T) {
			p := smooth(original)
			x, nu := p.Optimum, p.Multipliers
			if len(nu) != p.M {
				t.Fatalf("%d multipliers for %d constraints", len(nu), p.M)
			}

			v := p.lagrangianGradient(x, nu)
			grad := make([]float64, p.N)
			p.Grad(grad, x)
			scale := 1 + norm(grad)
			if p.Ball > 0 {
				if norm(x) > p.Ball*(1+1e-15) {
					t.Errorf("||x*|| = %v outside the ball of radius %v", norm(x), p.Ball)
				}
				if norm(x) >= p.Ball*(1-1e-12) {
					axpy(v, ballMultiplier(p), x)
				}
			}
			if r := norm(v); r > tolerance*scale {
				t.Errorf("stationarity %.3g", r)
			}

			g := make([]float64, p.M)
			p.G(g, x)
			for j := range g {
				if g[j] > 1e-11*(1+norm(x)) {
					t.Errorf("constraint %d: g = %.3g > 0", j, g[j])
				}
				if nu[j] < 0 {
					t.Errorf("constraint %d: multiplier %v < 0", j, nu[j])
				}
				if c := math.Abs(nu[j] * g[j]); c > tolerance*scale {
					t.Errorf("constraint %d: complementarity %.3g", j, c)
				}
			}
			if f := p.F(x); math.Abs(f-p.Value) > 1e-13*(1+math.Abs(p.Value)) {
				t.Errorf("Value %.17g, F(Optimum) %.17g", p.Value, f)
			}
		})
	}
}

// TestFlags compares the documented constraint qualifications with the active gradients.
func TestFlags(t *testing.T) {
	for _, original := range All() {
		t.Run(original.Name, func(t *testing.T) {
			act := activeAt(smooth(original))
			strict := true
			for _, nu := range act.multipliers {
				strict = strict && nu > 1e-6
			}
			if strict != original.StrictComplementarity {
				t.Errorf("StrictComplementarity %v, multipliers of active constraints %v",
					original.StrictComplementarity, act.multipliers)
			}
			if licq := rank(act.gradients) == len(act.gradients); licq != original.LICQ {
				t.Errorf("LICQ %v, found %v", original.LICQ, licq)
			}
			if mfcq := shortestCombination(act.gradients) > 1e-3; mfcq != original.MFCQ {
				t.Errorf("MFCQ %v, found %v", original.MFCQ, mfcq)
			}
		})
	}
}

// rank returns the numerical rank of the normalised rows (modified Gram-Schmidt).
func rank(rows [][]float64) int {
	var basis [][]float64
	for _, row := range rows {
		r := append([]float64(nil), row...)
		for _, b := range basis {
			axpy(r, -dot(b, r), b)
		}
		if n := norm(r); n > 1e-7*norm(row) {
			for i := range r {
				r[i] /= n
			}
			basis = append(basis, r)
		}
	}
	return len(basis)
}

// shortestCombination returns the distance from 0 to the convex hull of the normalised rows
// (pairwise Frank-Wolfe with exact line search). By Gordan's theorem, MFCQ holds exactly if the
// distance is positive. Without rows the distance is +Inf.
func shortestCombination(rows [][]float64) float64 {
	if len(rows) == 0 {
		return math.Inf(1)
	}
	unit := make([][]float64, len(rows))
	for j, row := range rows {
		n := norm(row)
		if n == 0 {
			return 0
		}
		unit[j] = make([]float64, len(row))
		axpy(unit[j], 1/n, row)
	}
	weight := make([]float64, len(rows))
	weight[0] = 1
	z := append([]float64(nil), unit[0]...)
	for range 10_000 {
		to, from := 0, -1
		for j := range unit {
			if dot(unit[j], z) < dot(unit[to], z) {
				to = j
			}
			if weight[j] > 0 && (from < 0 || dot(unit[j], z) > dot(unit[from], z)) {
				from = j
			}
		}
		d := append([]float64(nil), unit[to]...)
		axpy(d, -1, unit[from])
		gap := -dot(d, z)
		if gap < 1e-14 {
			break
		}
		step := min(weight[from], gap/dot(d, d))
		weight[from] -= step
		weight[to] += step
		axpy(z, step, d)
	}
	return norm(z)
}

func dot(a, b []float64) float64 {
	var s float64
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

func norm(a []float64) float64 { return math.Sqrt(dot(a, a)) }

// axpy adds c*b to a.
func axpy(a []float64, c float64, b []float64) {
	for i := range a {
		a[i] += c * b[i]
	}
}
