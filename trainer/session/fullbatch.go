package session

import "ppal/trainer/problem"

// allRows is the task on all rows, with the space of the task on mini-batches. A pass copies the
// iterate to the problem on all rows, or the gradient from it.
type allRows struct {
	problem.Problem // the task on a batch, for its space
	all             problem.Problem
	x               []float64
	d               problem.Vector // of all, for a gradient
}

// allPieces is allRows if constraints are maxima of pieces.
type allPieces struct{ *allRows }

var (
	_ problem.NonSmooth = (*allRows)(nil)
	_ problem.Piecewise = allPieces{}
)

// newAllRows returns the problem all with the space of the problem batch.
func newAllRows(batch, all problem.Problem) *allRows {
	n, _ := all.Dims()
	return &allRows{Problem: batch, all: all, x: make([]float64, n), d: all.Space().New()}
}

// whole returns the problem as methods see it.
func (a *allRows) whole() problem.Problem {
	if problem.FeaturesOf(a.all).Pieces != nil {
		return allPieces{a}
	}
	return a
}

// Forward implements problem.Problem.
func (a *allRows) Forward(g []float64) (float64, error) {
	a.Space().Read(a.x, problem.Iterate)
	a.all.Space().Write(problem.Iterate, a.x)
	return a.all.Forward(g)
}

// Backward implements problem.Problem.
func (a *allRows) Backward(coefficients []float64, d problem.Vector) error {
	return a.gradient(a.all.Backward, coefficients, d)
}

// gradient writes the result of a backward pass on all rows to d.
func (a *allRows) gradient(backward func([]float64, problem.Vector) error, coefficients []float64, d problem.Vector) error {
	if err := backward(coefficients, a.d); err != nil {
		return err
	}
	a.all.Space().Read(a.x, a.d)
	a.Space().Write(d, a.x)
	return nil
}

// NonSmooth implements problem.NonSmooth.
func (a *allRows) NonSmooth() bool { return problem.FeaturesOf(a.all).Kinks }

// Shallow implements problem.Shallow.
func (a *allRows) Shallow() bool { return problem.FeaturesOf(a.all).Shallow }

// Scales implements problem.Scaled.
func (a *allRows) Scales() *problem.Scales { return problem.FeaturesOf(a.all).Scales }

// Pieces implements problem.Piecewise.
func (a allPieces) Pieces() []problem.Piece { return a.all.(problem.Piecewise).Pieces() }

// Terms implements problem.Piecewise.
func (a allPieces) Terms() []float64 { return a.all.(problem.Piecewise).Terms() }

// BackwardTerms implements problem.Piecewise.
func (a allPieces) BackwardTerms(coefficients []float64, d problem.Vector) error {
	return a.gradient(a.all.(problem.Piecewise).BackwardTerms, coefficients, d)
}
