package infeasible

import (
	"fmt"
	"math"

	"ppal/trainer/internal/vec"
	"ppal/trainer/problem"
)

// Settings are the settings of Search.
type Settings struct {
	Iterations int     // largest number of steps
	Tolerance  float64 // the violation up to which all constraints count as met
	// Sphere is the relative distance to the boundary of r's domain within which x counts as on the
	// boundary; 0 is the default of certify.Settings.Sphere.
	Sphere float64
}

// Outcome is the result of Search.
type Outcome struct {
	Certificate *Certificate // nil unless the constraints cannot be met near the point
	Attained    bool         // a point of the search meets all constraints
	Evaluations int          // forward and backward passes
}

const (
	interval = 20   // steps between two tests of the certificate
	still    = 0.98 // ratio of the least v of two intervals from which v counts as no longer falling

	memory    = 10   // number of values that bound v at the next step
	decrease  = 1e-4 // share of the predicted decrease in the condition of a step
	halvings  = 30   // largest number of trial points in a step
	firstMove = 1e-2 // length of the first trial move, relative to 1 + ||x||
	growth    = 10   // growth of the step where v is not convex along the last move
	longest   = 1e12 // largest step
)

// Search minimises v(x) = ||max(0, g(x))||^2/2 over the domain of r from the iterate of p, by
// projected gradients with the step of Barzilai and Borwein and a nonmonotone line search (Birgin,
// Martinez and Raydan, SIAM Journal on Optimization 10, 2000). A step costs a backward pass and
// mostly one forward pass.
//
// Search ends with a certificate if v is positive, stationary (Certificate.Proves) and no longer
// falls in two tests, 20 steps apart. It ends without a certificate if a point meets the
// constraints within the tolerance, and after Iterations steps. Search restores the iterate and its
// forward pass.
func Search(p problem.Problem, s Settings) (Outcome, error) {
	q := newViolation(p)
	s.Sphere = s.sphere(q.space.Roundoff())
	vectors := problem.NewScratch(q.space)
	defer vectors.Free()
	r := &search{violation: q, set: s, x: vectors.New(), slope: vectors.New(), next: vectors.New(), move: vectors.New(), best: vectors.New()}
	start := vectors.New()
	q.space.Combine(start, 1, problem.Iterate, 0, problem.Iterate)
	o, err := r.run()
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

// sphere returns Sphere, or its default for the precision.
func (s Settings) sphere(roundoff float64) float64 {
	switch {
	case s.Sphere > 0:
		return s.Sphere
	case roundoff > 1e-10:
		return 1e-6
	}
	return 1e-12
}

// search is the state of Search.
type search struct {
	*violation
	set    Settings
	v      float64        // v at the iterate
	lowest float64        // the least v so far
	recent []float64      // v at the last iterates, at most memory
	step   float64        // Barzilai and Borwein's step; 0 before the first
	x      problem.Vector // the iterate before the step
	slope  problem.Vector // grad v at x
	next   problem.Vector // grad v after the step
	move   problem.Vector // the projected move
	best   problem.Vector // the point with the least v
}

// run searches from the iterate.
func (r *search) run() (o Outcome, err error) {
	if r.v, err = r.forward(); err != nil {
		return o, err
	}
	if err := r.backward(1, r.slope); err != nil {
		return o, err
	}
	before := r.v // the least v at the test before
	r.lowest = math.Inf(1)
	proven, moved := false, true
	for k := 0; ; k++ {
		if r.v < r.lowest {
			r.lowest = r.v
			r.space.Combine(r.best, 1, problem.Iterate, 0, problem.Iterate)
		}
		if !vec.Finite(r.v) {
			return o, nil
		}
		if problem.MaxViolation(r.g) <= r.set.Tolerance {
			o.Attained = true
			return o, nil
		}
		if k > 0 && k%interval == 0 || !moved {
			falls, again := moved && r.lowest < still*before, proven
			before, proven = r.lowest, false
			if !falls {
				if err := r.back(); err != nil {
					return o, err
				}
				c, err := r.certify()
				if err != nil {
					return o, err
				}
				if proven = c.Proves(); proven && (again || !moved) {
					o.Certificate = c
					return o, nil
				}
			}
		}
		if k >= r.set.Iterations || !moved {
			return o, nil
		}
		if moved, err = r.advance(); err != nil {
			return o, err
		}
	}
}

// back returns to the point with the least v.
func (r *search) back() (err error) {
	if r.v == r.lowest {
		return nil
	}
	r.space.Combine(problem.Iterate, 1, r.best, 0, r.best)
	r.recent = r.recent[:0]
	if r.v, err = r.forward(); err != nil {
		return err
	}
	return r.backward(1, r.slope)
}

// advance takes a step. It returns false, with the iterate unchanged, if no step lowers v.
func (r *search) advance() (moved bool, err error) {
	space := r.space
	if r.step == 0 {
		r.step = firstMove * (1 + math.Sqrt(space.Dot(problem.Iterate, problem.Iterate))) / math.Sqrt(space.Dot(r.slope, r.slope))
		if !vec.Finite(r.step) {
			return false, nil
		}
	}
	space.Combine(r.x, 1, problem.Iterate, 0, problem.Iterate)
	space.Combine(r.move, 1, r.x, -r.step, r.slope)
	space.Prox(1, r.move)
	space.Combine(r.move, 1, r.move, -1, r.x)
	descent := space.Dot(r.slope, r.move)
	if len(r.recent) == memory {
		r.recent = r.recent[1:]
	}
	r.recent = append(r.recent, r.v)
	highest := r.recent[0]
	for _, v := range r.recent {
		highest = max(highest, v)
	}
	t, v := 1.0, math.NaN()
	for range halvings {
		if !(descent < 0) {
			break
		}
		space.Combine(problem.Iterate, 1, r.x, t, r.move)
		if v, err = r.forward(); err != nil {
			return false, err
		}
		if v <= highest+decrease*t*descent {
			moved = true
			break
		}
		t /= 2
	}
	if !moved {
		space.Combine(problem.Iterate, 1, r.x, 0, r.x)
		r.v, err = r.forward()
		return false, err
	}
	r.v = v
	if err := r.backward(1, r.next); err != nil {
		return false, err
	}
	curvature := (space.Dot(r.next, r.move) - space.Dot(r.slope, r.move)) / t // of v along the move
	if squared := space.Dot(r.move, r.move); curvature > 0 {
		r.step = min(squared/curvature, longest)
	} else {
		r.step = min(growth*r.step, longest)
	}
	r.slope, r.next = r.next, r.slope
	return true, nil
}
