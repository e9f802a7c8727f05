package session

import "ppal/trainer/problem"

// fullBatch is the task on all rows, with the space of the task on mini-batches. A pass copies the
// iterate to the problem on all rows, or the gradient from it.
type fullBatch struct {
	problem.Problem // the task on a batch, for its space
	all             problem.Problem
	x               []float64
	d               problem.Vector // of all, for a gradient
}

// fullPieces is fullBatch if constraints are maxima of pieces.
type fullPieces struct{ *fullBatch }

var (
	_ problem.NonSmooth = (*fullBatch)(nil)
	_ problem.Piecewise = fullPieces{}
)

// newFullBatch returns the problem all with the space of the problem batch.
func newFullBatch(batch, all problem.Problem) *fullBatch {
	n, _ := all.Dims()
	return &fullBatch{Problem: batch, all: all, x: make([]float64, n), d: all.Space().New()}
}

// whole returns the problem as methods see it.
func (a *fullBatch) whole() problem.Problem {
	if problem.FeaturesOf(a.all).Pieces != nil {
		return fullPieces{a}
	}
	return a
}

// Forward implements problem.Problem.
func (a *fullBatch) Forward(g []float64) (float64, error) {
	a.Space().Read(a.x, problem.Iterate)
	a.all.Space().Write(problem.Iterate, a.x)
	return a.all.Forward(g)
}

// Backward implements problem.Problem.
func (a *fullBatch) Backward(coefficients []float64, d problem.Vector) error {
	return a.gradient(a.all.Backward, coefficients, d)
}

// gradient writes the result of a backward pass on all rows to d.
func (a *fullBatch) gradient(backward func([]float64, problem.Vector) error, coefficients []float64, d problem.Vector) error {
	if err := backward(coefficients, a.d); err != nil {
		return err
	}
	a.all.Space().Read(a.x, a.d)
	a.Space().Write(d, a.x)
	return nil
}

// NonSmooth implements problem.NonSmooth.
func (a *fullBatch) NonSmooth() bool { return problem.FeaturesOf(a.all).Kinks }

// Shallow implements problem.Shallow.
func (a *fullBatch) Shallow() bool { return problem.FeaturesOf(a.all).Shallow }

// Scales implements problem.Scaled.
func (a *fullBatch) Scales() *problem.Scales { return problem.FeaturesOf(a.all).Scales }

// Pieces implements problem.Piecewise.
func (a fullPieces) Pieces() []problem.Piece { return a.all.(problem.Piecewise).Pieces() }

// Terms implements problem.Piecewise.
func (a fullPieces) Terms() []float64 { return a.all.(problem.Piecewise).Terms() }

// BackwardTerms implements problem.Piecewise.
func (a fullPieces) BackwardTerms(coefficients []float64, d problem.Vector) error {
	return a.gradient(a.all.(problem.Piecewise).BackwardTerms, coefficients, d)
}
