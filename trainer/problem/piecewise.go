package problem

import (
	"fmt"
	"math"
)

// Piece is a smooth function Sign*h_Term(x) + Offset. A constraint is the maximum of its pieces:
//
//	g_j(x) = max over pieces p with p.Constraint = j of p.Sign*h_{p.Term}(x) + p.Offset.
//
// The constraint |h| - eps has the pieces {Sign: 1, Offset: -eps} and {Sign: -1, Offset: -eps} of
// one term. The constraint max(h_1, h_2) - eps has a piece for each of its two terms. A hinge
// max(0, h) has a piece with Sign 0.
type Piece struct {
	Constraint, Term int
	Sign, Offset     float64
}

// Piecewise is a Problem whose constraints are maxima of smooth pieces. Backward uses the gradient
// of the largest piece. If pieces tie, Backward uses the mean of their gradients, so that |h| has
// the subgradient sign(h) grad h with sign(0) = 0.
type Piecewise interface {
	Problem
	// Pieces returns the pieces, ordered by constraint.
	Pieces() []Piece
	// Terms returns h of the last Forward (not a copy).
	Terms() []float64
	// BackwardTerms writes d = coefficients[0] grad f + sum_t coefficients[t+1] grad h_t.
	BackwardTerms(coefficients []float64, d Vector) error
}

// Abs returns the pieces of the constraints |h_t| - eps[t] <= 0.
func Abs(eps ...float64) []Piece {
	pieces := make([]Piece, 0, 2*len(eps))
	for t, e := range eps {
		pieces = append(pieces, Piece{t, t, 1, -e}, Piece{t, t, -1, -e})
	}
	return pieces
}

// MakePiecewise returns the problem whose terms are the constraints of smooth and whose constraints
// are the maxima of pieces. The error wraps ErrSettings.
func MakePiecewise(smooth Problem, pieces []Piece) (Piecewise, error) {
	return newPiecewise(smooth, pieces)
}

// piecewise implements Piecewise on the problem of the smooth terms.
type piecewise struct {
	Problem      // the smooth terms
	pieces       []Piece
	m            int       // number of constraints
	h            []float64 // the terms at the last Forward
	coefficients []float64 // of f and the terms
	shares       []float64 // of each piece in its constraint's subgradient
}

// newPiecewise implements MakePiecewise.
func newPiecewise(smooth Problem, pieces []Piece) (*piecewise, error) {
	_, terms := smooth.Dims()
	m := 0
	for i, p := range pieces {
		if p.Term < 0 || p.Term >= terms || p.Constraint < 0 || p.Constraint > m || i > 0 && p.Constraint < pieces[i-1].Constraint {
			return nil, fmt.Errorf("problem: %w: piece %d has constraint %d and term %d of %d: order pieces by constraint, from 0 without gaps, and count terms from 0",
				ErrSettings, i, p.Constraint, p.Term, terms)
		}
		m = p.Constraint + 1
	}
	return &piecewise{Problem: smooth, pieces: pieces, m: m,
		h: make([]float64, terms), coefficients: make([]float64, 1+terms), shares: make([]float64, len(pieces))}, nil
}

// Dims implements Problem.
func (p *piecewise) Dims() (n, m int) { n, _ = p.Problem.Dims(); return n, p.m }

// Pieces implements Piecewise.
func (p *piecewise) Pieces() []Piece { return p.pieces }

// Terms implements Piecewise.
func (p *piecewise) Terms() []float64 { return p.h }

// Forward implements Problem.
func (p *piecewise) Forward(g []float64) (float64, error) {
	f, err := p.Problem.Forward(p.h)
	if err != nil {
		return f, err
	}
	for j := range g {
		g[j] = math.Inf(-1)
	}
	for _, b := range p.pieces {
		g[b.Constraint] = max(g[b.Constraint], b.Value(p.h)) // NaN propagates through max
	}
	p.choose(g)
	return f, nil
}

// Value returns Sign*h_Term + Offset at the terms h.
func (b Piece) Value(h []float64) float64 { return b.Sign*h[b.Term] + b.Offset }

// choose sets the shares: the largest pieces of a constraint have equal shares of its subgradient,
// the other pieces have none.
func (p *piecewise) choose(g []float64) {
	for lo := 0; lo < len(p.pieces); {
		j, hi, ties := p.pieces[lo].Constraint, lo, 0
		for ; hi < len(p.pieces) && p.pieces[hi].Constraint == j; hi++ {
			if p.pieces[hi].Value(p.h) == g[j] {
				ties++
			}
		}
		for i := lo; i < hi; i++ {
			p.shares[i] = 0
			if p.pieces[i].Value(p.h) == g[j] {
				p.shares[i] = 1 / float64(ties)
			}
		}
		lo = hi
	}
}

// Backward implements Problem.
func (p *piecewise) Backward(coefficients []float64, d Vector) error {
	clear(p.coefficients)
	p.coefficients[0] = coefficients[0]
	for i, b := range p.pieces {
		p.coefficients[1+b.Term] += coefficients[1+b.Constraint] * p.shares[i] * b.Sign
	}
	return p.Problem.Backward(p.coefficients, d)
}

// BackwardTerms implements Piecewise.
func (p *piecewise) BackwardTerms(coefficients []float64, d Vector) error {
	return p.Problem.Backward(coefficients, d)
}

// Inner implements Form.
func (p *piecewise) Inner() Problem { return p.Problem }

// NonSmooth implements NonSmooth. It reports whether the terms themselves have kinks.
func (p *piecewise) NonSmooth() bool { return FeaturesOf(p.Problem).Kinks }

// Split returns the smooth form of p, with a constraint Sign*h + Offset <= 0 for each piece. The
// result shares p's iterate.
func Split(p Piecewise) Problem {
	return &split{Problem: p, p: p, g: make([]float64, Constraints(p)), coefficients: make([]float64, 1+len(p.Terms()))}
}

// split is the smooth form of a Piecewise: see Split.
type split struct {
	Problem
	p            Piecewise
	g            []float64 // buffer for p's constraints
	coefficients []float64 // of f and the terms
}

// Dims implements Problem.
func (s *split) Dims() (n, m int) { n, _ = s.p.Dims(); return n, len(s.p.Pieces()) }

// Forward implements Problem.
func (s *split) Forward(g []float64) (float64, error) {
	f, err := s.p.Forward(s.g)
	for i, b := range s.p.Pieces() {
		g[i] = b.Value(s.p.Terms())
	}
	return f, err
}

// Backward implements Problem.
func (s *split) Backward(coefficients []float64, d Vector) error {
	clear(s.coefficients)
	s.coefficients[0] = coefficients[0]
	for i, b := range s.p.Pieces() {
		s.coefficients[1+b.Term] += coefficients[1+i] * b.Sign
	}
	return s.p.BackwardTerms(s.coefficients, d)
}

// Inner implements Form.
func (s *split) Inner() Problem { return s.p }

// NonSmooth implements NonSmooth. It reports whether the terms themselves have kinks.
func (s *split) NonSmooth() bool { return FeaturesOf(s.p).Kinks }
