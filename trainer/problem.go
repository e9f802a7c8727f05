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

// Vector is a handle on one of a problem's vectors of length n. It is valid for the Space that returned it.
type Vector int

// Iterate is the handle of x itself.
const Iterate Vector = 0

// Space is linear algebra on a problem's vectors. Reductions accumulate in float64. A device that fails during one
// of these keeps the error and returns it from the next Forward or Backward.
type Space interface {
	// NewVector returns a zero vector.
	NewVector() Vector
	// Free gives a vector back; its handle must not be used again.
	Free(v Vector)
	// Combine sets dst = a x + b y. dst may be x or y; y is not read where b = 0.
	Combine(dst Vector, a float64, x Vector, b float64, y Vector)
	// Descend sets x = x - step (d + momentum v). v is not read where momentum = 0.
	Descend(x Vector, step float64, d Vector, momentum float64, v Vector)
	// Dot returns x.y.
	Dot(x, y Vector) float64
	// Distance returns the Euclidean norm of x - y.
	Distance(x, y Vector) float64
	// Prox sets x = prox_{step r}(x), r the problem's Regularizer.
	Prox(step float64, x Vector)
	// Adam does one step of Kingma and Ba (2015) on x with the moments m1 and m2 and the gradient d, t from 1.
	Adam(x, d, m1, m2 Vector, step float64, t int)
	// Read copies v to the host (length n).
	Read(dst []float64, v Vector)
	// Write copies src (length n) to v, rounding to the space's precision.
	Write(v Vector, src []float64)
	// Roundoff is the unit roundoff of the vectors' numbers: 2^-53 or 2^-24.
	Roundoff() float64
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
