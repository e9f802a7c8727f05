package certify

import (
	"math"
	"slices"

	"ppal/trainer/internal/vec"
	"ppal/trainer/problem"
)

const (
	projectedIterations = 300
	projectedTolerance  = 1e-10 // of the multipliers, between iterations
	jacobianLength      = 1e-5  // of 1 + ||x||, the central difference for J v in float64
	// projectedSlack is the relative rounding of the objective that backtracking forgives.
	projectedSlack = 1e-12
)

// projectedGradient minimises D(grad f + J^T nu)^2 + sum_j (nu_j g_j)^2 over nu >= 0 by accelerated projected gradients with
// restarts (Beck and Teboulle 2009; O'Donoghue and Candes 2015), D the distance of 0 to its argument + subdifferential of r, whose
// square has the gradient 2p, p the smallest element. It forms no Jacobian: J^T nu comes by backward passes, J p by central
// differences of g. Any nu >= 0 certifies: the accuracy here decides how well, not whether.
func (c *certifier) projectedGradient(nu []float64) error {
	m := len(nu)
	work := &leastResidual{certifier: c, v: c.vector(), p: c.vector(), x: c.vector(), weights: make([]float64, 1+m), g: make([]float64, m)}
	c.p.Space().Combine(work.x, 1, problem.Iterate, 0, problem.Iterate)
	slope, trial, momentum := make([]float64, m), make([]float64, m), slices.Clone(nu)
	value, err := work.evaluate(momentum, slope)
	if err != nil {
		return err
	}
	smooth, t := work.lipschitz(slope), 1.0
	for range projectedIterations {
		if smooth, err = work.backtrack(trial, momentum, slope, value, smooth); err != nil {
			return err
		}
		moved, ascent := 0.0, 0.0
		for i := range trial {
			d := trial[i] - nu[i]
			moved = math.Max(moved, math.Abs(d))
			ascent += slope[i] * d
		}
		following := (1 + math.Sqrt(1+4*t*t)) / 2
		b := (t - 1) / following
		if ascent > 0 {
			b, following = 0, 1
		}
		for i := range trial {
			momentum[i] = trial[i] + b*(trial[i]-nu[i])
		}
		copy(nu, trial)
		t = following
		if moved <= projectedTolerance*(1+vec.Norm1(nu)) {
			break
		}
		if value, err = work.evaluate(momentum, slope); err != nil {
			return err
		}
	}
	return work.restore()
}

// leastResidual evaluates the objective of projectedGradient.
type leastResidual struct {
	*certifier
	v, p, x    problem.Vector
	weights, g []float64
}

// backtrack writes the step from momentum to trial and returns the bound of the curvature with which it is one.
func (w *leastResidual) backtrack(trial, momentum, slope []float64, value, smooth float64) (float64, error) {
	for ; ; smooth *= 2 {
		for i := range trial {
			trial[i] = max(0, momentum[i]-slope[i]/smooth)
		}
		bound := value
		for i := range trial {
			d := trial[i] - momentum[i]
			bound += slope[i]*d + smooth/2*d*d
		}
		next, err := w.value(trial)
		if err != nil {
			return 0, err
		}
		if next <= bound+projectedSlack*value || !(smooth < 1e30) {
			return smooth, nil
		}
	}
}

// value is the objective at nu; residual and v hold its parts.
func (w *leastResidual) value(nu []float64) (float64, error) {
	w.weights[0] = 1
	copy(w.weights[1:], nu)
	if err := w.certifier.p.Backward(w.weights, w.v); err != nil {
		return 0, err
	}
	w.measure(w.v)
	sum := vec.Dot(w.residual, w.residual)
	for j, g := range w.at.Constraints {
		sum += nu[j] * nu[j] * g * g
	}
	return sum, nil
}

// evaluate is value with the gradient 2 J p + 2 g^2 nu.
func (w *leastResidual) evaluate(nu, slope []float64) (float64, error) {
	value, err := w.value(nu)
	if err != nil {
		return 0, err
	}
	w.certifier.p.Space().Write(w.p, w.residual)
	if err := w.jacobian(slope); err != nil {
		return 0, err
	}
	for j, g := range w.at.Constraints {
		slope[j] = 2*slope[j] + 2*g*g*nu[j]
	}
	return value, nil
}

// jacobian writes J p by a central difference and leaves the problem at x.
func (w *leastResidual) jacobian(dst []float64) error {
	space := w.certifier.p
	length := vec.Norm(w.residual)
	if length == 0 {
		clear(dst)
		return nil
	}
	h := jacobianLength * math.Cbrt(space.Space().Roundoff()/0x1p-53) * (1 + vec.Norm(w.certifier.x)) / length
	space.Space().Combine(problem.Iterate, 1, w.x, h, w.p)
	if _, err := space.Forward(dst); err != nil {
		return err
	}
	space.Space().Combine(problem.Iterate, 1, w.x, -h, w.p)
	if _, err := space.Forward(w.g); err != nil {
		return err
	}
	for j := range dst {
		dst[j] = (dst[j] - w.g[j]) / (2 * h)
	}
	return w.restore()
}

// restore puts the iterate and its forward pass back.
func (w *leastResidual) restore() error {
	space := w.certifier.p
	space.Space().Combine(problem.Iterate, 1, w.x, 0, w.x)
	_, err := space.Forward(w.g)
	return err
}

// lipschitz is a first guess of the gradient's Lipschitz constant, after evaluate: that along p, 2 ||J p||^2/||p||^2.
// Backtracking raises it.
func (w *leastResidual) lipschitz(slope []float64) float64 {
	guess := 0.0
	for _, g := range w.at.Constraints {
		guess = math.Max(guess, 2*g*g)
	}
	if size := vec.Dot(w.residual, w.residual); size > 0 {
		guess += vec.Dot(slope, slope) / (2 * size)
	}
	if !(guess > 0) {
		return 1
	}
	return guess
}
