package step

import "ppal/trainer/problem"

// scaling makes a quasi-Newton step work in the variables u of x = T u, with the scales T of the
// problem (problem.Scaled). The moves of the pairs are then T^-1 (x+ - x), the gradients T^T d with
// the gradient d in x, and lengths are those of u. The step without pairs is a multiple of -T T^T
// d. Without scales, u = x.
//
// r = (w/2)||x||^2 is not a multiple of ||u||^2. Therefore, with scales, the gradients and the
// measured decreases include r. The ball is not a ball of u: with a ball, the step has no scales.
//
// The host multiplies the vectors, three in a step: the session gives no scales to problems with
// long vectors.
type scaling struct {
	scales  *problem.Scales // T; nil: u = x
	ridge   float64         // w
	u       problem.Vector  // T^-1 x, up to rounding
	numbers []float64       // a vector on the host
	dots    [2]float64
}

// newScaling returns the scaling for p.
func newScaling(p problem.Problem) scaling {
	space, scales := p.Space(), problem.FeaturesOf(p).Scales
	r := space.Regularizer
	if scales == nil || scales.Identity() || r.Kind != problem.NoRegularizer && r.Kind != problem.SquaredL2 {
		return scaling{}
	}
	c := scaling{scales: scales, u: space.New(), numbers: make([]float64, scales.Len())}
	if r.Kind == problem.SquaredL2 {
		c.ridge = r.Weight
	}
	c.locate(space)
	return c
}

// on reports whether the step uses scales.
func (c *scaling) on() bool { return c.scales != nil }

// free frees u.
func (c *scaling) free(space *problem.Space) {
	if c.on() {
		space.Free(c.u)
	}
}

// whitened reports whether the scales are from Scales.Whiten.
func (c *scaling) whitened() bool { return c.on() && c.scales.Whitened() }

// position returns the vector u of the iterate. It is valid after locate; advance keeps it valid.
func (c *scaling) position() problem.Vector { return c.origin(problem.Iterate) }

// origin returns the vector that stands for x in the inner products: x itself, or with scales the u
// of the last locate or advance.
func (c *scaling) origin(x problem.Vector) problem.Vector {
	if c.on() {
		return c.u
	}
	return x
}

// locate sets u to that of the iterate.
func (c *scaling) locate(space *problem.Space) {
	if c.on() {
		space.Combine(c.u, 1, problem.Iterate, 0, problem.Iterate)
		c.apply(space, c.u, c.scales.Divide)
	}
}

// advance adds the last move to u, which costs less than locate.
func (c *scaling) advance(space *problem.Space, move problem.Vector) {
	if c.on() {
		space.Combine(c.u, 1, c.u, 1, move)
	}
}

// gradient receives grad phi in x in d, and replaces it by the gradient of phi + r in u.
func (c *scaling) gradient(space *problem.Space, d problem.Vector) {
	if c.ridge > 0 {
		space.Combine(d, 1, d, c.ridge, problem.Iterate)
	}
	if c.on() {
		c.apply(space, d, c.scales.MultiplyTransposed)
	}
}

// move adds a combination of vectors of u to the iterate. It overwrites scratch.
func (c *scaling) move(space *problem.Space, coefficients []float64, vectors []problem.Vector, scratch problem.Vector) {
	if !c.on() {
		space.Sum(problem.Iterate, append(coefficients, 1), append(vectors, problem.Iterate))
		return
	}
	space.Sum(scratch, coefficients, vectors)
	c.apply(space, scratch, c.scales.Multiply)
	space.Combine(problem.Iterate, 1, problem.Iterate, 1, scratch)
}

// moved sets move to the move of u from start to the iterate. It returns the decrease of r if the
// gradients include r, else 0.
func (c *scaling) moved(space *problem.Space, move, start problem.Vector) (decrease float64) {
	space.Combine(move, 1, problem.Iterate, -1, start)
	if c.ridge > 0 { // (||x||^2 - ||x+||^2)/2 = -<x + x+, x+ - x>/2, without cancellation
		space.Dots(c.dots[:], []problem.Vector{move}, []problem.Vector{start, problem.Iterate})
		decrease = -c.ridge / 2 * (c.dots[0] + c.dots[1])
	}
	if c.on() {
		c.apply(space, move, c.scales.Divide)
	}
	return decrease
}

// apply replaces v by the result of the map.
func (c *scaling) apply(space *problem.Space, v problem.Vector, replace func([]float64)) {
	space.Read(c.numbers, v)
	replace(c.numbers)
	space.Write(v, c.numbers)
}

// visit shows the state to v, which saves or restores it.
func (c *scaling) visit(v problem.StateVisitor) {
	if c.on() {
		v.Vector("quasi.position", c.u)
	}
}
