package step

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"ppal/internal/vec"
	"ppal/trainer/problem"
)

// ProxLinearStep is PLADA's x-step for constraints that are maxima of smooth pieces, with r = 0 and
// the terms h linearised at x_k:
//
//	x+ = x - e (grad f + H^T y),  H = grad h(x_k),
//
// where y are the coefficients of the terms for the shares of lambda (pieceShares). For g = |h| -
// eps and lambda >= 0, y maximises y.h - (e/2)||grad f + H^T y||^2 over |y_j| <= lambda_j. For
// affine h, x+ is the exact minimiser of Moon et al., Algorithm 1, step 3. The step costs 1 + t
// backward passes, where t is the number of terms. A negative lambda_j makes the subproblem not
// convex: one piece holds all of lambda_j, and Held counts the constraint.
//
// With ramped momentum b, q = e((1+b) grad f + b^2 v) replaces e grad f, and e(1+b) replaces e: y
// is then the multiplier of the whole move, d = grad f + H^T y, v+ = b v + d, x+ = x - e(d + b v+).
// The curvature is measured at fixed y, and e = min(eta/n, 0.8/(l n + rho lambda_max(H H^T))).
type ProxLinearStep struct {
	set    Settings
	p      problem.Piecewise
	term   []int        // term of each row of H
	k      int          // number of x-steps
	Held   int          // number of constraints with lambda_j < 0, summed over all x-steps
	step   float64      // e_k; NaN before the first x-step
	shares *pieceShares // of lambda
	rule   curvature

	y, target    []float64        // y, and h - H q: one number for each row of H
	gram         *mat.SymDense    // H H^T
	coefficients []float64        // coefficients that select one term
	gradient     problem.Vector   // grad f
	rows         []problem.Vector // grad h_j
	d, v         problem.Vector   // the direction and the velocity
}

// ProxLinearApplies reports whether the step supports p: all constraints are maxima of pieces, and
// r = 0.
func ProxLinearApplies(p problem.Problem) bool {
	return problem.FeaturesOf(p).Pieces != nil && p.Space().Regularizer.Kind == problem.NoRegularizer
}

// RowTerms returns the term of each row of H: every term that appears in a piece.
func RowTerms(p problem.Piecewise) (terms []int) {
	for _, b := range p.Pieces() {
		if b.Sign != 0 && !slices.Contains(terms, b.Term) {
			terms = append(terms, b.Term)
		}
	}
	return terms
}

// NewProxLinear returns the step for p. The error wraps problem.ErrSettings if ProxLinearApplies
// reports false or the settings ask for Adam.
func NewProxLinear(set Settings, p problem.Problem) (*ProxLinearStep, error) {
	if !ProxLinearApplies(p) {
		return nil, fmt.Errorf("step: %w: the x-step proxlinear needs constraints that are maxima of smooth pieces, and no regularizer", problem.ErrSettings)
	}
	if set = set.FirstOrder(); set.Kind == Adam {
		return nil, fmt.Errorf("step: %w: the x-step proxlinear does not support Adam", problem.ErrSettings)
	}
	pw := problem.FeaturesOf(p).Pieces
	terms := RowTerms(pw)
	m := len(terms)
	s := &ProxLinearStep{set: set, p: pw, term: terms, shares: newPieceShares(pw, terms), step: math.NaN(),
		y: make([]float64, m), target: make([]float64, m), coefficients: make([]float64, 1+len(pw.Terms())),
		gradient: p.Space().New(), d: p.Space().New(), v: p.Space().New()}
	if m > 0 {
		s.gram = mat.NewSymDense(m, nil)
	}
	for range m {
		s.rows = append(s.rows, p.Space().New())
	}
	if !set.Fixed {
		s.rule = newCurvature(p)
	}
	return s, nil
}

// Last implements Step.
func (s *ProxLinearStep) Last() float64 { return s.step }

// Move implements Step.
func (s *ProxLinearStep) Move(p problem.Problem, at *problem.Point, dir Direction) error {
	lambda := dir.Coefficients[1:]
	scale := 1 + vec.Norm1(lambda)
	s.rule.alert = dir.Follows && s.set.Kind == Nesterov
	if s.k == 0 && s.rule.on {
		if err := s.probe(at, lambda, scale); err != nil {
			return err
		}
	}
	if err := s.linearise(at); err != nil {
		return err
	}
	if s.rule.on {
		s.compose(s.d) // with the y of the last step
		s.rule.observe(s.k, s.d, scale)
	}
	last := s.step
	s.step = s.size(scale, dir.PenaltyCurvature)
	b := s.set.momentum(s.k, last, s.step)
	s.solve(lambda, b)
	s.compose(s.d)
	p.Space().Descend(problem.Descent{Direction: s.d, Velocity: s.v, Step: s.step, Momentum: b})
	s.d = s.rule.remember(s.d)
	s.rule.descended()
	s.k++
	return nil
}

