package certify

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"ppal/internal/vec"
	"ppal/trainer/internal/qp"
	"ppal/trainer/problem"
)

// Certificate measures how close x is to a KKT point of min f + r s.t. g <= 0. The multiplier Nu >=
// 0 is the proof: x is an epsilon-KKT point (Moon et al., Definition 2; Lu 2022) for epsilon =
// Epsilon.
type Certificate struct {
	Epsilon         float64   // the largest of the residuals
	Stationarity    float64   // dist(0, grad f + J^T nu + subdifferential of r)
	Infeasibility   float64   // ||max(0, g)||
	Complementarity float64   // sum_j |nu_j g_j|
	Nu              []float64 // the multiplier, length m
	// Domain is the distance of x to dom r, relative to the size of dom r; 0 if the distance is at
	// most Settings.Sphere.
	Domain float64
	// UpperBound says that f or g may have kinks that the problem does not describe. Stationarity
	// is then an upper bound: the norm for one subgradient, not the distance to the whole
	// subdifferential.
	UpperBound bool
	// KinkTolerance is the tolerance within which pieces of a maximum count as equal; 0 for a
	// problem without pieces.
	KinkTolerance float64
	// NotResolved says that Measure has searched for a multiplier without reaching the smallest
	// epsilon: another multiplier may show a smaller one.
	NotResolved bool
	// Own describes the method's own multiplier if Better replaced it by Nu; nil otherwise.
	Own *Own
}

// Own is the multiplier of a method at the certified point, with its residuals.
type Own struct {
	Epsilon         float64 // the largest of the residuals
	Stationarity    float64
	Complementarity float64
	Nu              []float64
}

// MethodNu returns the method's own multiplier: Own.Nu if Better replaced it, and Nu otherwise.
func (c *Certificate) MethodNu() []float64 {
	if c.Own != nil {
		return c.Own.Nu
	}
	return c.Nu
}

// Settings are the tolerances of a certificate. The zero value suits the problem's precision.
type Settings struct {
	// Sphere is the relative distance to the boundary of r's domain within which x counts as on the
	// boundary; 0 is the default: 1e-12 in float64, 1e-6 in float32. A model trained in float32 and
	// certified in float64 needs 1e-6.
	Sphere float64
	// Kink is the difference within which two pieces of a maximum count as equal, relative to 1 +
	// |h|; 0 is the default: 1e-7 in float64, 1e-4 in float32.
	Kink float64
	// Together lets Better compute the gradients of f and of every constraint by one call of
	// problem.BackwardSeveral, and the gradients with multipliers as their combinations: for a problem
	// whose rows each belong to few of these terms, and which skips the rows of the others.
	Together bool
}

// withDefaults returns the settings with the defaults for p's precision.
func (s Settings) withDefaults(p problem.Problem) Settings {
	sphere, kink := 1e-12, 1e-7
	if p.Space().Roundoff() > 1e-10 {
		sphere, kink = 1e-6, 1e-4
	}
	s.Sphere, s.Kink = cmp.Or(s.Sphere, sphere), cmp.Or(s.Kink, kink)
	return s
}

// gramLimit is the largest number of constraints for which least squares find the multiplier.
const gramLimit = 32

// Measure certifies the iterate; at holds f and g of the last Forward at the iterate. nu is the
// method's multiplier (Report.Nu), of length m. If nu is nil, Measure finds nu, and t >= 0 for the
// column x if x is on the ball's sphere, as the minimiser of
//
//	||grad f + J^T nu + t x||^2 + sum_j (nu_j g_j)^2   over nu >= 0.
//
// The second term keeps the multipliers of inactive constraints small. For other r than none and
// the ball, the distance to r's subdifferential replaces the norm, and Newton steps minimise it.
// Above 32 constraints, the sum of squares could be small although sum_j |nu_j g_j| is large, and
// Measure finds the nu with the smallest epsilon instead, up to a thousandth. It costs one backward
// pass with nu; without nu it costs 2 + m backward passes, or 2 + R if the m > 32 constraints are
// affine functions of R < m terms.
func Measure(p problem.Problem, at *problem.Point, nu []float64, s Settings) (Certificate, error) {
	return measure(p, at, nu, problem.Iterate, s)
}

