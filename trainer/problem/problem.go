package problem

import (
	"fmt"
	"math"

	"ppal/internal/vec"
)

// Problem is the problem to minimise f(x) + r(x) subject to g(x) <= 0, x in R^n, g in R^m. The
// iterate x and all vectors of its length stay on the device of the problem (Space). A forward pass
// gives f and g to the method, 1 + m numbers. The method gives 1 + m coefficients to a backward
// pass.
//
// Problems are not safe for concurrent use.
type Problem interface {
	// Dims returns the numbers n of variables and m of constraints.
	Dims() (n, m int)
	// Forward evaluates f and g at the iterate. It returns f and writes g (length m). If a value is
	// not finite, the training loop ends the run with an error that names f or the constraint.
	Forward(g []float64) (f float64, err error)
	// Backward writes d = coefficients[0] grad f(x) + sum_j coefficients[j+1] grad g_j(x), the
	// gradients at the iterate of the last Forward (length of coefficients m+1). If g_j is not
	// differentiable at the iterate, its gradient is a subgradient. The vector d must not be the
	// iterate.
	Backward(coefficients []float64, d Vector) error
	// Space returns the problem's vectors and r, the same Space at every call. If an operation of
	// the vectors failed (Vectors.Err), Forward and Backward return its error.
	Space() *Space
}

// Features are the optional interfaces that a problem implements. FeaturesOf finds them.
type Features struct {
	// Pieces is the problem itself if its constraints are maxima of smooth pieces, else nil.
	Pieces Piecewise
	// Batches is the problem itself if it evaluates f and g on mini-batches, else nil.
	Batches Sampler
	// Group is the problem itself if its constraints bound one drawn group, else nil.
	Group DrawnGroup
	// Graded is the problem, or the Inner problem of a Form, if its passes have several grades,
	// else nil.
	Graded Graded
	// Kinks says that f or g may have kinks that no pieces describe.
	Kinks bool
	// Shallow says that the problem, or the Inner problem of a Form, has no hidden layers.
	Shallow bool
	// Scales are the scales of the problem, or of the Inner problem of a Form; nil: none. See
	// Scaled.
	Scales *Scales
	// Note is the note of the problem, or of the Inner problem of a Form; "": none. See Noted.
	Note string
}

// FeaturesOf returns the optional interfaces that p implements.
func FeaturesOf(p Problem) Features {
	var f Features
	f.Pieces, _ = p.(Piecewise)
	f.Batches, _ = p.(Sampler)
	f.Group, _ = p.(DrawnGroup)
	if k, ok := p.(NonSmooth); ok {
		f.Kinks = k.NonSmooth()
	}
	for {
		if g, ok := p.(Graded); ok && f.Graded == nil && len(g.Grades()) > 1 {
			f.Graded = g
		}
		if s, ok := p.(Shallow); ok && s.Shallow() {
			f.Shallow = true
		}
		if s, ok := p.(Scaled); ok && f.Scales == nil {
			f.Scales = s.Scales()
		}
		if n, ok := p.(Noted); ok && f.Note == "" {
			f.Note = n.Note()
		}
		form, ok := p.(Form)
		if !ok {
			return f
		}
		p = form.Inner()
	}
}

// Several is a Problem that computes several gradients in one pass over its rows.
type Several interface {
	// BackwardSeveral is Backward with each of the coefficients. It writes the gradient with
	// coefficients[i] to d[i].
	BackwardSeveral(coefficients [][]float64, d []Vector) error
}

// BackwardSeveral computes the gradients of p with each of the coefficients, in one pass if p is a
// Several.
func BackwardSeveral(p Problem, coefficients [][]float64, d []Vector) error {
	if s, ok := p.(Several); ok {
		return s.BackwardSeveral(coefficients, d)
	}
	for i, c := range coefficients {
		if err := p.Backward(c, d[i]); err != nil {
			return err
		}
	}
	return nil
}

// Noted is a Problem with a note for the user, such as which operations are slow. Train adds the
// note to the notes of the result.
type Noted interface{ Note() string }

// Form is a Problem that restates another problem. Both have the same iterate and the same passes.
type Form interface {
	Problem
	// Inner returns the restated problem.
	Inner() Problem
}

// Grade describes passes that are faster than the accurate ones and tell less about f and g.
type Grade struct {
	// Share is the share of the rows that a pass sees, in (0, 1]. f and g of a share below 1 are
	// those of a fixed sample of the rows.
	Share float64
	// Roundoff is the relative rounding error of the weights and of the derivatives in a pass; 0:
	// the roundoff of the space.
	Roundoff float64
}

// Graded is a Problem whose passes have grades, from the coarsest to the accurate one. All passes
// are accurate until SetGrade.
type Graded interface {
	Problem
	// Grades returns the grades in the order of growing shares and falling roundoffs (not a copy).
	// The last one is Grade{Share: 1}, the accurate passes. A problem without coarse passes has at
	// most this grade.
	Grades() []Grade
	// SetGrade makes the following passes those of Grades()[k]. A Backward must have the grade of
	// the last Forward.
	SetGrade(k int)
	// Grade returns the number of the present grade.
	Grade() int
}

// Coarse reports whether the present passes of g are not the accurate ones; false for nil.
func Coarse(g Graded) bool { return g != nil && g.Grade() < len(g.Grades())-1 }

