package testproblems

import "math"

// exact is the source of problems solved in closed form here.
const exact = "closed form"

// ballProblems are problems with r the indicator of the ball ||x|| <= theta,
// where stationarity reads grad f(x*) + J^T nu + t x* = 0 with t >= 0, and
// t = 0 inside the ball.
func ballProblems() []Problem {
	return []Problem{
		ballInside(), ballBoundary(), ballTangent(), ballWithoutConstraints(),
		ballLinear(), ballAndPlane(), ballAndSphere(), ballIndefinite(),
	}
}

// ballProjection projects c onto the ball of radius theta with the constraint
// x_1 <= b, whose multiplier is zero.
func ballProjection(name string, theta, b float64, c, x []float64) Problem {
	f := distance{c: c}
	g := affine{a: []float64{1, 0, 0}, b: []float64{b}}
	return Problem{
		Name: name, Source: exact,
		N: 3, M: 1, Start: []float64{0, 0, 0}, Ball: theta,
		F: f.value, Grad: f.gradient, G: g.values, JTW: g.transposed,
		Optimum: x, Value: f.value(x), Multipliers: []float64{0},
		Convex: true, StrictComplementarity: true, LICQ: true, MFCQ: true,
	}
}

func ballInside() Problem {
	return ballProjection("ball-inside", 4, 2, []float64{1, 2, 2}, []float64{1, 2, 2})
}

func ballBoundary() Problem {
	return ballProjection("ball-boundary", 1, 2, []float64{3, 0, 4}, []float64{0.6, 0, 0.8})
}

// ballTangent has its unconstrained minimiser on the sphere, so that t = 0.
func ballTangent() Problem {
	p := ballProjection("ball-tangent", 3, 2, []float64{1, 2, 2}, []float64{1, 2, 2})
	p.StrictComplementarity = false
	return p
}

func ballWithoutConstraints() Problem {
	f := distance{c: []float64{3, 4}}
	return Problem{
		Name: "ball-without-constraints", Source: exact,
		N: 2, M: 0, Start: []float64{0, 0}, Ball: 1,
		F: f.value, Grad: f.gradient, G: noConstraints, JTW: noJacobian,
		Optimum: []float64{0.6, 0.8}, Value: 8,
		Convex: true, StrictComplementarity: true, LICQ: true, MFCQ: true,
	}
}

// ballLinear maximises x_1 + x_2 + x_3 in the unit ball below the plane
// x_1 = 1/3: t = 3/2 comes from x_2 = x_3 = 2/3, and nu = 1 - t/3.
func ballLinear() Problem {
	g := affine{a: []float64{1, 0, 0}, b: []float64{1.0 / 3}}
	return Problem{
		Name: "ball-linear", Source: exact,
		N: 3, M: 1, Start: []float64{0, 0, 0}, Ball: 1,
		F:    func(x []float64) float64 { return -x[0] - x[1] - x[2] },
		Grad: func(dst, _ []float64) { dst[0], dst[1], dst[2] = -1, -1, -1 },
		G:    g.values, JTW: g.transposed,
		Optimum: []float64{1.0 / 3, 2.0 / 3, 2.0 / 3}, Value: -5.0 / 3, Multipliers: []float64{0.5},
		Convex: true, StrictComplementarity: true, LICQ: true, MFCQ: true,
	}
}

// ballAndPlane has the sphere and the first plane active, the second not:
// x* = (0.6, 0.8 (2, 1)/sqrt(5)), 1 + t = sqrt(5)/0.8, nu_1 = 2 - 0.6 (1 + t).
func ballAndPlane() Problem {
	f := distance{c: []float64{2, 2, 1}}
	g := affine{a: []float64{1, 0, 0, 0, 0, 1}, b: []float64{0.6, 0.9}}
	root := math.Sqrt(5)
	x := []float64{0.6, 1.6 / root, 0.8 / root}
	return Problem{
		Name: "ball-and-plane", Source: exact,
		N: 3, M: 2, Start: []float64{0, 0, 0}, Ball: 1,
		F: f.value, Grad: f.gradient, G: g.values, JTW: g.transposed,
		Optimum: x, Value: f.value(x), Multipliers: []float64{2 - 0.75*root, 0},
		Convex: true, StrictComplementarity: true, LICQ: true, MFCQ: true,
	}
}

// ballAndSphere keeps x in the ball of radius 2 and out of the open unit disc
// around (2, 0), a concave constraint: with x* on both circles, c is chosen as
// x* + J^T nu + t x* for nu = t = 1/4.
func ballAndSphere() Problem {
	const nu, t = 0.25, 0.25
	x := []float64{1.75, math.Sqrt(15) / 4}
	f := distance{c: []float64{
		x[0]*(1+t) - 2*nu*(x[0]-2),
		x[1]*(1+t) - 2*nu*x[1],
	}}
	return Problem{
		Name: "ball-and-disc-exterior", Source: exact,
		N: 2, M: 1, Start: []float64{0, 1}, Ball: 2,
		F: f.value, Grad: f.gradient,
		G: func(dst, x []float64) {
			a := x[0] - 2
			dst[0] = 1 - a*a - x[1]*x[1]
		},
		JTW: func(dst, x, w []float64) {
			dst[0], dst[1] = -2*(x[0]-2)*w[0], -2*x[1]*w[0]
		},
		Optimum: x, Value: f.value(x), Multipliers: []float64{nu},
		StrictComplementarity: true, LICQ: true, MFCQ: true, LocalMinima: true,
	}
}

// ballIndefinite is a trust-region subproblem, f = 1/2 x^T H x + q^T x with
// H = diag(-2, 1, 3), whose constraint x_3 <= 0.3 is active. (H + t I) is
// positive definite for t = 4, so that x* is the global minimiser.
func ballIndefinite() Problem {
	const t, nu = 4, 1
	x := []float64{0.9, math.Sqrt(0.1), 0.3}
	h := []float64{-2, 1, 3}
	f := quadratic{
		p: []float64{h[0], 0, 0, 0, h[1], 0, 0, 0, h[2]},
		q: []float64{-(h[0] + t) * x[0], -(h[1] + t) * x[1], -(h[2]+t)*x[2] - nu},
	}
	g := affine{a: []float64{0, 0, 1}, b: []float64{0.3}}
	return Problem{
		Name: "ball-indefinite", Source: exact,
		N: 3, M: 1, Start: []float64{0, 0, 0}, Ball: 1,
		F: f.value, Grad: f.gradient, G: g.values, JTW: g.transposed,
		Optimum: x, Value: f.value(x), Multipliers: []float64{nu},
		StrictComplementarity: true, LICQ: true, MFCQ: true,
	}
}