// measure is Measure with the gradient with nu, or problem.Iterate if nobody has computed it.
func measure(p problem.Problem, at *problem.Point, nu []float64, gradient problem.Vector, s Settings) (Certificate, error) {
	_, m := p.Dims()
	c := newCertifier(p, at, s)
	s, c.gradient = c.set, gradient
	defer c.scratch.Free()
	cert := Certificate{Nu: make([]float64, m)}
	copy(cert.Nu, nu)
	var err error
	features := problem.FeaturesOf(p)
	if pw := features.Pieces; pw != nil {
		cert.KinkTolerance = s.Kink
		err = c.piecewise(pw, cert.Nu, nu != nil)
	} else {
		cert.NotResolved, err = c.smooth(cert.Nu, nu != nil)
	}
	if err != nil {
		return Certificate{}, ofResidual(err)
	}
	cert.Stationarity = vec.Norm(c.residual)
	cert.Infeasibility, cert.Complementarity = Residuals(at.Constraints, cert.Nu)
	cert.Domain = c.domain()
	cert.UpperBound = features.Kinks
	cert.Epsilon = max(cert.Stationarity, cert.Infeasibility, cert.Complementarity, cert.Domain)
	return cert, nil
}

// ofResidual says what an error of a backward pass prevented.
func ofResidual(err error) error { return fmt.Errorf("certify: the certificate's residual: %w", err) }

// Residuals returns the residuals of a certificate that need no gradient: the infeasibility, and
// the complementarity with the multiplier nu, or 0 if nu is nil.
func Residuals(g, nu []float64) (infeasibility, complementarity float64) {
	violated := 0.0
	for j, v := range g {
		violated += max(0, v) * max(0, v)
		if nu != nil {
			complementarity += math.Abs(nu[j] * v)
		}
	}
	return math.Sqrt(violated), complementarity
}

// Better certifies the iterate with the multiplier that gives the smaller epsilon: nu, the method's
// own, or other. If other is nil, Measure finds it. On a tie, and if no
// multiplier can lower epsilon because the infeasibility of x is the largest residual, the result
// has nu. Own describes nu if the result has the other multiplier. If nu is nil, Better returns
// Measure's result. If both multipliers are given, Better computes their gradients in one pass over
// the rows if p can (problem.Several).
//
// The multipliers of a method follow the constraints with a lag: a multiplier that grew while the
// iterates were infeasible may stay far from 0 after its constraint has become slack.
func Better(p problem.Problem, at *problem.Point, nu, other []float64, s Settings) (Certificate, error) {
	var gradients [2]problem.Vector
	if s.Together && nu != nil && other == nil && len(nu) <= gramLimit && problem.FeaturesOf(p).Pieces == nil {
		c := newCertifier(p, at, s)
		defer c.scratch.Free()
		var err error
		if other, err = c.bothGradients(nu, &gradients); err != nil {
			return Certificate{}, ofResidual(err)
		}
	} else if nu != nil && other != nil && problem.FeaturesOf(p).Pieces == nil {
		scratch := problem.NewScratch(p.Space())
		defer scratch.Free()
		gradients = [2]problem.Vector{scratch.New(), scratch.New()}
		if err := problem.BackwardSeveral(p, [][]float64{withObjective(nu), withObjective(other)}, gradients[:]); err != nil {
			return Certificate{}, ofResidual(err)
		}
	}
	own, err := measure(p, at, nu, gradients[0], s)
	if err != nil || nu == nil || own.Epsilon <= max(own.Infeasibility, own.Domain) {
		return own, err
	}
	better, err := measure(p, at, other, gradients[1], s)
	own.NotResolved = better.NotResolved
	if err != nil || !(better.Epsilon < own.Epsilon) {
		return own, err
	}
	better.Own = &Own{Epsilon: own.Epsilon, Stationarity: own.Stationarity, Complementarity: own.Complementarity, Nu: own.Nu}
	return better, nil
}

// certifier computes one certificate and holds its vectors.
type certifier struct {
	p           problem.Problem
	at          *problem.Point
	set         Settings
	x, residual []float64 // the iterate and the residual of stationarity, on the host
	scratch     *problem.Scratch
	gradient    problem.Vector // with the given multiplier; problem.Iterate: not computed
}

// newCertifier returns a certifier of the iterate without a gradient. The caller frees the scratch.
func newCertifier(p problem.Problem, at *problem.Point, s Settings) *certifier {
	n, _ := p.Dims()
	c := &certifier{p: p, at: at, set: s.withDefaults(p), scratch: problem.NewScratch(p.Space()), x: make([]float64, n), residual: make([]float64, n)}
	p.Space().Read(c.x, problem.Iterate)
	return c
}

