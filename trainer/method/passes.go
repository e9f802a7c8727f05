package method

import (
	"math"
	"slices"

	"ppal/trainer/problem"
)

// passes is the part of ALM that trains a network on T mini-batches in a pass by Adam's steps. With
// g the running estimate of the constraints, c the penalty and n the number of constraints:
//
//	the first pass       w = (1, ..., 1), so that the network learns all classes
//	then                 lambda = (1, ..., 1),  w = max(0, lambda + c g) in each iteration
//	after each iteration lambda+ = max(0, lambda + (c/max(T, Inner)) g)
//
// The first pass is several passes if T < Inner, with at least Inner iterations.
//
// At the end of a pass, a guard compares the mean of f + sum max(0, g) over the pass with the best
// pass. If the mean exceeds worseFactor times the best plus worseMargin, or if the means of f and g
// are those of a collapsed network, the iterate and lambda return to the end of the best pass, or
// to the start if there is none. Adam's moments then begin at 0, with half the step size.
//
// The run returns the mean of the iterates x_1..x_j after the first pass with weights that grow as
// (i/j)^3, almost all of them in the last half (polynomial-decay averaging: Shamir and Zhang,
// 2013). The mean cancels the noise of the batches.
type passes struct {
	t         int // T
	at        int // iterations of this pass
	first     int // passes that are left of the first passes
	opening   int // number of the first passes
	returns   int
	scale     float64 // of the step size
	merit     float64 // sum over this pass of f + sum max(0, g)
	sums      []float64
	best      float64 // the least mean merit of a pass, infinite before the first
	bestDual  []float64
	bestPoint problem.Vector
	count     int // j
	mean      problem.Vector
}

// The constants of the guard and of the mean.
const (
	worseFactor = 1.5
	worseMargin = 0.5
	mostReturns = 6
	meanPower   = 3
)

// newPasses begins at the iterate, with first passes on the sum of f and g.
func newPasses(p problem.Problem, t, constraints, first int) *passes {
	s := &passes{t: t, scale: 1, first: first, opening: max(1, first), best: math.Inf(1), sums: make([]float64, 1+constraints), bestDual: ones(constraints),
		bestPoint: p.Space().New(), mean: p.Space().New()}
	p.Space().Combine(s.bestPoint, 1, problem.Iterate, 0, problem.Iterate)
	return s
}

// ones returns n ones.
func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }

// observe adds an iteration with f and g of its batch. It reports whether the pass is over and the
// guard returns to the best pass. lambda is the multiplier, which observe then changes.
func (s *passes) observe(p problem.Problem, at *problem.Point, lambda []float64, collapsed func(f float64, g []float64) bool) (back bool) {
	s.merit += at.Objective
	s.sums[0] += at.Objective
	for j, g := range at.Constraints {
		s.merit += max(0, g)
		s.sums[1+j] += g
	}
	space := p.Space()
	if s.at++; s.at < s.t {
		if s.first == 0 {
			s.average(space)
		}
		return false
	}
	merit := s.merit / float64(s.t)
	for j := range s.sums {
		s.sums[j] /= float64(s.t)
	}
	dead := collapsed != nil && collapsed(s.sums[0], s.sums[1:])
	begins, none := s.first > 0, math.IsInf(s.best, 1)
	s.at, s.merit, s.first = 0, 0, max(0, s.first-1)
	clear(s.sums)
	switch {
	case s.returns < mostReturns && (dead || !begins && merit > worseFactor*s.best+worseMargin):
		s.returns++
		s.scale /= 2
		s.count = 0
		space.Combine(problem.Iterate, 1, s.bestPoint, 0, s.bestPoint)
		copy(lambda, s.bestDual)
		if none { // to the start
			s.first = s.opening
		}
		return true
	case begins || merit < s.best:
		if !begins {
			s.best = merit
		}
		copy(s.bestDual, lambda)
		space.Combine(s.bestPoint, 1, problem.Iterate, 0, problem.Iterate)
	}
	if s.first == 0 {
		s.average(space)
	}
	return false
}

// average adds the iterate to the mean.
func (s *passes) average(space *problem.Space) {
	s.count++
	share := (meanPower + 1) / (float64(s.count) + meanPower)
	space.Combine(s.mean, 1-share, s.mean, share, problem.Iterate)
}

// visitState shows the state to v.
func (s *passes) visitState(v problem.StateVisitor) {
	v.Count("passes.at", &s.at)
	v.Count("passes.first", &s.first)
	v.Count("passes.returns", &s.returns)
	v.Count("passes.count", &s.count)
	v.Number("passes.scale", &s.scale)
	v.Number("passes.merit", &s.merit)
	v.Number("passes.best", &s.best)
	v.Numbers("passes.sums", s.sums)
	v.Numbers("passes.multipliers", s.bestDual)
	v.Vector("passes.point", s.bestPoint)
	v.Vector("passes.mean", s.mean)
}

// restart makes a step begin anew: counts and vectors of its state become 0.
type restart struct{ *problem.Space }

func (restart) Number(string, *float64)             {}
func (restart) Count(_ string, n *int)              { *n = 0 }
func (restart) Numbers(_ string, x []float64)       { clear(x) }
func (r restart) Vector(_ string, x problem.Vector) { r.Combine(x, 0, x, 0, x) }
