package problem

import "math"

// Vector is the handle of a vector. It is valid only for the Vectors that returned it.
type Vector int

// Iterate is the handle of x itself.
const Iterate Vector = 0

// Vectors are a device's operations on vectors of the same length. Each operation is a single call,
// so that a device can run the operation in few passes over memory. Reductions accumulate in
// float64. The elements have the device's precision, and results are rounded to that precision.
// HostVectors with plain loops is the reference.
//
// If an operation fails, Err returns its error. Later operations do nothing and return NaN.
type Vectors interface {
	// Len returns the length of the vectors.
	Len() int
	// New returns a zero vector.
	New() Vector
	// Free frees a vector. The caller must not use its handle again. Free panics on the iterate.
	Free(v Vector)
	// Combine sets dst = a x + b y. dst may be x or y; y is not read if b = 0.
	Combine(dst Vector, a float64, x Vector, b float64, y Vector)
	// Dot returns x.y.
	Dot(x, y Vector) float64
	// Dots sets dst[i len(ys) + j] = xs[i].ys[j]. It is for few xs: a device may read each of the ys
	// once for all xs. Dots panics if the length of dst is not len(xs) len(ys). After an error dst is
	// NaN.
	Dots(dst []float64, xs, ys []Vector)
	// Sum sets dst = sum_i coefficients[i] xs[i]; without xs, dst = 0. dst may be one of the xs. Each
	// element is accumulated in float64 in the order of xs, and rounded once. Sum reads every vector:
	// a coefficient of 0 does not hide NaN or Inf. Sum panics if coefficients and xs have different
	// lengths.
	Sum(dst Vector, coefficients []float64, xs []Vector)
	// Distance returns the Euclidean norm of x - y.
	Distance(x, y Vector) float64
	// Apply runs a step.
	Apply(s Step)
	// Moved returns ||x+ - x|| and ||x+|| of the last DescentStep. Moved is separate from Apply, so
	// that the host waits for the step only if the caller needs the norms.
	Moved() (distance, norm float64)
	// Read copies v to the host (length Len).
	Read(dst []float64, v Vector)
	// Write copies src (length Len) to v and rounds to the device's precision.
	Write(v Vector, src []float64)
	// Roundoff returns the unit roundoff of the vectors' numbers: 2^-53 or 2^-24.
	Roundoff() float64
	// Err returns the first error of an operation.
	Err() error
}

// StepKind names the formula of a Step.
type StepKind int

// The steps, with P the step's Map, d its Direction, e its Size and b its Momentum.
const (
	// ProximalStep is x = P(x).
	ProximalStep StepKind = iota
	// DescentStep is a step with momentum, v = First:
	//
	//	v = b v + d,   x+ = P(x - e (d + b v)).
	//
	// If b = 0 the step is x+ = P(x - e d), and v is neither read nor written.
	DescentStep
	// AdamStep is the step of Kingma and Ba (2015), m1 = First, m2 = Second, t = Time from 1:
	//
	//	m1 = 0.9 m1 + 0.1 d,   m2 = 0.999 m2 + 0.001 d^2,
	//	x+ = P(x - e m1/(1 - 0.9^t) / (sqrt(m2/(1 - 0.999^t)) + 1e-8)).
	AdamStep
	// AdagradStep is the step of Duchi, Hazan and Singer (2011), s = Second:
	//
	//	s = s + d^2,   x+ = P(x - e d / (sqrt(s) + 1e-10)).
	AdagradStep
)

// Step describes a step of a vector. Apply reads only the fields that the formula of Kind names.
type Step struct {
	Kind      StepKind
	X         Vector // the vector that moves
	Direction Vector // d, not X, First or Second
	First     Vector // the velocity, or Adam's first moment
	Second    Vector // the second moment, or the sum of squares
	Size      float64
	Momentum  float64
	Time      int // of AdamStep, from 1
	Map       Map
}

// The constants of AdamStep and AdagradStep.
const (
	AdamDecay1     = 0.9
	AdamDecay2     = 0.999
	AdamEpsilon    = 1e-8
	AdagradEpsilon = 1e-10
)

// AdamFactors returns Adam's step with the corrections of the moments' bias,
// rate = Size/(1 - 0.9^t) and root = 1/(1 - 0.999^t): x moves by -rate m1/(sqrt(root m2) + 1e-8).
func (s *Step) AdamFactors() (rate, root float64) {
	t := float64(s.Time)
	return s.Size / (1 - math.Pow(AdamDecay1, t)), 1 / (1 - math.Pow(AdamDecay2, t))
}

// MapKind names the formula of a Map.
type MapKind int

// The proximal maps.
const (
	// IdentityMap is P(y) = y.
	IdentityMap MapKind = iota
	// ElementwiseMap acts on each element separately: a shrinkage, a projection onto a box or a
	// soft threshold:
	//
	//	z = min(max(Scale y, Lower), Upper),   P(y) = z - min(max(z, -Threshold), Threshold).
	ElementwiseMap
	// BallMap is the projection onto ||y|| <= Radius.
	BallMap
	// GroupMap is the block soft threshold: the group y_G becomes max(0, 1 - Threshold/||y_G||)
	// y_G.
	GroupMap
	// L1BallMap is an ElementwiseMap, followed by the projection onto L1Ball. The vectors of NewSpace
	// project on the host; devices do not know this map.
	L1BallMap
)

// Map describes a proximal map (see Regularizer.Map). Apply reads only the fields that the formula
// of Kind names. The zero value is the identity.
type Map struct {
	Kind                MapKind
	Scale, Lower, Upper float64 // of ElementwiseMap and L1BallMap, Scale >= 0
	L1Ball              *L1Ball // of L1BallMap
	Threshold           float64 // of ElementwiseMap, L1BallMap and GroupMap, >= 0
	Radius              float64 // of BallMap
	Ends                []int   // of GroupMap: the ends of consecutive groups; the last is Len
}

// Elementwise returns the elementwise part of the map: m itself if it is an ElementwiseMap, else
// the identity as an ElementwiseMap.
func (m Map) Elementwise() Map {
	if m.Kind == ElementwiseMap {
		return m
	}
	return Map{Kind: ElementwiseMap, Scale: 1, Lower: math.Inf(-1), Upper: math.Inf(1)}
}

// BallFactor returns the factor of the projection of a vector of the given squared norm.
func (m *Map) BallFactor(squared float64) float64 {
	if n := math.Sqrt(squared); n > m.Radius {
		return m.Radius / n
	}
	return 1
}

// GroupFactor returns the factor of the block soft threshold of a group of the given squared norm.
// For a squared norm of NaN, the factor is NaN.
func (m *Map) GroupFactor(squared float64) float64 {
	n := math.Sqrt(squared)
	if n <= m.Threshold {
		return 0
	}
	return 1 - m.Threshold/n
}
