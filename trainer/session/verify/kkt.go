package verify

import (
	"math"

	"ppal/trainer/problem"
)

// residuals are the residuals of the KKT conditions of min f + r s.t. g <= 0 at x, with the
// multiplier nu:
//
//	stationarity     the distance from 0 to grad f + J^T nu + the subdifferential of r
//	infeasibility    the norm of max(0, g)
//	complementarity  sum_j |nu_j g_j|
type residuals struct {
	stationarity, infeasibility, complementarity, domain float64
}

// epsilon is the largest residual.
func (k residuals) epsilon() float64 {
	return max(k.stationarity, k.infeasibility, k.complementarity, k.domain)
}

// The relative distances from the boundary of a ball or box within which a point counts as on the
// boundary, in float32 and in float64.
const (
	boundary32 = 1e-6
	boundary64 = 1e-12
)

// residualsOf returns the residuals for the gradient v = grad f + J^T nu.
func residualsOf(r *problem.Regularizer, ends []int, x, v, g, nu []float64, boundary float64) residuals {
	p := stationary(r, ends, x, v, boundary)
	if b := r.L1Ball; b != nil { // the subdifferential of nu_j ||x||_1 at a weight of 0 is [-nu_j, nu_j]
		for i, xi := range x[:b.Count] {
			if xi == 0 {
				p[i] -= max(-nu[b.Constraint], min(nu[b.Constraint], p[i]))
			}
		}
	}
	k := residuals{stationarity: norm(p)}
	sum := 0.0
	for j, c := range g {
		sum += max(0, c) * max(0, c)
		k.complementarity += math.Abs(nu[j] * c)
	}
	k.infeasibility = math.Sqrt(sum)
	if d := outside(r, x); d > boundary {
		k.domain = d
	}
	return k
}

// stationary returns the element of least norm of v + the subdifferential of r at x.
func stationary(r *problem.Regularizer, ends []int, x, v []float64, boundary float64) []float64 {
	p := append([]float64{}, v...)
	switch r.Kind {
	case problem.Ball: // on the sphere the subdifferential is {t x, t >= 0}
		if n := norm(x); n > 0 && n >= r.Radius*(1-boundary) {
			inner := 0.0
			for i := range x {
				inner += x[i] * v[i]
			}
			if t := -inner / (n * n); t > 0 {
				addTo(p, x, t)
			}
		}
	case problem.Box: // (-inf, 0] at the lower bound, [0, inf) at the upper bound
		lower, upper := r.Lower, r.Upper
		if !math.IsInf(lower, 0) {
			lower += boundary * (1 + math.Abs(lower))
		}
		if !math.IsInf(upper, 0) {
			upper -= boundary * (1 + math.Abs(upper))
		}
		for i, xi := range x {
			if xi <= lower {
				p[i] = min(p[i], 0)
			}
			if xi >= upper {
				p[i] = max(p[i], 0)
			}
		}
	case problem.L1: // sign(x_i), [-1, 1] at 0
		for i, xi := range x {
			switch {
			case xi > 0:
				p[i] += r.Weight
			case xi < 0:
				p[i] -= r.Weight
			default:
				p[i] -= max(-r.Weight, min(r.Weight, p[i]))
			}
		}
	case problem.SquaredL2:
		addTo(p, x, r.Weight)
	case problem.GroupL1: // x/||x||, the unit ball at 0
		from := 0
		for _, end := range ends {
			if n := norm(x[from:end]); n > 0 {
				addTo(p[from:end], x[from:end], r.Weight/n)
			} else if n := norm(p[from:end]); n <= r.Weight {
				clear(p[from:end])
			} else {
				addTo(p[from:end], append([]float64{}, p[from:end]...), -r.Weight/n)
			}
			from = end
		}
	}
	return p
}

// regularization returns r(x), 0 for the ball and the box.
func regularization(r *problem.Regularizer, ends []int, x []float64) float64 {
	sum := 0.0
	switch r.Kind {
	case problem.L1:
		for _, v := range x {
			sum += math.Abs(v)
		}
	case problem.SquaredL2:
		for _, v := range x {
			sum += v * v / 2
		}
	case problem.GroupL1:
		from := 0
		for _, end := range ends {
			sum += norm(x[from:end])
			from = end
		}
	}
	return r.Weight * sum
}

// outside returns the distance of x from the ball or the box, relative to its size.
func outside(r *problem.Regularizer, x []float64) float64 {
	switch r.Kind {
	case problem.Ball:
		return max(0, norm(x)/r.Radius-1)
	case problem.Box:
		far := 0.0
		for _, v := range x {
			if v < r.Lower {
				far = max(far, (r.Lower-v)/(1+math.Abs(r.Lower)))
			}
			if v > r.Upper {
				far = max(far, (v-r.Upper)/(1+math.Abs(r.Upper)))
			}
		}
		return far
	}
	return 0
}

func norm(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// distance returns the norm of x - y.
func distance(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Sqrt(sum)
}
