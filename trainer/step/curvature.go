package step

import (
	"math"

	"ppal/internal/vec"
	"ppal/trainer/problem"
)

// curvature measures the smoothness of the Lagrangian along the path and derives the step size from
// the measurements:
//
//	c_k = ||d_k - d_{k-1}|| / (||x_k - x_{k-1}|| n_k),  n_k = 1 + ||w_k||_1,
//	l_k = max(q_k l_{k-1}, c_k),  q_k = min(0.995, 1 - 4/(k+40)),
//	e_k = min(eta, 0.8/l_k)/n_k.
//
// The smoothness grows with ||w||_1; the division by n_k accounts for the growth. The factor 0.8
// keeps a margin to 4/3, the bound of momentum's stability. One probe measures l_0.
//
// While the direction of largest curvature contributes little to the moves, c_k is small, l decays
// and the step grows until that direction becomes unstable. Then c_k grows geometrically with the
// direction's share of the move, and reaches l only when the share is about 1. The result is a
// swing: the iterate, and multipliers that follow rho g, need many iterations to recover.
// Therefore, with momentum and multipliers that follow rho g, the rule raises l when the geometric
// growth shows:
//
//	if c_k > 0.035 l_k, and c_{i+1} > 1.25 c_i for i = k-3..k-1:  l_k = max(l_k, min(2 l_k, p_k)),
//
// where p_k = max(p_{k-1} (1 - 0.3/(k+40)), c_k) is the largest curvature measured, with a slow
// decay. Instability begins when l is about 0.4 of the curvature (measured on Adult). Doubling l
// makes the step stable again. A single jump of c_k does not count as growth: a method that changes
// its multipliers from time to time causes single jumps.
//
// The zero value measures nothing (fixed steps).
type curvature struct {
	on       bool // false: fixed steps
	blind    bool // the problem can be evaluated at the iterate only: no probe
	space    *problem.Space
	previous problem.Vector // d_{k-1}
	l        float64        // l_k
	alert    bool           // raise l when a swing begins
	peak     float64        // p_k
	seen     float64        // c_k
	growing  int            // iterations in a row with c_k > 1.25 c_{k-1}
	distance float64        // ||x_k - x_{k-1}||
	norm     float64        // ||x_k||; NaN if unknown
	pending  bool           // distance and norm are still to be read from Space.Moved
}

const (
	curvatureMargin = 0.8   // margin to the bound of momentum's stability
	curvatureDecay  = 0.995 // upper limit of q_k
	peakDecay       = 0.3   // p loses the share peakDecay/(k+40) in an iteration
	swingShare      = 0.035 // c_k above this share of l can start a swing
	swingGrowth     = 1.25  // factor by which c_k grows in an iteration of a swing
	swingRaise      = 2     // factor by which a swing raises l
	swingLength     = 3     // iterations of growth that make a swing
	probeLength     = 1e-3  // length of the probe, as a share of 1 + ||x_0||
	probeShrink     = 0.1   // factor that shortens a probe with f or g not finite
	probeTries      = 12    // largest number of shortened probes
	// roundoffs is a number of unit roundoffs of 1 + ||x||. The gradient difference of a shorter
	// move is rounding noise and is ignored.
	roundoffs = 16
)

// first returns the step size at x_0. The probe determines the step size. A blind rule cannot probe
// and instead takes a step of the probe's length.
func (c *curvature) first(p problem.Problem, at *problem.Point, d problem.Vector, dir Direction, scale, eta float64) (float64, error) {
	if !c.blind {
		if err := c.probe(p, at, d, dir, scale); err != nil {
			return 0, err
		}
		return c.step(eta) / scale, nil
	}
	length := math.Sqrt(p.Space().Dot(d, d))
	if length == 0 {
		return c.step(eta) / scale, nil
	}
	e := probeLength * (1 + math.Sqrt(p.Space().Dot(problem.Iterate, problem.Iterate))) / length
	if eta > 0 {
		e = math.Min(e, eta/scale)
	}
	return e, nil
}

// newCurvature returns the rule for p, without a measurement.
func newCurvature(p problem.Problem) curvature {
	return curvature{on: true, space: p.Space(), previous: p.Space().New(), norm: math.NaN()}
}

// step returns min(eta, 0.8/l); eta = 0 means no cap. If the measured curvature l is 0 (a linear
// problem, or a stationary start), step returns the cap, or 1 without a cap.
func (c *curvature) step(eta float64) float64 {
	e := curvatureMargin / c.l
	if eta > 0 {
		e = math.Min(e, eta)
	}
	if math.IsInf(e, 1) {
		e = 1
	}
	return e
}

// observe updates l_k from d_k, the direction at the current iterate.
func (c *curvature) observe(k int, d problem.Vector, scale float64) {
	c.measure(k, c.space.Distance(d, c.previous), scale)
}

// measure updates l_k from the change of the direction. A change that overflowed is ignored: an
// infinite l would make the step 0.
func (c *curvature) measure(k int, change, scale float64) {
	c.settleNorm()
	if c.distance <= roundoffs*c.space.Roundoff()*(1+c.norm) {
		return
	}
	decay, peakDecay := decays(k)
	c.l *= decay
	c.peak *= peakDecay
	if seen := change / (c.distance * scale); vec.Finite(seen) {
		c.take(seen)
	}
}

