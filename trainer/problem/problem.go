package problem

import (
	"fmt"

	"ppal/trainer/internal/vec"
)

// Problem is minimise f(x) + r(x) subject to g(x) <= 0, x in R^n, g in R^m. The iterate x and all
// vectors of its size stay where the problem computes (Space). A method sees m + 1 numbers after a
// forward pass and gives m + 1 coefficients to a backward pass.
//
// Problems are not safe for concurrent use.
type Problem interface {
	// Dims returns the number n of variables and m of constraints.
	Dims() (n, m int)
	// Forward evaluates at the iterate: it returns f and writes g (length m). The values may be
	// non-finite; the loop stops there and names the function.
	Forward(g []float64) (f float64, err error)
	// Backward writes d = coefficients[0] grad f(x) + sum_j coefficients[j+1] grad g_j(x), the
	// gradients at the iterate of the last Forward (length of coefficients m+1). Where g_j is not
	// differentiable its gradient is a subgradient. The vector d must not be the iterate.
	Backward(coefficients []float64, d Vector) error
	// Space returns the problem's vectors and r, the same Space at every call. If an operation of
	// the vectors failed (Vectors.Err), Forward and Backward return its error.
	Space() *Space
}

// Features are what a problem offers beyond the methods of Problem. FeaturesOf finds them.
type Features struct {
	// Pieces is the problem itself if its constraints are maxima of smooth pieces, else nil.
	Pieces Piecewise
	// Batches is the problem itself if its f and g are those of mini-batches, else nil.
	Batches Sampler
	// Group is the problem itself if its constraint is that of one drawn group, else nil.
	Group DrawnGroup
	// Kinks says that f or g may have kinks that no pieces describe.
	Kinks bool
}

// FeaturesOf finds what p offers by the interfaces that p implements.
func FeaturesOf(p Problem) Features {
	var f Features
	f.Pieces, _ = p.(Piecewise)
	f.Batches, _ = p.(Sampler)
	f.Group, _ = p.(DrawnGroup)
	if k, ok := p.(NonSmooth); ok {
		f.Kinks = k.NonSmooth()
	}
	return f
}

// NonSmooth is a Problem whose f or g may have kinks that it does not describe as pieces (relu
// networks, hinge losses).
type NonSmooth interface{ NonSmooth() bool }

// Sampler is a Problem whose f and g are those of a mini-batch. The loop asks for batch k before it
// evaluates x_k for the method's step; records and certificates use the full problem.
type Sampler interface {
	Problem
	// Sample makes the next Forward evaluate batch k. The batch is a function of k alone, so that a
	// resumed run sees the same batches.
	Sample(k int) error
}

// DrawnGroup is a Sampler with one constraint, that of a group, which is another group at every
// sample.
type DrawnGroup interface {
	Sampler
	// GroupFeatures describes the group of the last sample by features, as many for each group (not a
	// copy).
	GroupFeatures() []float64
	// DecisionViolation returns the group's constraint at the iterate of the last Forward, computed
	// from the model's decisions, with 0-1 errors in place of the surrogate.
	DecisionViolation() (float64, error)
}

// Constraints returns the number m of p's constraints.
func Constraints(p Problem) int { _, m := p.Dims(); return m }

// MaxViolation returns max_j max(0, g_j).
func MaxViolation(g []float64) float64 {
	worst := 0.0
	for _, v := range g {
		worst = max(worst, v)
	}
	return worst
}

// Point is what a method and the loop know of the iterate: f and g there, and what it cost.
type Point struct {
	Iteration           int
	Objective           float64   // f(x), without r
	Constraints         []float64 // g(x), length m
	GradientEvaluations int       // backward passes so far, without those of certificates

	batches Sampler // the problem, if it has mini-batches
}

// NewPoint returns the point of p's iterate, before its first evaluation.
func NewPoint(p Problem) Point {
	return Point{Constraints: make([]float64, Constraints(p)), batches: FeaturesOf(p).Batches}
}

// Forward evaluates p at the iterate into at.
func (at *Point) Forward(p Problem) (err error) {
	at.Objective, err = p.Forward(at.Constraints)
	return err
}

// Backward does a counted backward pass.
func (at *Point) Backward(p Problem, coefficients []float64, d Vector) error {
	at.GradientEvaluations++
	return p.Backward(coefficients, d)
}

// SampleAndForward evaluates p, on batch k if the point's problem has mini-batches (NewPoint).
func (at *Point) SampleAndForward(p Problem, k int) error {
	if at.batches != nil {
		if err := at.batches.Sample(k); err != nil {
			return err
		}
	}
	return at.Forward(p)
}

// Check returns a *NonFiniteError if f or a constraint is not finite.
func (at *Point) Check() error {
	if !vec.Finite(at.Objective) {
		return &NonFiniteError{Term: "objective", Iteration: at.Iteration, Value: at.Objective}
	}
	if j := vec.FirstNonFinite(at.Constraints); j >= 0 {
		return &NonFiniteError{Term: fmt.Sprintf("constraint %d", j), Iteration: at.Iteration, Value: at.Constraints[j], Constraint: j + 1}
	}
	return nil
}

// StateVisitor is shown each part of a method's state by name: to save the state it copies the
// part, to restore the state it sets the part.
type StateVisitor interface {
	Number(name string, x *float64)
	Count(name string, n *int)
	Numbers(name string, x []float64)
	Vector(name string, v Vector)
}
