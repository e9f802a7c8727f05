package trainer

// Problem is minimise f(x) + r(x) subject to g(x) <= 0, x in R^n, g in R^m, with the iterate x and all vectors
// of its size kept where the problem computes (its device). A method sees m + 1 numbers after a forward pass
// and gives m + 1 weights to a backward pass; x never leaves the device unless it is asked for.
//
// Problems are not safe for concurrent use.
type Problem interface {
	// Dims returns the number n of variables and m of constraints.
	Dims() (n, m int)
	// Forward evaluates at the iterate: it returns f and writes g (length m). The values may be non-finite;
	// Train stops there and names the term.
	Forward(g []float64) (f float64, err error)
	// Backward writes d = weights[0] grad f(x) + sum_j weights[j+1] grad g_j(x), the gradients at the iterate of the last
	// Forward (length of weights m+1). Where g_j is not differentiable its gradient is a subgradient.
	// The vector d must not be the iterate.
	Backward(weights []float64, d Vector) error
	// Regularizer returns r.
	Regularizer() Regularizer
	Space
}

// Point is what a method and the loop know of the iterate: f and g there, and what it cost.
type Point struct {
	Iteration           int
	Objective           float64   // f(x), without r
	Constraints         []float64 // g(x), length m
	GradientEvaluations int       // backward passes so far, certificates' not counted
}

// forward evaluates p at the iterate into at.
func (at *Point) forward(p Problem) (err error) {
	at.Objective, err = p.Forward(at.Constraints)
	return err
}

// backward does a counted backward pass.
func (at *Point) backward(p Problem, weights []float64, d Vector) error {
	at.GradientEvaluations++
	return p.Backward(weights, d)
}

// MaxViolation returns max_j max(0, g_j).
func MaxViolation(g []float64) float64 {
	worst := 0.0
	for _, v := range g {
		worst = max(worst, v)
	}
	return worst
}
