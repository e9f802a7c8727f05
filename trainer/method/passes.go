package method

import (
	"math"
	"slices"

	"ppal/trainer"
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

// constraintEstimate is a running estimate of the constraints in a run on mini-batches that are
// blocks b = 1..T of the rows. g_b(x_k) is the value on the block b of iteration k, and h_b the
// value of block b when the run last used it:
//
//	estimate = g_b(x_k) - h_b + (h_1 + ... + h_T)/T
//
// (SAGA's control variate: Defazio, Bach and Lacoste-Julien, 2014). If the iterate converges, the
// estimate converges to the mean of the blocks' constraints. So the coefficients of the gradient,
// which follow rho g, do not follow the noise of the same block's gradient. With g_b in place of
// the estimate, the covariance of g_b and grad g_b would add the gradient of rho Var(g_b)/2 to the
// mean direction, a bias that no step size removes. In the first pass the estimate is g_b.
//
// If b were uniform, the mean of the estimate would be the mean of g_1(x_k)..g_T(x_k) for any h.
// In a pass that takes each block once, b is one of the blocks that are left. If no block's
// constraints have changed by more than D since the run last used the block, the bias is at most
// 2 D. So it vanishes when the iterate converges.
type constraintEstimate struct {
	sampler problem.BlockSampler // nil: there are no blocks, and no estimate
	h       []float64            // h_b, block by block
	mean    []float64
	blocks  int // T
	seen    int // number of blocks whose h_b is known
	g       []float64
}

// start begins with the constraints of batch 0.
func (e *constraintEstimate) start(p problem.Problem, g []float64) {
	*e = constraintEstimate{}
	var ok bool
	if e.sampler, ok = p.(problem.BlockSampler); !ok {
		return
	}
	_, e.blocks = e.sampler.Block(0)
	e.h, e.mean, e.g = make([]float64, e.blocks*len(g)), make([]float64, len(g)), make([]float64, len(g))
	e.observe(0, g)
}

// of returns the estimate at the point, or the point's own constraints if there is no estimate.
func (e *constraintEstimate) estimateAt(at *problem.Point) []float64 {
	if e.sampler == nil {
		return at.Constraints
	}
	return e.g
}

// observe updates the estimate with g of batch k.
func (e *constraintEstimate) observe(k int, g []float64) {
	if e.sampler == nil {
		return
	}
	copy(e.g, g)
	block, blocks := e.sampler.Block(k)
	if blocks == 0 {
		return
	}
	h := e.h[block*len(g):][:len(g)]
	first := e.seen < blocks // the first pass: h_b is unknown
	for j, v := range g {
		if !first {
			e.g[j] = v - h[j] + e.mean[j]
		}
		e.mean[j] += (v - h[j]) / float64(blocks)
		h[j] = v
	}
	e.seen++
}

// visitState shows the estimate to v.
func (e *constraintEstimate) visitState(v problem.StateVisitor) {
	if e.sampler == nil {
		return
	}
	v.Numbers("batches.constraints", e.h)
	v.Numbers("batches.mean", e.mean)
	v.Numbers("batches.estimate", e.g)
	v.Count("batches.seen", &e.seen)
}

// averager is a method that can return a mean of its iterates on mini-batches.
type averager interface {
	// averagesOn reports whether a run on p returns such a mean.
	averagesOn(p problem.Problem) bool
	// setCollapsed sets the test of a collapsed network, see SetCollapsed.
	setCollapsed(collapsed func(f float64, g []float64) bool)
}

// SetCollapsed gives a method that averages (AveragesOn) the test of a collapsed network. A method
// calls collapsed with the means of f and g over a pass. The run returns to an earlier pass if
// collapsed returns true. nil is the default: no test.
func SetCollapsed(m trainer.Method, collapsed func(f float64, g []float64) bool) {
	if a, ok := m.(averager); ok {
		a.setCollapsed(collapsed)
	}
}

// AveragesOn reports whether a run of m on mini-batches p returns a mean of its iterates, and
// therefore needs no iterations on all rows at its end.
func AveragesOn(m trainer.Method, p problem.Problem) bool {
	a, ok := m.(averager)
	return ok && a.averagesOn(p)
}