// bothGradients computes the gradients of f and of every constraint in one call, finds the
// multiplier that Measure would find, and sets the gradients with nu and with that multiplier.
func (c *certifier) bothGradients(nu []float64, gradients *[2]problem.Vector) (other []float64, err error) {
	var units [][]float64
	columns, err := c.columns(len(nu), func(coefficients []float64, _ problem.Vector) error {
		units = append(units, slices.Clone(coefficients))
		return nil
	})
	if err == nil {
		err = problem.BackwardSeveral(c.p, units, columns)
	}
	if err != nil {
		return nil, err
	}
	other = make([]float64, len(nu))
	c.fit(other, columns)
	for i, multiplier := range [][]float64{nu, other} {
		v := c.scratch.New()
		c.p.Space().Combine(v, 1, columns[0], 0, columns[0])
		for j, y := range multiplier {
			c.p.Space().Combine(v, 1, v, y, columns[1+j])
		}
		gradients[i] = v
	}
	return other, nil
}

// withObjective returns the coefficients of the gradient with the multiplier nu.
func withObjective(nu []float64) []float64 { return append([]float64{1}, nu...) }

// measure sets residual to the smallest element of v + subdifferential of r. v is the gradient with
// the multiplier nu. measure also sets the multiplier of an l1 ball's constraint, because a
// method's own stays near 0: the projections keep the constraint.
func (c *certifier) measure(v problem.Vector, nu []float64) {
	r := c.p.Space().Regularizer
	c.p.Space().Read(c.residual, v)
	r.FitMultiplier(nu, c.at.Constraints, c.x, c.residual)
	r.WithMultipliers(nu).Residual(c.residual, c.x, c.residual, c.set.Sphere)
}

// affine reports whether the residual is an affine function of the gradient, and of t.
func (c *certifier) affine() bool {
	r := c.p.Space().Regularizer
	return r.L1Ball == nil && (r.Kind == problem.NoRegularizer || r.Kind == problem.Ball)
}

// smooth certifies with nu if given, and otherwise finds nu. notResolved says that another nu may
// be better.
func (c *certifier) smooth(nu []float64, given bool) (notResolved bool, err error) {
	m := len(nu)
	if c.gradient != problem.Iterate {
		c.measure(c.gradient, nu)
		return false, nil
	}
	v := c.scratch.New()
	switch {
	case given || m == 0:
	case m > gramLimit:
		infeasibility, _ := Residuals(c.at.Constraints, nil)
		exact, err := c.leastEpsilon(nu, max(gramLimit, spannedNumbers/len(c.x)), max(infeasibility, c.domain()))
		if err != nil {
			return false, err
		}
		notResolved = !exact
	default:
		columns, err := c.columns(m, func(coefficients []float64, d problem.Vector) error { return c.p.Backward(coefficients, d) })
		if err != nil {
			return false, err
		}
		c.fit(nu, columns)
	}
	if err := c.p.Backward(withObjective(nu), v); err != nil {
		return false, err
	}
	c.measure(v, nu)
	return notResolved, nil
}

// domain returns the distance of x to dom r, or 0 within the tolerance.
func (c *certifier) domain() float64 {
	if d := c.p.Space().Regularizer.Infeasibility(c.x); d > c.set.Sphere {
		return d
	}
	return 0
}

// columns evaluates grad f and the gradients of count terms, each by one call of backward.
func (c *certifier) columns(count int, backward func(coefficients []float64, d problem.Vector) error) ([]problem.Vector, error) {
	coefficients := make([]float64, 1+count)
	columns := make([]problem.Vector, 0, 1+count)
	for i := range coefficients {
		clear(coefficients)
		coefficients[i] = 1
		v := c.scratch.New()
		if err := backward(coefficients, v); err != nil {
			return nil, err
		}
		columns = append(columns, v)
	}
	return columns, nil
}

// fit finds nu from the columns grad f, grad g_1, ... It minimises Measure's objective.
func (c *certifier) fit(nu []float64, columns []problem.Vector) {
	switch {
	case c.affine():
		q := c.quadratic(columns)
		for j, g := range c.at.Constraints {
			q.Hessian.SetSym(j, j, q.Hessian.At(j, j)+g*g)
		}
		copy(nu, q.NonNegative())
	default:
		copy(nu, c.newton(each(len(nu)), columns))
	}
}

