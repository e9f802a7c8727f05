// Package testproblems is a library of small constrained problems
//
//	minimise f(x) + r(x)  subject to  g_j(x) <= 0, j = 1..m
//
// whose Karush-Kuhn-Tucker points are known in closed form or to full float64
// precision, so that every optimisation method can be compared with the same
// exact answers. r is absent, the indicator of a ball or the indicator of a
// box.
//
// Formulas and published figures come from the sources that each problem
// cites; the optima were refined, and the multipliers computed, by Newton's
// method on the active KKT system in 50-digit arithmetic, or are exact.
package testproblems

// Kind says whether the constraints of a problem are smooth.
type Kind int

const (
	// Smooth problems have continuously differentiable constraints.
	Smooth Kind = iota
	// Kink problems have constraints that are maxima of smooth pieces,
	// such as |h(x)| - eps. See [Problem.Pieces].
	Kink
)

// String returns the kind's name in lower case.
func (k Kind) String() string {
	switch k {
	case Smooth:
		return "smooth"
	case Kink:
		return "kink"
	}
	return "unknown"
}

// Piece is one smooth piece Sign*h[Term] + Offset. A constraint is the maximum of its pieces.
type Piece struct {
	Constraint int     // index of the constraint that the piece belongs to
	Term       int     // index of the smooth term h
	Sign       float64 // +1, -1, or 0 for a constant piece
	Offset     float64
}

// Problem is a constrained problem with a known KKT point. Its functions are
// deterministic and allocate nothing. Several goroutines must not call the
// functions of one value at the same time, because some use scratch space.
type Problem struct {
	Name   string
	Source string // book or paper, with the problem's number there
	Kind   Kind

	N int // number of variables
	M int // length of G's result: constraints, or terms h if Pieces is set

	Start []float64 // the standard start, possibly infeasible or outside the box

	// F returns the smooth objective f(x).
	F func(x []float64) float64
	// Grad sets dst, of length N, to the gradient of f at x.
	Grad func(dst, x []float64)
	// G sets dst, of length M, to the constraints g(x), which must be <= 0,
	// or to the smooth terms h(x) if Pieces is set.
	G func(dst, x []float64)
	// JTW sets dst, of length N, to J(x)^T w, J being the Jacobian of G.
	JTW func(dst, x, w []float64)

	// Pieces is nil for smooth problems. Otherwise constraint j is the
	// maximum of the pieces that name it, and the pieces are sorted by
	// constraint. See [Problem.Constraints] and [Problem.Split].
	Pieces []Piece

	// Ball is the radius of the ball around the origin whose indicator is r;
	// 0 for none.
	Ball float64
	// Lower and Upper bound the box whose indicator is r, coordinate by
	// coordinate, with infinities where there is no bound; both nil for none.
	Lower, Upper []float64

	// Optimum is the KKT point x*, a local minimiser (the global one unless
	// LocalMinima is set).
	Optimum []float64
	// Value is f(x*).
	Value float64
	// Multipliers is one valid vector of multipliers at x*: one for each
	// constraint, or one for each piece if Pieces is set (a constraint's own
	// multiplier is then at least the sum over its pieces). The multipliers of
	// the ball and the box are not listed, because stationarity determines
	// them. If LICQ holds, the multipliers are unique.
	Multipliers []float64

	// Convex: f and every constraint (or piece) are convex on the box, or
	// everywhere if there is no box.
	Convex bool
	// StrictComplementarity: at (x*, Multipliers) every active constraint,
	// the ball and the box included, has a positive multiplier. If multipliers
	// are not unique, the field describes the listed multipliers.
	StrictComplementarity bool
	// LICQ: the gradients of all active constraints, the ball and the box
	// included, are linearly independent at x*. For kink problems the field
	// describes the split form.
	LICQ bool
	// MFCQ: some direction decreases all those active constraints at once
	// (the Mangasarian-Fromovitz qualification). LICQ implies it.
	MFCQ bool
	// BadlyScaled: curvatures or multipliers differ by orders of magnitude,
	// so that first-order methods need many iterations.
	BadlyScaled bool
	// LocalMinima: there are KKT points other than x*, and a descent method
	// may reach one of them from Start.
	LocalMinima bool
}

// All returns every problem of the library, in a fixed order, as new values
// that the caller may modify.
func All() []Problem {
	var all []Problem
	for _, group := range []func() []Problem{
		quadraticPrograms, nonconvexProblems, ballProblems,
		absoluteProblems, maximumProblems, largestPolygons,
		hockSchittkowskiLow, hockSchittkowskiMiddle, hockSchittkowskiHigh,
	} {
		all = append(all, group()...)
	}
	return all
}

// ByName returns a new value of the problem with the given name.
func ByName(name string) (Problem, bool) {
	for _, p := range All() {
		if p.Name == name {
			return p, true
		}
	}
	return Problem{}, false
}
