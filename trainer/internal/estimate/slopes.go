package estimate

import (
	"math"

	"ppal/trainer/problem"
)

// Slopes are the derivatives of the constraints at a point x along the move to the next point x_+:
// zeta_gj.(x_+ - x), with zeta_gj a subgradient of g_j at x. For up to MostTerms constraints,
// Slopes uses the gradients. For more constraints, it uses central differences of the smooth terms,
// and a maximum has the derivative of the piece that Backward uses at x.
type Slopes struct {
	terms        *Terms
	Slope        []float64 // the derivatives, length m
	Length       float64   // ||x_+ - x||
	x, move      problem.Vector
	rows         []problem.Vector // zeta_gj; nil with differences
	coefficients []float64        // coefficients that select one constraint
	// Differences use the other fields: h are the terms at x, plus the terms at x + t (x_+ - x),
	// derivative the derivatives of the terms, g a buffer for Forward, and next a copy of x_+.
	h, plus, derivative []float64
	g                   []float64
	next                problem.Vector
}

// NewSlopes prepares the slopes of p's constraints.
func NewSlopes(p problem.Problem, terms *Terms) Slopes {
	m := problem.Constraints(p)
	s := Slopes{terms: terms, Slope: make([]float64, m), x: p.Space().New(), move: p.Space().New(), coefficients: make([]float64, 1+m)}
	if m <= MostTerms {
		for range m {
			s.rows = append(s.rows, p.Space().New())
		}
		return s
	}
	count := len(terms.coefficients) - 1
	s.h, s.plus, s.derivative, s.g = make([]float64, count), make([]float64, count), make([]float64, count), make([]float64, m)
	s.next = p.Space().New()
	return s
}

// Start makes the iterate the point x; at holds f and g of its last Forward.
func (s *Slopes) Start(p problem.Problem, at *problem.Point) error {
	p.Space().Combine(s.x, 1, problem.Iterate, 0, problem.Iterate)
	copy(s.h, s.terms.values(at.Constraints))
	for j, row := range s.rows {
		clear(s.coefficients)
		s.coefficients[1+j] = 1
		if err := at.Backward(p, s.coefficients, row); err != nil {
			return err
		}
	}
	return nil
}

// Along sets Slope and Length for the move from x to the iterate, before the iterate's forward
// pass.
func (s *Slopes) Along(p problem.Problem) error {
	p.Space().Combine(s.move, 1, problem.Iterate, -1, s.x)
	s.Length = math.Sqrt(p.Space().Dot(s.move, s.move))
	if s.rows == nil && len(s.Slope) > 0 {
		return s.difference(p)
	}
	for j, row := range s.rows {
		s.Slope[j] = p.Space().Dot(row, s.move)
	}
	return nil
}

// difference computes the slopes by (h(x + t move) - h(x - t move))/2t.
func (s *Slopes) difference(p problem.Problem) error {
	clear(s.Slope)
	if s.Length == 0 {
		return nil
	}
	t := DifferenceLength(p, s.x) / s.Length
	p.Space().Combine(s.next, 1, problem.Iterate, 0, problem.Iterate)
	p.Space().Combine(problem.Iterate, 1, s.x, t, s.move)
	if _, err := p.Forward(s.g); err != nil {
		return err
	}
	copy(s.plus, s.terms.values(s.g))
	p.Space().Combine(problem.Iterate, 1, s.x, -t, s.move)
	if _, err := p.Forward(s.g); err != nil {
		return err
	}
	for i, minus := range s.terms.values(s.g) {
		s.derivative[i] = (s.plus[i] - minus) / (2 * t)
	}
	p.Space().Combine(problem.Iterate, 1, s.next, 0, s.next)
	s.choose()
	return nil
}

// choose sets Slope to the derivatives of the largest pieces at x, and to their mean if several
// pieces tie.
func (s *Slopes) choose() {
	pieces := s.terms.pieces
	for lo := 0; lo < len(pieces); {
		j, hi, most := pieces[lo].Constraint, lo, math.Inf(-1)
		for ; hi < len(pieces) && pieces[hi].Constraint == j; hi++ {
			most = math.Max(most, pieces[hi].Value(s.h))
		}
		sum, ties := 0.0, 0.0
		for _, b := range pieces[lo:hi] {
			if b.Value(s.h) == most {
				sum += b.Sign * s.derivative[b.Term]
				ties++
			}
		}
		if ties > 0 {
			s.Slope[j] = sum / ties
		}
		lo = hi
	}
}
