package certify

import (
	"math"

	"ppal/trainer/internal/qp"
	"ppal/trainer/internal/vec"
	"ppal/trainer/problem"
)

// jacobianLength is the length of the central difference for J v in float64, relative to 1 + ||x||.
const jacobianLength = 1e-5

// projectedGradient minimises D(grad f + J^T nu)^2 + sum_j (nu_j g_j)^2 over nu >= 0 by accelerated
// projected gradients (qp.Accelerated). D(v) is the distance from 0 to v + subdifferential of r.
// The gradient of D^2 at v is 2p, with p the smallest element of v + subdifferential of r. The
// function forms no Jacobian: backward passes return J^T nu, central differences of g return J p.
// Every nu >= 0 certifies x: the accuracy affects only the size of the residual.
func (c *certifier) projectedGradient(nu []float64) error {
	m := len(nu)
	work := &leastResidual{certifier: c, v: c.scratch.New(), p: c.scratch.New(), x: c.scratch.New(), coefficients: make([]float64, 1+m), g: make([]float64, m)}
	c.p.Space().Combine(work.x, 1, problem.Iterate, 0, problem.Iterate)
	return qp.Accelerated(nu, work)
}

// leastResidual evaluates the objective of projectedGradient.
type leastResidual struct {
	*certifier
	v, p, x         problem.Vector // grad f + J^T nu, the residual, and the certified x
	coefficients, g []float64      // buffers for Backward and Forward
}

// Value implements qp.Smooth; residual and v hold the parts of the value.
func (w *leastResidual) Value(nu []float64) (float64, error) {
	w.coefficients[0] = 1
	copy(w.coefficients[1:], nu)
	if err := w.certifier.p.Backward(w.coefficients, w.v); err != nil {
		return 0, err
	}
	w.measure(w.v)
	sum := vec.Dot(w.residual, w.residual)
	for j, g := range w.at.Constraints {
		sum += nu[j] * nu[j] * g * g
	}
	return sum, nil
}

// Evaluate implements qp.Smooth: the slope is 2 J p + 2 g^2 nu.
func (w *leastResidual) Evaluate(nu, slope []float64) (float64, error) {
	value, err := w.Value(nu)
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

// restore restores the iterate and its forward pass.
func (w *leastResidual) restore() error {
	space := w.certifier.p
	space.Space().Combine(problem.Iterate, 1, w.x, 0, w.x)
	_, err := space.Forward(w.g)
	return err
}

// Lipschitz implements qp.Smooth: the constant along p, 2 ||J p||^2/||p||^2. Backtracking raises
// the constant if necessary.
func (w *leastResidual) Lipschitz(slope []float64) float64 {
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
