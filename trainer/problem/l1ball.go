package problem

import (
	"cmp"
	"math"
	"slices"

	"ppal/internal/vec"
)

// L1Ball is the set sum_(i < Count) |x_i| <= Bound of a constraint on the l1 norm of weights. Every
// step ends with the projection onto the set, which sets weights to exactly 0: subgradient steps do
// not come to rest at the norm's kinks.
type L1Ball struct {
	Count      int     // number of the first variables, whose norm is bounded
	Bound      float64 // >= 0
	Constraint int     // index j of the constraint g_j = sum |x_i| - Bound

	multiplier float64 // nu_j: see WithMultipliers
}

// AllowsL1Ball reports whether r may have an l1 ball: the proximal map of the sum is then that of
// r, followed by the projection. With the l1 norm, both are soft thresholds, which add up.
func (k RegularizerKind) AllowsL1Ball() bool { return k == NoRegularizer || k == SquaredL2 || k == L1 }

// project sets x to the nearest point of the set: the soft threshold of the first variables by the
// t >= 0 for which their norm is Bound (Duchi et al., ICML 2008).
func (b *L1Ball) project(x []float64) {
	size, sizes := 0.0, make([]float64, b.Count)
	for i, v := range x[:b.Count] {
		sizes[i] = math.Abs(v)
		size += sizes[i]
	}
	if !(size > b.Bound) { // or NaN, which the training loop reports
		return
	}
	slices.SortFunc(sizes, func(a, b float64) int { return cmp.Compare(b, a) })
	sum, t := 0.0, 0.0
	for k, v := range sizes {
		sum += v
		own := (sum - b.Bound) / float64(k+1)
		if v < own {
			break
		}
		t = own
	}
	for i, v := range x[:b.Count] {
		x[i] = shrink(v, t)
	}
}

// WithMultipliers returns r with the multipliers nu of the constraints. At a weight of 0, the
// subdifferential of nu_j g_j of the l1 ball's constraint is the interval [-nu_j, nu_j], which
// Residual then adds.
func (r Regularizer) WithMultipliers(nu []float64) Regularizer {
	if r.L1Ball != nil {
		b := *r.L1Ball
		b.multiplier = nu[b.Constraint]
		r.L1Ball = &b
	}
	return r
}

// FitMultiplier sets nu_j >= 0 of the l1 ball's constraint to the minimiser of
//
//	||p||^2 + (nu_j g_j)^2,
//
// with p as in Residual. It changes v from the gradient with the old nu to the gradient with the
// new nu. Without an l1 ball it does nothing.
func (r Regularizer) FitMultiplier(nu, g, x, v []float64) {
	b := r.L1Ball
	if b == nil {
		return
	}
	p := make([]float64, len(x))
	r.Residual(p, x, v, 0)
	var zeros []float64 // |p_i| at the weights of 0
	j, sum := b.Constraint, 0.0
	slope := g[j] * g[j]
	for i, xi := range x[:b.Count] {
		if xi == 0 {
			zeros = append(zeros, math.Abs(p[i]))
			continue
		}
		sum += nu[j] - math.Copysign(1, xi)*p[i]
		slope++
	}
	slices.SortFunc(zeros, func(a, b float64) int { return cmp.Compare(b, a) })
	multiplier := 0.0
	if slope > 0 {
		multiplier = max(0, sum/slope)
	}
	for _, z := range zeros {
		if z <= multiplier {
			break
		}
		sum += z
		slope++
		multiplier = max(0, sum/slope)
	}
	if !vec.Finite(multiplier) { // v is not finite, and neither is the residual
		return
	}
	for i, xi := range x[:b.Count] {
		if xi != 0 {
			v[i] += math.Copysign(1, xi) * (multiplier - nu[j])
		}
	}
	nu[j] = multiplier
}

// free reports whether variable i is a weight of 0 whose derivative the multiplier absorbs.
func (r *Regularizer) free(i int, x float64) bool {
	return r.L1Ball != nil && i < r.L1Ball.Count && x == 0
}