// decays returns the factors of l and of p in iteration k.
func decays(k int) (l, peak float64) {
	return math.Min(curvatureDecay, 1-4/(float64(k)+40)), 1 - peakDecay/(float64(k)+40)
}

// describe sets the inputs of the rule in d, for a device that computes the rule in iteration k. If
// d.Start is not nil, the device does not hold the state, and describe completes d.Start.
func (c *curvature) describe(d *problem.SizedDescent, k int, scale float64) {
	if d.Start != nil {
		c.settleNorm()
		d.Start.Curvature, d.Start.Peak, d.Start.Seen, d.Start.Growing = c.l, c.peak, c.seen, c.growing
		d.Distance, d.Norm = c.distance, c.norm
	}
	d.Previous, d.Scale, d.Alert = c.previous, scale, c.alert
	d.Least = roundoffs * c.space.Roundoff()
	d.Decay, d.PeakDecay = decays(k)
	d.Constants = problem.SizingConstants{Margin: curvatureMargin, Share: swingShare, Growth: swingGrowth, Raise: swingRaise,
		Run: swingLength, Leap: stepLeap}
}

// restore sets the measurements to the state of a device that computed the rule.
func (c *curvature) restore(s *problem.Sizing) {
	c.l, c.peak, c.seen, c.growing = s.Curvature, s.Peak, s.Seen, s.Growing
}

// take raises l to the measured curvature, and further if a swing begins.
func (c *curvature) take(seen float64) {
	c.peak = math.Max(c.peak, seen)
	if seen > swingGrowth*c.seen {
		c.growing++
	} else {
		c.growing = 0
	}
	if c.alert && c.growing >= swingLength && seen > swingShare*c.l {
		c.l, c.growing = math.Max(c.l, math.Min(swingRaise*c.l, c.peak)), 0
	}
	c.l, c.seen = math.Max(c.l, seen), seen
}

// remember keeps d, the direction of the next move, as d_{k-1}. It returns a free vector for the
// following direction: d itself for fixed steps.
func (c *curvature) remember(d problem.Vector) problem.Vector {
	if !c.on {
		return d
	}
	free := c.previous
	c.previous = d
	return free
}

// descended records that Space.Descend moved the iterate. settle reads the distance later.
func (c *curvature) descended() { c.pending = c.on }

// moved records a move of the iterate by the distance without Space.Descend.
func (c *curvature) moved(distance float64) { c.distance, c.norm = distance, math.NaN() }

// settle reads the length of the last move from Space.Moved, which may wait for the device.
func (c *curvature) settle() {
	if c.pending {
		c.distance, c.norm = c.space.Moved()
		c.pending = false
	}
}

// settleNorm calls settle, and computes ||x_k|| if the norm is unknown.
func (c *curvature) settleNorm() {
	c.settle()
	if math.IsNaN(c.norm) {
		c.norm = math.Sqrt(c.space.Dot(problem.Iterate, problem.Iterate))
	}
}

// probe sets l_0 = ||d(x', w') - d_0||/(||x' - x_0|| n_0) from the point x' = x_0 - t d_0 with ||x'
// - x_0|| = 1e-3 (1 + ||x_0||) and the coefficients w' = w + c (g(x') - g(x_0)), and restores the
// iterate. With w in place of w', a start with zero multipliers would show the objective's
// curvature alone. If x' rounds to x_0 or the gradient overflows, l_0 stays 0.
func (c *curvature) probe(p problem.Problem, at *problem.Point, d problem.Vector, dir Direction, scale float64) error {
	length := math.Sqrt(p.Space().Dot(d, d))
	if length == 0 {
		return nil
	}
	m := len(at.Constraints)
	g, w := make([]float64, m), make([]float64, 1+m)
	start := p.Space().New()
	defer p.Space().Free(start)
	p.Space().Combine(start, 1, problem.Iterate, 0, problem.Iterate)
	t := probeLength * (1 + math.Sqrt(p.Space().Dot(problem.Iterate, problem.Iterate))) / length
	for try := 0; ; try++ {
		p.Space().Combine(problem.Iterate, 1, start, -t, d)
		f, err := p.Forward(g)
		if err != nil {
			return err
		}
		if vec.Finite(f) && vec.FirstNonFinite(g) < 0 {
			break
		}
		if try == probeTries { // f or g is not finite near x_0: the run itself reports the error
			p.Space().Combine(problem.Iterate, 1, start, 0, d)
			return at.Forward(p)
		}
		t *= probeShrink
	}
	copy(w, dir.Coefficients)
	for j := range g {
		w[1+j] += dir.PenaltyCurvature * (g[j] - at.Constraints[j])
	}
	if err := at.Backward(p, w, c.previous); err != nil {
		return err
	}
	if l := p.Space().Distance(c.previous, d) / (p.Space().Distance(problem.Iterate, start) * scale); vec.Finite(l) {
		c.l, c.peak, c.seen = l, l, l
	}
	p.Space().Combine(problem.Iterate, 1, start, 0, d)
	return at.Forward(p) // Backward needs the forward pass of its own iterate
}

// visitState visits the measurements, for Step.VisitState.
func (c *curvature) visitState(v problem.StateVisitor) {
	c.settle()
	v.Number("curvature.l", &c.l)
	v.Number("curvature.peak", &c.peak)
	v.Number("curvature.seen", &c.seen)
	v.Count("curvature.growing", &c.growing)
	v.Number("curvature.distance", &c.distance)
	v.Vector("curvature.previous", c.previous)
}