// size returns the step size e_k.
func (s *ProxLinearStep) size(scale, rho float64) float64 {
	if s.set.Fixed {
		return s.set.Eta
	}
	e := curvatureMargin / (s.rule.l*scale + rho*s.largestEigenvalue())
	if s.set.Eta > 0 {
		e = math.Min(e, s.set.Eta/scale)
	}
	if math.IsInf(e, 1) {
		e = 1
	}
	return e
}

// largestEigenvalue returns the largest eigenvalue of the Gram matrix, or NaN if it is not finite.
func (s *ProxLinearStep) largestEigenvalue() float64 {
	switch len(s.rows) {
	case 0:
		return 0
	case 1:
		return s.gram.At(0, 0)
	}
	var eigen mat.EigenSym
	if vec.FirstNonFinite(s.gram.RawSymmetric().Data) >= 0 || !eigen.Factorize(s.gram, false) {
		return math.NaN() // a NaN step ends the run with an error
	}
	values := eigen.Values(nil)
	return values[len(values)-1]
}

// linearise evaluates grad f, the rows of H and their Gram matrix at the iterate.
func (s *ProxLinearStep) linearise(at *problem.Point) error {
	if err := s.gradientOf(at, 0, s.gradient); err != nil {
		return err
	}
	for j, row := range s.rows {
		if err := s.gradientOf(at, 1+s.term[j], row); err != nil {
			return err
		}
		for i := 0; i <= j; i++ {
			s.gram.SetSym(i, j, s.p.Space().Dot(s.rows[i], row))
		}
	}
	return nil
}

// gradientOf writes the gradient of one term: 0 is f, 1 + t is h_t.
func (s *ProxLinearStep) gradientOf(at *problem.Point, index int, into problem.Vector) error {
	clear(s.coefficients)
	s.coefficients[index] = 1
	at.GradientEvaluations++
	return s.p.BackwardTerms(s.coefficients, into)
}

// compose sets d = grad f + H^T y.
func (s *ProxLinearStep) compose(d problem.Vector) {
	sum := s.gradient
	for j, row := range s.rows {
		s.p.Space().Combine(d, 1, sum, s.y[j], row)
		sum = d
	}
	if len(s.rows) == 0 {
		s.p.Space().Combine(d, 1, sum, 0, sum)
	}
}

// solve computes y for the multipliers lambda and the momentum b.
func (s *ProxLinearStep) solve(lambda []float64, b float64) {
	h := s.p.Terms()
	for j, row := range s.rows {
		q := (1+b)*s.p.Space().Dot(row, s.gradient) + b*b*s.p.Space().Dot(row, s.v)
		s.target[j] = h[s.term[j]] - s.step*q
	}
	s.shares.solve(s.y, lambda, s.target, s.gram, s.step*(1+b))
	for _, l := range lambda {
		if l < 0 {
			s.Held++
		}
	}
}

// probe measures the first curvature of grad f + H^T y at the fixed y of the first shares.
func (s *ProxLinearStep) probe(at *problem.Point, lambda []float64, scale float64) error {
	s.shares.scale(lambda)
	s.shares.termCoefficients(s.y)
	s.coefficients[0] = 1
	for j, t := range s.term {
		s.coefficients[1+t] = s.y[j]
	}
	at.GradientEvaluations++
	if err := s.p.BackwardTerms(s.coefficients, s.d); err != nil {
		return err
	}
	terms := fixedTerms{s.p, s.coefficients}
	return s.rule.probe(terms, at, s.d, Direction{Coefficients: make([]float64, 1+len(lambda))}, scale)
}

// fixedTerms is a problem whose backward pass uses fixed coefficients of the terms.
type fixedTerms struct {
	problem.Piecewise
	coefficients []float64
}

// Backward implements problem.Problem. It ignores its coefficients and uses the fixed ones.
func (t fixedTerms) Backward(_ []float64, d problem.Vector) error {
	return t.BackwardTerms(t.coefficients, d)
}

// VisitState implements Step.
func (s *ProxLinearStep) VisitState(v problem.StateVisitor) {
	v.Count("proxlinear.k", &s.k)
	v.Count("proxlinear.held", &s.Held)
	v.Number("proxlinear.step", &s.step)
	v.Numbers("proxlinear.y", s.y)
	v.Numbers("proxlinear.shares", s.shares.y)
	v.Vector("proxlinear.momentum", s.v)
	if s.rule.on {
		s.rule.visitState(v)
	}
}
