package certify

import (
	"context"
	"fmt"

	"ppal/internal/vec"
	"ppal/trainer/problem"
	"ppal/trainer/step"
)

// InfeasibleSettings are the settings of Search.
type InfeasibleSettings struct {
	Iterations int     // largest number of steps
	Tolerance  float64 // the violation up to which all constraints count as met
	// Sphere is the relative distance to the boundary of r's domain within which x counts as on the
	// boundary; 0 is the default of certify.Settings.Sphere.
	Sphere float64
}

// SearchOutcome is the result of SearchFeasible.
type SearchOutcome struct {
	Certificate *Infeasibility // nil unless the constraints cannot be met near the point
	Attained    bool           // a point of the search meets all constraints
	Evaluations int            // forward and backward passes
}

const (
	interval = 10   // steps between two tests
	still    = 0.99 // ratio of the least v of two tests from which v counts as no longer falling
	rests    = 4    // tests in a row without a fall that a proof needs
	nearly   = 0.98 // ratio of the least v to that of a certificate from which the certificate counts
)

// SearchFeasible minimises v(x) = ||max(0, g(x))||^2/2 over the domain of r from the iterate of p.
// v is the augmented Lagrangian of the objective 0 with multipliers 0 and penalty 1, so that the
// steps are the quasi-Newton steps of package step, which compare gradients where v falls by less
// than its rounding errors. In a box, and where g has kinks, the steps are projected gradients. A
// step costs a forward and a backward pass.
//
// SearchFeasible ends with a certificate if v is positive and stationary (Infeasibility.Proves),
// and does not fall in four tests in a row, 10 steps apart, or if no step lowers v. The certificate
// is the one with the least Stationarity of all tests with almost the least v. A single test would
// depend on luck: where v differs by rounding errors only, or where the least v is far away because
// sigmoids saturate, the gradients at one of the points say little.
//
// SearchFeasible ends without a certificate if a point meets the constraints within the tolerance,
// and after Iterations steps, or if ctx is cancelled. SearchFeasible restores the iterate and its
// forward pass.
func SearchFeasible(ctx context.Context, p problem.Problem, s InfeasibleSettings) (SearchOutcome, error) {
	q := newViolation(p)
	s.Sphere = s.sphere(q.space.Roundoff())
	vectors := problem.NewScratch(q.space)
	defer vectors.Free()
	r := &search{violation: q, set: s, next: vectors.New()}
	start := vectors.New()
	q.space.Combine(start, 1, problem.Iterate, 0, problem.Iterate)
	var err error
	if step.QuasiNewtonRefuses(q) == "" {
		r.steps, err = newCurved(q)
	} else {
		r.steps = newProjected(q, vectors)
	}
	if err != nil {
		return SearchOutcome{}, fmt.Errorf("infeasible: %w", err)
	}
	defer r.steps.free()
	o, err := r.run(ctx)
	if o.Certificate != nil {
		err = o.Certificate.complete(p)
	}
	q.space.Combine(problem.Iterate, 1, start, 0, start)
	if _, restored := p.Forward(make([]float64, problem.Constraints(p))); err == nil {
		err = restored
	}
	o.Evaluations = q.evaluations
	if err != nil {
		return o, fmt.Errorf("infeasible: %w", err)
	}
	return o, nil
}

// MeasureViolation returns the certificate at x without a search, which may prove nothing. It costs
// a forward pass, and the passes of a test of Search. The iterate of p is x afterwards.
func MeasureViolation(p problem.Problem, x []float64, s InfeasibleSettings) (*Infeasibility, error) {
	q := newViolation(p)
	s.Sphere = s.sphere(q.space.Roundoff())
	vectors := problem.NewScratch(q.space)
	defer vectors.Free()
	r := &search{violation: q, set: s, next: vectors.New()}
	q.space.Write(problem.Iterate, x)
	if _, err := q.forward(); err != nil {
		return nil, fmt.Errorf("infeasible: %w", err)
	}
	c, err := r.certify()
	if err == nil {
		err = c.complete(p)
	}
	if err != nil {
		return nil, fmt.Errorf("infeasible: %w", err)
	}
	return c, nil
}

// sphere returns Sphere, or its default for the precision.
func (s InfeasibleSettings) sphere(roundoff float64) float64 {
	switch {
	case s.Sphere > 0:
		return s.Sphere
	case roundoff > 1e-10:
		return 1e-6
	}
	return 1e-12
}

// steps lower v.
type steps interface {
	// begin evaluates v at the iterate.
	begin() error
	// advance takes a step. It returns false, with the iterate unchanged, if no step lowers v.
	advance() (moved bool, err error)
	// least returns the least v so far.
	least() float64
	// back returns to the point with the least v and evaluates g there, if the last forward pass was
	// at another point.
	back() error
	// free frees the vectors.
	free()
}

// search is the state of Search.
type search struct {
	*violation
	steps steps
	set   InfeasibleSettings
	next  problem.Vector // for a gradient
	best  *Infeasibility // the certificate with the least Stationarity, at almost the least v
	v     float64        // v of best
}

// run searches from the iterate until ctx is cancelled.
func (r *search) run(ctx context.Context) (o SearchOutcome, err error) {
	if err = r.steps.begin(); err != nil {
		return o, err
	}
	before := r.value() // the least v at the test before
	rest, moved := 0, true
	for k := 0; ; k++ {
		if !vec.Finite(r.value()) {
			return o, nil
		}
		if problem.MaxViolation(r.g) <= r.set.Tolerance {
			o.Attained = true
			return o, nil
		}
		if k%interval == 0 || !moved {
			least := r.steps.least()
			if rest++; k == 0 || moved && least < still*before {
				rest = 0
			}
			before = least
			if err := r.test(); err != nil {
				return o, err
			}
			if (rest >= rests || !moved) && r.best.Proves() {
				o.Certificate = r.best
				return o, nil
			}
		}
		if k >= r.set.Iterations || !moved || ctx.Err() != nil {
			return o, nil
		}
		if moved, err = r.steps.advance(); err != nil {
			return o, err
		}
	}
}

// test computes the certificate at the point with the least v, and keeps the best.
func (r *search) test() error {
	if err := r.steps.back(); err != nil {
		return err
	}
	c, err := r.certify()
	if err != nil {
		return err
	}
	if v := r.value(); r.best == nil || v < nearly*r.v || c.Stationarity <= r.best.Stationarity {
		r.best, r.v = c, v
	}
	return nil
}
