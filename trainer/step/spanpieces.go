package step

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"ppal/internal/vec"
)

// piecewise is the subproblem of a step with a model of the constraints, in the coordinates of a
// spanModel:
//
//	minimise  <g, d> + d^T B d/2 + (ridge/2)||x + d||^2 + sum_j p_j(<a_j, d>)   over ||d|| <= radius,
//	p_j(u) = (max(0, t_j + c u)^2 - max(0, t_j)^2)/(2c) - max(0, t_j) u,   t = lambda + c g(x).
//
// B is a model of the Hessian of the Lagrangian, and the rows a_j are those of the Jacobian of the
// constraints. With g = grad phi(x), the function is phi(x + d) - phi(x) for constraints that are
// affine and a Lagrangian that is quadratic (see Augmented). Each p_j is convex and smooth, and is
// made of two parabolas. p_j(0) = p_j'(0) = 0. A piecewise keeps its memory from one step to the
// next.
type piecewise struct {
	model *spanModel
	rows  [][]float64 // a_j
	t     []float64
	c     float64
	g, x  []float64
	ridge float64

	d          []float64 // the minimiser
	u, du      []float64 // <a_j, d> and its change in a step of Newton's method
	active     []bool    // t_j + c u_j > 0
	slope      []float64 // the gradient of the function plus (s/2)||d||^2
	step       []float64
	matrix     []float64 // the second derivative: the lower triangle
	multiplier float64   // s
}

const (
	newtonSteps = 60    // largest number of Newton's steps for one s
	regionSteps = 40    // largest number of s
	lineSteps   = 50    // bisections of a line search
	leastShift  = 1e-12 // added to the second derivative, relative to its largest diagonal element
)

// begin makes p the subproblem of a model for the penalty c, with d = 0 and without constraints.
func (p *piecewise) begin(m *spanModel, c float64) {
	p.model, p.c, p.multiplier = m, c, 0
	p.d, p.slope, p.step = resized(p.d, m.rank), resized(p.slope, m.rank), resized(p.step, m.rank)
	p.matrix = resized(p.matrix, m.count*m.count)
	clear(p.d)
	p.rows, p.t, p.active, p.u, p.du = p.rows[:0], p.t[:0], p.active[:0], p.u[:0], p.du[:0]
}

// add adds a constraint with the row a and t.
func (p *piecewise) add(a []float64, t float64) {
	p.rows, p.t, p.active = append(p.rows, a), append(p.t, t), append(p.active, false)
	p.u, p.du = append(p.u, 0), append(p.du, 0)
}

// derivative returns p_j'(u).
func (p *piecewise) derivative(j int, u float64) float64 {
	return math.Max(0, p.t[j]+p.c*u) - math.Max(0, p.t[j])
}

// solve sets d to the minimiser. It returns the decrease of the function from d = 0 and whether the
// trust region cuts the step, whose length is then the radius up to lengthTolerance. It returns
// false for ok if B is not finite, if a matrix that it factorizes is not positive definite to
// rounding, or if a search does not end.
//
// d minimises the function plus (s/2)||d||^2 for the least s >= 0 with ||d|| <= radius. Newton's
// iteration for 1/||d|| = 1/radius finds s, as in spanModel.within. Where other constraints become
// active, ||d|| has a kink in s, and the iteration keeps an interval that contains s.
func (p *piecewise) solve(radius float64) (decrease float64, cut, ok bool) {
	m := p.model
	if !m.hessian() || !p.minimise() {
		return 0, false, false
	}
	least, most := 0.0, math.Inf(1)
	for k := 0; ; k++ {
		length := vec.Norm(p.d)
		if length <= (1+lengthTolerance)*radius && (p.multiplier == 0 || length >= (1-lengthTolerance)*radius) {
			break
		}
		if k == regionSteps {
			return 0, false, false
		}
		if length > radius {
			least = p.multiplier
		} else {
			most = p.multiplier
		}
		copy(p.step, p.d)
		m.solve(p.step)
		s := p.multiplier + newtonStep(length, floats.Dot(p.step, p.step), radius)
		switch {
		case s > least && s < most:
		case math.IsInf(most, 1):
			s = 4 * math.Max(least, vec.Norm(p.g)/radius)
		default:
			s = math.Sqrt(most) * math.Sqrt(math.Max(least, 1e-6*most))
		}
		if p.multiplier = s; !p.minimise() {
			return 0, false, false
		}
	}
	if length := vec.Norm(p.d); length > radius {
		floats.Scale(radius/length, p.d)
	}
	return p.decrease(), p.multiplier > 0, true
}