// MakeAccurate makes the following passes of g the accurate ones. g may be nil.
func MakeAccurate(g Graded) {
	if Coarse(g) {
		g.SetGrade(len(g.Grades()) - 1)
	}
}

// WithAccuratePasses runs measure with accurate passes. If p's passes were coarse, they have their
// grade again afterwards.
func WithAccuratePasses(p Problem, measure func() error) error {
	g := FeaturesOf(p).Graded
	if !Coarse(g) {
		return measure()
	}
	defer g.SetGrade(g.Grade())
	MakeAccurate(g)
	return measure()
}

// NonSmooth is a Problem that reports whether f or g may have kinks that no pieces describe (relu
// networks, hinge losses).
type NonSmooth interface{ NonSmooth() bool }

// Shallow is a Problem that reports whether it is known to have no hidden layers: a linear model,
// or plain functions of the variables. Quasi-Newton steps then begin with a larger penalty and with
// longer steps, because no saturated unit stops the gradient.
type Shallow interface{ Shallow() bool }

// Sampler is a Problem that evaluates f and g on a mini-batch. The training loop selects batch k
// before it evaluates x_k for the method's step. Records and certificates use the full problem.
type Sampler interface {
	Problem
	// Sample makes the next Forward evaluate batch k. The batch is a function of k alone, so that a
	// resumed run sees the same batches.
	Sample(k int) error
}

// BlockSampler is a Sampler whose batches are fixed blocks of the rows. A pass uses each block
// once.
type BlockSampler interface {
	Sampler
	// Block returns the number of the block of batch k, from 0, and the number of blocks. If batch
	// k has all rows, blocks is 0.
	Block(k int) (block, blocks int)
}

// DrawnGroup is a Sampler whose constraints bound one group. Every sample draws a new group.
type DrawnGroup interface {
	Sampler
	// GroupFeatures returns the features of the last sample's group (not a copy). All groups have
	// the same number of features.
	GroupFeatures() []float64
	// DecisionViolations returns the group's constraints at the iterate of the last Forward, computed
	// from the model's decisions, with 0-1 errors in place of the surrogate.
	DecisionViolations() ([]float64, error)
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

// Point holds the values of f and g at the iterate, and counts iterations and gradients.
type Point struct {
	Iteration   int
	Objective   float64   // f(x), without r
	Constraints []float64 // g(x), length m
	// GradientEvaluations are the backward passes so far, without those of certificates. Passes
	// that see a sample of the rows count by their shares (Grade), in whole numbers: Part has the
	// rest.
	GradientEvaluations int
	Part                float64 // in [0, 1)

	batches Sampler // the problem, if it has mini-batches
	graded  Graded  // the problem, if its passes have grades
	stale   bool    // see Restore
}

// NewPoint returns the point of p's iterate, before its first evaluation.
func NewPoint(p Problem) Point {
	f := FeaturesOf(p)
	return Point{Constraints: make([]float64, Constraints(p)), batches: f.Batches, graded: f.Graded}
}

// Forward evaluates p at the iterate and stores f and g in at.
func (at *Point) Forward(p Problem) (err error) {
	at.stale = false
	at.Objective, err = p.Forward(at.Constraints)
	return err
}

// Restore stores f and g, the values at an iterate that p has left and come back to. p's last
// forward pass belongs to another point: Backward and Refresh repeat the pass at the iterate.
func (at *Point) Restore(f float64, g []float64) {
	at.Objective, at.stale = f, true
	copy(at.Constraints, g)
}

// Stale reports whether p's last forward pass belongs to another point than the iterate.
func (at *Point) Stale() bool { return at.stale }

// Refresh makes sure that p's last forward pass is at the iterate.
func (at *Point) Refresh(p Problem) error {
	if !at.stale {
		return nil
	}
	return at.Forward(p)
}

// Backward runs p's backward pass at the iterate and counts the gradient.
func (at *Point) Backward(p Problem, coefficients []float64, d Vector) error {
	if err := at.Refresh(p); err != nil {
		return err
	}
	at.count()
	return p.Backward(coefficients, d)
}

// count counts a backward pass of the present grade.
func (at *Point) count() {
	if at.graded != nil {
		if share := at.graded.Grades()[at.graded.Grade()].Share; share < 1 {
			at.Part += share
			whole := math.Floor(at.Part)
			at.GradientEvaluations += int(whole)
			at.Part -= whole
			return
		}
	}
	at.GradientEvaluations++
}

// SampleAndForward selects batch k if the problem given to NewPoint has mini-batches, and then
// evaluates p.
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
		return &NonFiniteError{Term: fmt.Sprintf("constraint %d", j+1), Iteration: at.Iteration, Value: at.Constraints[j], Constraint: j + 1}
	}
	return nil
}

// StateVisitor visits each part of a method's state by name. A visitor that saves the state copies
// each part. A visitor that restores the state sets each part.
type StateVisitor interface {
	Number(name string, x *float64)
	Count(name string, n *int)
	Numbers(name string, x []float64)
	Vector(name string, v Vector)
}

// VisitFlag shows a flag to v, as the count 0 or 1.
func VisitFlag(v StateVisitor, name string, flag *bool) {
	n := 0
	if *flag {
		n = 1
	}
	v.Count(name, &n)
	*flag = n != 0
}
