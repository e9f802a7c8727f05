package trainer

import "math"

const (
	projectedIterations = 300
	projectedTolerance  = 1e-10 // of the squared residual, between iterations
	jacobianLength      = 1e-5  // of 1 + ||x||, the central difference for J v in float64
)

// projectedGradient minimises D(grad f + J^T nu)^2 + sum_j (nu_j g_j)^2 over nu >= 0 by accelerated projected gradients with
// restarts (Beck and Teboulle 2009; O'Donoghue and Candes 2015), D the distance of 0 to its argument + subdifferential of r, whose
// square has the gradient 2p, p the smallest element. columns are grad f, grad g_1, ...; nil evaluates J^T nu by backward
// passes and J p by central differences of g. Any nu >= 0 certifies: the accuracy here decides how well, not whether.
func (c *certifier) projectedGradient(nu []float64, columns []Vector) error {
	m := len(nu)
	work := &leastResidual{certifier: c, columns: columns, v: c.vector(), p: c.vector(), x: c.vector(), weights: make([]float64, 1+m), g: make([]float64, m)}
	c.p.Combine(work.x, 1, Iterate, 0, Iterate)
	slope, trial, momentum, last := make([]float64, m), make([]float64, m), append([]float64{}, nu...), append([]float64{}, nu...)
	value, err := work.evaluate(momentum, slope)
	if err != nil {
		return err
	}
	smooth := work.lipschitz(slope)
	t := 1.0
	for range projectedIterations {
		next := value
		for { // backtracking on the upper bound's curvature
			for j := range trial {
				trial[j] = max(0, momentum[j]-slope[j]/smooth)
			}
			bound := value
			for j := range trial {
				d := trial[j] - momentum[j]
				bound += slope[j]*d + smooth/2*d*d
			}
			if next, err = work.value(trial); err != nil {
				return err
			}
			if next <= bound*(1+1e-12) || smooth > 1e30 {
				break
			}
			smooth *= 2
		}
		moved, ascent := 0.0, 0.0
		for j := range trial {
			d := trial[j] - last[j]
			moved = math.Max(moved, math.Abs(d))
			ascent += slope[j] * d
		}
		following := (1 + math.Sqrt(1+4*t*t)) / 2
		b := (t - 1) / following
		if ascent > 0 {
			b, following = 0, 1
		}
		for j := range trial {
			momentum[j] = trial[j] + b*(trial[j]-last[j])
		}
		copy(last, trial)
		t = following
		if moved <= projectedTolerance*(1+norm1(last)) {
			break
		}
		if value, err = work.evaluate(momentum, slope); err != nil {
			return err
		}
	}
	copy(nu, last)
	return work.restore()
}

// leastResidual evaluates the objective of projectedGradient.
type leastResidual struct {
	*certifier
	columns    []Vector
	v, p, x    Vector
	weights, g []float64
}

// value is the objective at nu; residual and v hold its parts.
func (w *leastResidual) value(nu []float64) (float64, error) {
	if w.columns != nil {
		w.certifier.p.Combine(w.v, 1, w.columns[0], 0, w.v)
		for j, y := range nu {
			if y != 0 {
				w.certifier.p.Combine(w.v, 1, w.v, y, w.columns[1+j])
			}
		}
	} else {
		w.weights[0] = 1
		copy(w.weights[1:], nu)
		if err := w.certifier.p.Backward(w.weights, w.v); err != nil {
			return 0, err
		}
	}
	w.measure(w.v)
	sum := dot(w.residual, w.residual)
	for j, y := range nu {
		sum += y * y * w.at.Constraints[j] * w.at.Constraints[j]
	}
	return sum, nil
}

// evaluate is value with the gradient 2 J p + 2 g^2 nu.
func (w *leastResidual) evaluate(nu, slope []float64) (float64, error) {
	value, err := w.value(nu)
	if err != nil {
		return 0, err
	}
	space := w.certifier.p
	space.Write(w.p, w.residual)
	if w.columns != nil {
		for j := range slope {
			slope[j] = space.Dot(w.columns[1+j], w.p)
		}
	} else if err := w.jacobian(slope); err != nil {
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
	length := norm(w.residual)
	if length == 0 {
		clear(dst)
		return nil
	}
	h := jacobianLength * math.Cbrt(space.Roundoff()/0x1p-53) * (1 + norm(w.certifier.x)) / length
	space.Combine(Iterate, 1, w.x, h, w.p)
	if _, err := space.Forward(dst); err != nil {
		return err
	}
	space.Combine(Iterate, 1, w.x, -h, w.p)
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
	space.Combine(Iterate, 1, w.x, 0, w.x)
	_, err := space.Forward(w.g)
	return err
}

// lipschitz is a first guess of the gradient's Lipschitz constant; backtracking raises it.
func (w *leastResidual) lipschitz(slope []float64) float64 {
	guess := 0.0
	for j, g := range w.at.Constraints {
		guess = math.Max(guess, 2*g*g)
		if w.columns != nil {
			guess += 2 * w.certifier.p.Dot(w.columns[1+j], w.columns[1+j])
		}
	}
	return math.Max(guess, 1e-12+norm(slope)*1e-6)
}
