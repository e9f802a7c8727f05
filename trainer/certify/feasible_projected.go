package certify

import (
	"math"

	"ppal/internal/vec"
	"ppal/trainer/problem"
)

const (
	memory    = 10   // number of values that bound v at the next step
	decrease  = 1e-4 // share of the predicted decrease in the condition of a step
	halvings  = 30   // largest number of trial points in a step
	firstMove = 1e-2 // length of the first trial move, relative to 1 + ||x||
	growth    = 10   // growth of the step where v is not convex along the last move
	longest   = 1e12 // largest step
)

// projected are projected gradients with the step of Barzilai and Borwein and a nonmonotone line
// search (Birgin, Martinez and Raydan, SIAM Journal on Optimization 10, 2000), for domains and
// functions that quasi-Newton steps refuse. A step costs a backward pass and mostly one forward
// pass.
type projected struct {
	*violation
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

// newProjected returns the steps from q's iterate.
func newProjected(q *violation, vectors *problem.Scratch) *projected {
	return &projected{violation: q, lowest: math.Inf(1), x: vectors.New(), slope: vectors.New(), next: vectors.New(), move: vectors.New(), best: vectors.New()}
}

// free implements steps: the Scratch frees the vectors.
func (r *projected) free() {}

// begin implements steps.
func (r *projected) begin() (err error) {
	if r.v, err = r.forward(); err != nil {
		return err
	}
	r.keep()
	return r.backward(1, r.slope)
}

// keep keeps the iterate if its v is the least.
func (r *projected) keep() {
	if r.v < r.lowest {
		r.lowest = r.v
		r.space.Combine(r.best, 1, problem.Iterate, 0, problem.Iterate)
	}
}

// least implements steps.
func (r *projected) least() float64 { return r.lowest }

// back implements steps.
func (r *projected) back() (err error) {
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

// advance implements steps.
func (r *projected) advance() (moved bool, err error) {
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
	r.keep()
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
