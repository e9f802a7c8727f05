package estimate

import (
	"math"
	"slices"

	"ppal/trainer/problem"
)

// MostTerms is the largest number of terms that an estimate examines. Each term costs its own
// backward passes. The estimate chooses the largest terms.
const MostTerms = 4

// Terms represents a problem's constraints as maxima of smooth terms. For a Piecewise problem,
// Terms uses its pieces. For another problem, each constraint is a term with a single piece.
type Terms struct {
	p            problem.Problem
	pw           problem.Piecewise // nil if the constraints are smooth
	pieces       []problem.Piece
	coefficients []float64 // coefficients that select one term
	chosen       [MostTerms]int
}

// NewTerms returns the terms of p.
func NewTerms(p problem.Problem) *Terms {
	m := problem.Constraints(p)
	if pw := problem.FeaturesOf(p).Pieces; pw != nil {
		return &Terms{p: p, pw: pw, pieces: pw.Pieces(), coefficients: make([]float64, 1+len(pw.Terms()))}
	}
	s := &Terms{p: p, pieces: make([]problem.Piece, m), coefficients: make([]float64, 1+m)}
	for j := range s.pieces {
		s.pieces[j] = problem.Piece{Constraint: j, Term: j, Sign: 1}
	}
	return s
}

// values returns the terms at the iterate of the last Forward, which returned g.
func (s *Terms) values(g []float64) []float64 {
	if s.pw != nil {
		return s.pw.Terms()
	}
	return g
}

// gradient writes the gradient of one term at the iterate of the last Forward, and counts the
// gradient: index 0 is f, index 1 + t is the term t.
func (s *Terms) gradient(at *problem.Point, index int, d problem.Vector) error {
	clear(s.coefficients)
	s.coefficients[index] = 1
	return s.backward(at, s.coefficients, d)
}

// backward writes coefficients[0] grad f + sum_t coefficients[1+t] grad h_t at the iterate of the
// last Forward, and counts the gradient.
func (s *Terms) backward(at *problem.Point, coefficients []float64, d problem.Vector) error {
	if s.pw == nil {
		return at.Backward(s.p, coefficients, d)
	}
	at.GradientEvaluations++
	return s.pw.BackwardTerms(coefficients, d)
}

// largest lists up to MostTerms terms: the terms of the largest pieces at the iterate of the last
// Forward, which returned g. The slice belongs to s.
func (s *Terms) largest(g []float64) []int {
	h, chosen := s.values(g), s.chosen[:0]
	for len(chosen) < MostTerms {
		next, most := -1, math.Inf(-1)
		for _, b := range s.pieces {
			if v := b.Value(h); b.Sign != 0 && v > most && !slices.Contains(chosen, b.Term) {
				next, most = b.Term, v
			}
		}
		if next < 0 {
			break
		}
		chosen = append(chosen, next)
	}
	return chosen
}

// signs reports whether some piece contains the term with a positive sign, and whether some piece
// contains the term with a negative sign.
func (s *Terms) signs(term int) (positive, negative bool) {
	for _, b := range s.pieces {
		if b.Term == term {
			positive = positive || b.Sign > 0
			negative = negative || b.Sign < 0
		}
	}
	return positive, negative
}

// Bounds sets bound[j] to the largest norm of a gradient of g_j's pieces at the iterate of the last
// Forward; at holds the f and g of this Forward. Bounds uses the pieces, because at a kink the
// subgradient of Backward may be 0. Bounds examines only the largest terms; bound[j] is 0 for a
// constraint without an examined term. d is a buffer for a gradient.
func (s *Terms) Bounds(at *problem.Point, bound []float64, d problem.Vector) error {
	clear(bound)
	for _, t := range s.largest(at.Constraints) {
		if err := s.gradient(at, 1+t, d); err != nil {
			return err
		}
		size := math.Sqrt(s.p.Space().Dot(d, d))
		for _, b := range s.pieces {
			if b.Term == t {
				bound[b.Constraint] = math.Max(bound[b.Constraint], math.Abs(b.Sign)*size)
			}
		}
	}
	return nil
}
