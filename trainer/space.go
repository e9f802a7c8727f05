package trainer

// Vector is a handle on one of a problem's vectors of length n. It is valid for the Space that returned it.
type Vector int

// Iterate is the handle of x itself.
const Iterate Vector = 0

// Space is linear algebra on a problem's vectors and the steps of the iterate, each one operation, so that a device does it in its
// fewest passes. Reductions accumulate in float64. A device that fails during one of these keeps the error and returns it from the
// next Forward or Backward.
//
// The numbers of the vectors are of the space's precision, and results are those of the formulas up to its rounding; HostSpace with its
// plain loops is the reference.
type Space interface {
	// NewVector returns a zero vector.
	NewVector() Vector
	// Free gives a vector back; its handle must not be used again.
	Free(v Vector)
	// Combine sets dst = a x + b y. dst may be x or y; y is not read where b = 0.
	Combine(dst Vector, a float64, x Vector, b float64, y Vector)
	// Dot returns x.y.
	Dot(x, y Vector) float64
	// Distance returns the Euclidean norm of x - y.
	Distance(x, y Vector) float64
	// Prox sets x = prox_{step r}(x), r the problem's Regularizer.
	Prox(step float64, x Vector)
	// Descend moves the iterate by a proximal step with momentum.
	Descend(s Descent)
	// Moved returns ||x+ - x|| and ||x+|| of the last Descend. It is a call of its own, made when the numbers are needed, so that a
	// device need not stop after Descend.
	Moved() (distance, norm float64)
	// Adam moves the iterate by a step of Kingma and Ba (2015), t from 1, and r's proximal map:
	//
	//	m1 = 0.9 m1 + 0.1 d,   m2 = 0.999 m2 + 0.001 d^2,
	//	x+ = prox_{step r}(x - step m1/(1 - 0.9^t) / (sqrt(m2/(1 - 0.999^t)) + 1e-8)).
	Adam(d, m1, m2 Vector, step float64, t int)
	// Adagrad moves the iterate by a step of Duchi, Hazan and Singer (2011) and r's proximal map:
	//
	//	s = s + d^2,   x+ = prox_{step r}(x - step d / (sqrt(s) + 1e-10)).
	Adagrad(d, s Vector, step float64)
	// Read copies v to the host (length n).
	Read(dst []float64, v Vector)
	// Write copies src (length n) to v, rounding to the space's precision.
	Write(v Vector, src []float64)
	// Roundoff is the unit roundoff of the vectors' numbers: 2^-53 or 2^-24.
	Roundoff() float64
}

// Descent is a proximal step with momentum of the iterate x (Space.Descend):
//
//	v = b v + d,   x+ = prox_{c r}(x - e (d + b v)).
//
// Where b = 0 it is x+ = prox_{c r}(x - e d), and v is neither read nor written.
type Descent struct {
	Direction Vector  // d, neither x nor v
	Velocity  Vector  // v
	Step      float64 // e
	Momentum  float64 // b
	Length    float64 // c, of the proximal map
}
