package build

import "ppal/trainer/problem"

// FullBatch is the task on all rows, with the space of the task on mini-batches. A pass copies the
// iterate to the problem on all rows, or the gradient from it.
type FullBatch struct {
	problem.Problem // the task on a batch, for its space
	All             problem.Problem
	x               []float64
	d               problem.Vector // of all, for a gradient
}

// fullPieces is FullBatch if constraints are maxima of pieces.
type fullPieces struct{ *FullBatch }

var (
	_ problem.NonSmooth = (*FullBatch)(nil)
	_ problem.Piecewise = fullPieces{}
)

// newFullBatch returns the problem all with the space of the problem batch.
func newFullBatch(batch, all problem.Problem) *FullBatch {
	n, _ := all.Dims()
	return &FullBatch{Problem: batch, All: all, x: make([]float64, n), d: all.Space().New()}
}

// whole returns the problem as methods see it.
func (a *FullBatch) whole() problem.Problem {
	if problem.FeaturesOf(a.All).Pieces != nil {
		return fullPieces{a}
	}
	return a
}

// Forward implements problem.Problem.
func (a *FullBatch) Forward(g []float64) (float64, error) {
	a.Space().Read(a.x, problem.Iterate)
	a.All.Space().Write(problem.Iterate, a.x)
	return a.All.Forward(g)
}

// Backward implements problem.Problem.
func (a *FullBatch) Backward(coefficients []float64, d problem.Vector) error {
	return a.gradient(a.All.Backward, coefficients, d)
}

// gradient writes the result of a backward pass on all rows to d.
func (a *FullBatch) gradient(backward func([]float64, problem.Vector) error, coefficients []float64, d problem.Vector) error {
	if err := backward(coefficients, a.d); err != nil {
		return err
	}
	a.All.Space().Read(a.x, a.d)
	a.Space().Write(d, a.x)
	return nil
}

// NonSmooth implements problem.NonSmooth.
func (a *FullBatch) NonSmooth() bool { return problem.FeaturesOf(a.All).Kinks }

// Shallow implements problem.Shallow.
func (a *FullBatch) Shallow() bool { return problem.FeaturesOf(a.All).Shallow }

// Scales implements problem.Scaled.
func (a *FullBatch) Scales() *problem.Scales { return problem.FeaturesOf(a.All).Scales }

// Pieces implements problem.Piecewise.
func (a fullPieces) Pieces() []problem.Piece { return a.All.(problem.Piecewise).Pieces() }

// Terms implements problem.Piecewise.
func (a fullPieces) Terms() []float64 { return a.All.(problem.Piecewise).Terms() }

// BackwardTerms implements problem.Piecewise.
func (a fullPieces) BackwardTerms(coefficients []float64, d problem.Vector) error {
	return a.gradient(a.All.(problem.Piecewise).BackwardTerms, coefficients, d)
}
