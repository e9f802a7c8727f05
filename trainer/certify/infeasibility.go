package certify

import (
	"cmp"
	"slices"

	"ppal/internal/vec"
	"ppal/trainer/problem"
)

// Infeasibility is the evidence that no point near x meets all constraints. x is the result of
// SearchFeasible, a stationary point of v. The evidence is a combination of the constraints that is
// positive and stationary at x:
//
//	y = max(0, g)/||max(0, g)||_1,   y.g > 0,   -J^T y in the normal cone of r's domain,
//
// the last up to Stationarity.
//
// If g and the domain are convex and Stationarity is 0, every point z of the domain has
//
//	max_j g_j(z) >= y.g(z) >= y.g(x) = Relaxation > 0,
//
// which is a theorem of the alternative (Farkas). Without convexity the statement holds to first
// order, near x.
type Infeasibility struct {
	X      []float64 // x, as problem.Space.Read returns it
	Shares []float64 // y, length m; the sum is 1; 0 for a constraint that x meets
	Values []float64 // g(x)
	// Relaxation is y.g(x): to first order, the constraints cannot be met unless all bounds are
	// raised by this amount. Raised by the largest element of Values, the bounds are met at x.
	Relaxation float64
	// Stationarity is the distance of -J^T y to the normal cone, relative to sum_j y_j ||grad
	// g_j||.
	Stationarity float64
	// Radius is the distance from x within which the constraints cannot be met, to first order,
	// relative to 1 + ||x||: Relaxation divided by the distance of -J^T y to the normal cone, which
	// counts as at least the rounding of the gradients (2^-52 of their mean length).
	Radius float64
}

const (
	// stationary is the largest Stationarity that proves infeasibility. Where the constraints can
	// be met, but slowly (shirts on Fashion-MNIST, bounds of 0.05), the smallest measured is 0.05.
	// Where they cannot be met, it falls below 0.01 within 60 steps.
	stationary = 0.03
	// clearance is the smallest Radius that proves infeasibility. On the shirts the largest
	// searchMeasured is 0.5.
	clearance = 2
	// rounding is the least Stationarity with which Radius is computed, because gradients are
	// rounded. So Radius is finite where two gradients are exactly opposite.
	rounding = 0x1p-52
	// searchMeasured is the largest number of gradients whose norms stand for all norms in
	// Stationarity.
	searchMeasured = 8
)

// Proves reports whether the certificate proves that the constraints cannot be met near x:
// Stationarity is at most 0.03, and Radius at least 2.
func (c *Infeasibility) Proves() bool { return c.Stationarity <= stationary && c.Radius >= clearance }

// certify returns the certificate at the iterate, without Values. It costs a backward pass, and one
// for each of up to 8 violated constraints.
func (r *search) certify() (*Infeasibility, error) {
	total := r.total()
	c := &Infeasibility{X: make([]float64, r.space.Len()), Shares: make([]float64, len(r.g)), Relaxation: 2 * r.value() / total}
	var largest []int
	for j, g := range r.g {
		if c.Shares[j] = max(0, g) / total; g > 0 {
			largest = append(largest, j)
		}
	}
	slices.SortStableFunc(largest, func(a, b int) int { return cmp.Compare(c.Shares[b], c.Shares[a]) })
	lengths, shares := 0.0, 0.0
	d := make([]float64, r.space.Len())
	for _, j := range largest[:min(len(largest), searchMeasured)] {
		if err := r.gradient(j, r.next); err != nil {
			return nil, err
		}
		r.space.Read(d, r.next)
		lengths += c.Shares[j] * vec.Norm(d)
		shares += c.Shares[j]
	}
	if err := r.backward(1/total, r.next); err != nil {
		return nil, err
	}
	r.space.Read(d, r.next)
	r.space.Read(c.X, problem.Iterate)
	r.space.Regularizer.Residual(d, c.X, d, r.set.Sphere)
	distance, length := vec.Norm(d), lengths/shares
	c.Stationarity = distance / length // NaN if all gradients are 0: proves nothing
	c.Radius = c.Relaxation / max(distance, rounding*length) / (1 + vec.Norm(c.X))
	return c, nil
}

// complete replaces the shares of the pieces of p by the shares of p's constraints, and sets
// Values. It makes x the iterate of p.
func (c *Infeasibility) complete(p problem.Problem) error {
	p.Space().Write(problem.Iterate, c.X)
	c.Values = make([]float64, problem.Constraints(p))
	if _, err := p.Forward(c.Values); err != nil {
		return err
	}
	if pw := problem.FeaturesOf(p).Pieces; pw != nil {
		shares := make([]float64, len(c.Values))
		for i, b := range pw.Pieces() {
			shares[b.Constraint] += c.Shares[i]
		}
		c.Shares = shares
	}
	return nil
}
