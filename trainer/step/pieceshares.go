package step

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"ppal/trainer/internal/qp"
	"ppal/trainer/problem"
)

// pieceShares splits each multiplier over the pieces of its constraint, a maximum, in the x-step
// with linearised pieces s_p + <grad s_p, x - x_k>. The shares y_p >= 0 of lambda_j >= 0, with
// sum_{p of j} y_p = lambda_j, maximise
//
//	sum_p y_p (s_p - grad s_p.q) - (e/2)||sum_p y_p grad s_p||^2
//
// by exchanging mass between pairs of a constraint's pieces. For |h| - eps the problem is the
// maximisation over |y| <= lambda.
//
// A lambda_j < 0 turns the subproblem into a minimum over p of lambda_j s_p, which is not convex.
// For one constraint, with the other shares fixed, the minimum has all of lambda_j on the piece
// with the largest value of
//
//	s_p - grad s_p.(q + e sum_{i != j} y_i grad s_i) + (e/2)|lambda_j| ||grad s_p||^2.
//
// The chosen piece is the largest at the new point, so that the new point is stationary. For
// |h| - eps the last term is equal for both pieces. With several constraints, the choice and the
// other shares may alternate without end. Then the last sweep decides, and the new point need not
// be stationary.
type pieceShares struct {
	pieces []problem.Piece
	row    []int         // row of H of each piece, -1 without a row
	end    []int         // end of each constraint's pieces
	y      []float64     // the shares y_p
	q      *qp.Quadratic // the negative objective
	set    qp.Shares     // the feasible set of y
}

const (
	shareSweeps    = 200   // largest number of sweeps over the pairs of pieces
	shareTolerance = 1e-14 // largest change in the last sweep, relative to 1 + ||lambda||_1
)

// newPieceShares returns the shares for p, with a row of H for each of the terms.
func newPieceShares(p problem.Piecewise, terms []int) *pieceShares {
	s := &pieceShares{pieces: p.Pieces(), end: make([]int, problem.Constraints(p))}
	for i, b := range s.pieces {
		s.row = append(s.row, slices.Index(terms, b.Term))
		s.set.Group = append(s.set.Group, b.Constraint)
		s.end[b.Constraint] = i + 1
	}
	s.y, s.q = make([]float64, len(s.pieces)), qp.New(len(s.pieces))
	s.set.Sweeps, s.set.Tolerance = shareSweeps, shareTolerance
	return s
}

// solve computes the shares and writes the resulting coefficients of the terms. target is h - H q,
// one number for each row of H; gram is H H^T.
func (s *pieceShares) solve(coefficients, lambda, target []float64, gram *mat.SymDense, e float64) {
	s.pose(target, gram, e)
	s.scale(lambda)
	s.set.Sums = lambda
	s.q.MinimiseShares(s.y, &s.set)
	s.termCoefficients(coefficients)
}

// pose sets the quadratic q, the negative objective, for the weight e of the Gram matrix.
func (s *pieceShares) pose(target []float64, gram *mat.SymDense, e float64) {
	for i, b := range s.pieces {
		s.q.Linear[i] = -b.Offset
		if s.row[i] >= 0 {
			s.q.Linear[i] -= b.Sign * target[s.row[i]]
		}
		for k := 0; k <= i; k++ {
			h := 0.0
			if s.row[i] >= 0 && s.row[k] >= 0 {
				h = e * b.Sign * s.pieces[k].Sign * gram.At(s.row[i], s.row[k])
			}
			s.q.Hessian.SetSym(i, k, h)
		}
	}
}

// scale rescales the last shares, which have one sign, to sum to lambda. Where the last shares are
// 0, the first piece gets all of lambda.
func (s *pieceShares) scale(lambda []float64) {
	lo := 0
	for j, hi := range s.end {
		shares, sum := s.y[lo:hi], 0.0
		for _, v := range shares {
			sum += v
		}
		if sum == 0 {
			shares[0], sum = 1, 1
		}
		for i := range shares {
			shares[i] = shares[i] / sum * lambda[j]
		}
		lo = hi
	}
}

// termCoefficients sets the coefficient of each row's term to the sum of Sign y_p over its pieces.
func (s *pieceShares) termCoefficients(coefficients []float64) {
	clear(coefficients)
	for i, b := range s.pieces {
		if s.row[i] >= 0 {
			coefficients[s.row[i]] += s.y[i] * b.Sign
		}
	}
}
