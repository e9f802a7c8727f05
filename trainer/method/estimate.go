package method

import "ppal/trainer/problem"

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