// onSphere reports whether r is a ball and x is on its sphere, within the tolerance.
func (c *certifier) onSphere() bool {
	r := c.p.Space().Regularizer
	return r.Kind == problem.Ball && vec.Norm(c.x) >= r.Radius*(1-c.set.Sphere)
}

// quadratic returns ||a_0 + sum_i y_i a_i + t x||^2/2 as a function of y and t, up to a constant.
// The term t x belongs to the function only if x is on the ball's sphere.
func (c *certifier) quadratic(a []problem.Vector) *qp.Quadratic {
	if c.onSphere() {
		a = append(slices.Clone(a), problem.Iterate)
	}
	q := qp.New(len(a) - 1)
	for i := range len(a) - 1 {
		q.Linear[i] = c.p.Space().Dot(a[0], a[1+i])
		for j := 0; j <= i; j++ {
			q.Hessian.SetSym(i, j, c.p.Space().Dot(a[1+i], a[1+j]))
		}
	}
	return q
}

// piecewise certifies a problem whose constraints are maxima of pieces. Every piece that is active
// within the tolerance gets a share of its constraint's multiplier, and the shares minimise the
// residual. If a constraint has a single active piece, the piece gets the whole given multiplier.
func (c *certifier) piecewise(p problem.Piecewise, nu []float64, given bool) error {
	base, active := make([]float64, 1+len(p.Terms())), c.activePieces(p)
	base[0] = 1
	if given {
		ties := make([]int, len(nu))
		for _, b := range active {
			ties[b.Constraint]++
		}
		active = slices.DeleteFunc(active, func(b problem.Piece) bool {
			if ties[b.Constraint] > 1 {
				return false
			}
			base[1+b.Term] += nu[b.Constraint] * b.Sign
			return true
		})
	}
	columns := []problem.Vector{c.scratch.New()}
	if err := p.BackwardTerms(base, columns[0]); err != nil {
		return err
	}
	for _, b := range active {
		clear(base)
		base[1+b.Term] = b.Sign
		columns = append(columns, c.scratch.New())
		if err := p.BackwardTerms(base, columns[len(columns)-1]); err != nil {
			return err
		}
	}
	share := c.shares(active, nu, given, columns)
	v := columns[0]
	for i := range active {
		c.p.Space().Combine(v, 1, v, share[i], columns[1+i])
	}
	c.measure(v, nu)
	return nil
}

// activePieces lists the pieces that equal their constraint within the tolerance, in the order of
// the constraints.
func (c *certifier) activePieces(p problem.Piecewise) []problem.Piece {
	h := p.Terms()
	var active []problem.Piece
	for _, b := range p.Pieces() {
		if c.at.Constraints[b.Constraint]-b.Value(h) <= 2*c.set.Kink*(1+math.Abs(h[b.Term])) {
			active = append(active, b)
		}
	}
	return active
}

// shares returns the share of each active piece. If nu is given, the shares of a constraint add up
// to its multiplier. Otherwise shares finds them and adds them into nu.
func (c *certifier) shares(active []problem.Piece, nu []float64, given bool, columns []problem.Vector) []float64 {
	set := shareSet{constraint: make([]int, len(active))}
	for i, b := range active {
		set.constraint[i] = b.Constraint
	}
	if given {
		set.sums = nu
	}
	var y []float64
	if c.affine() {
		y = c.leastShares(set, columns)
	} else {
		y = c.newton(set, columns)
	}
	if !given {
		for i, b := range active {
			nu[b.Constraint] += y[i]
		}
	}
	return y
}

// leastShares finds the shares by least squares. For r = 0 and the ball, the residual is an affine
// function of the shares and of t.
func (c *certifier) leastShares(set shareSet, columns []problem.Vector) []float64 {
	q := c.quadratic(columns)
	group := slices.Clone(set.constraint)
	for len(group) < len(q.Linear) {
		group = append(group, -1) // the column x has no constraint
	}
	if set.sums != nil {
		return q.WithSums(group, set.sums)
	}
	for i, a := range set.constraint {
		for j := 0; j <= i; j++ {
			if set.constraint[j] == a {
				g := c.at.Constraints[a]
				q.Hessian.SetSym(i, j, q.Hessian.At(i, j)+g*g)
			}
		}
	}
	return q.NonNegative()
}