// decrease returns the decrease of the function from d = 0 to its minimiser over the region,
//
//	(s ||d||^2 - <g + ridge x, d>)/2 + sum_j (p_j'(u_j) u_j/2 - p_j(u_j)).
//
// The term j is 0 if the constraint does not become active or inactive. So nothing cancels near a
// solution.
func (p *piecewise) decrease() float64 {
	sum := 0.0
	for i, d := range p.d {
		sum += d * (p.multiplier*d - p.g[i] - p.ridge*p.x[i]) / 2
	}
	for j, a := range p.rows {
		u := floats.Dot(a, p.d)
		before, after := math.Max(0, p.t[j]), math.Max(0, p.t[j]+p.c*u)
		if (before > 0) != (after > 0) {
			sum += (after + before) / 2 * (u - (after-before)/p.c)
		}
	}
	return sum
}

// minimise moves d to the minimiser of the function plus (s/2)||d||^2, by Newton's method with
// exact line searches. The function is made of parabolas, so that a full step within one of them
// ends the search. Afterwards, the model's factor is that of the last second derivative.
func (p *piecewise) minimise() bool {
	for k := range newtonSteps {
		if same := p.expand(); same && k > 0 {
			return true
		}
		if !p.factorize() {
			return false
		}
		copy(p.step, p.slope)
		p.model.solve(p.step)
		p.model.solveTransposed(p.step)
		floats.Scale(-1, p.step)
		floats.AddScaled(p.d, p.search(), p.step)
	}
	return false
}

// expand computes the gradient at d, and finds the active constraints. It reports whether they are
// those of the last call.
func (p *piecewise) expand() (same bool) {
	p.model.times(p.slope, p.d)
	for i, d := range p.d {
		p.slope[i] += p.g[i] + p.ridge*p.x[i] + (p.ridge+p.multiplier)*d
	}
	same = true
	for j, a := range p.rows {
		p.u[j] = floats.Dot(a, p.d)
		floats.AddScaled(p.slope, p.derivative(j, p.u[j]), a)
		now := p.t[j]+p.c*p.u[j] > 0
		same = same && now == p.active[j]
		p.active[j] = now
	}
	return same
}

// factorize computes the second derivative at d, and its factor in the model.
func (p *piecewise) factorize() bool {
	m, largest := p.model, 0.0
	n := m.count
	for i := range m.rank {
		row := p.matrix[i*n : i*n+i+1]
		copy(row, m.b[i*n:])
		for j, a := range p.rows {
			if p.active[j] {
				floats.AddScaled(row, p.c*a[i], a[:i+1])
			}
		}
		largest = math.Max(largest, row[i])
	}
	return m.factorizeMatrix(p.matrix, p.ridge+p.multiplier+leastShift*largest)
}

// search returns the minimiser over [0, 1] of the function along d + t step.
func (p *piecewise) search() float64 {
	product := p.model.product[:p.model.rank]
	p.model.times(product, p.step)
	first := floats.Dot(p.slope, p.step)
	curvature := floats.Dot(product, p.step) + (p.ridge+p.multiplier)*floats.Dot(p.step, p.step)
	for j, a := range p.rows {
		p.du[j] = floats.Dot(a, p.step)
	}
	slope := func(t float64) float64 {
		sum := first + t*curvature
		for j, du := range p.du {
			sum += (p.derivative(j, p.u[j]+t*du) - p.derivative(j, p.u[j])) * du
		}
		return sum
	}
	if slope(1) <= 1e-12*math.Abs(first) {
		return 1
	}
	low, high := 0.0, 1.0
	for range lineSteps {
		if t := (low + high) / 2; slope(t) > 0 {
			high = t
		} else {
			low = t
		}
	}
	return high
}
