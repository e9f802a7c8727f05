package testproblems

import "math"

// nonconvexProblems are smooth problems in two variables, other than Hock and
// Schittkowski's, whose objective or constraints are not convex.
func nonconvexProblems() []Problem {
	return []Problem{
		rosenbrockUnitDisc(), rosenbrockDisc(), rosenbrockCubicLine(),
		mishraBird(), gomezLevy(), simionescu(),
		circleExterior(), annulus(), circleAndLine(),
	}
}

// disc returns the constraint x^2 + y^2 - radius^2 <= 0.
func disc(radius2 float64) (g func(dst, x []float64), jtw func(dst, x, w []float64)) {
	g = func(dst, x []float64) { dst[0] = x[0]*x[0] + x[1]*x[1] - radius2 }
	jtw = func(dst, x, w []float64) { dst[0], dst[1] = 2*x[0]*w[0], 2*x[1]*w[0] }
	return g, jtw
}

func rosenbrockUnitDisc() Problem {
	g, jtw := disc(1)
	return Problem{
		Name: "rosenbrock-unit-disc", Source: "Rosenbrock (1960), restricted to the unit disc",
		N: 2, M: 1, Start: []float64{0, 0},
		F: rosenbrock, Grad: rosenbrockGradient, G: g, JTW: jtw,
		Optimum:     []float64{0.78641515416842783, 0.61769831252339348},
		Value:       0.045674808719500229,
		Multipliers: []float64{0.12149655699928839},

		StrictComplementarity: true, LICQ: true, MFCQ: true,
	}
}

// rosenbrockDisc has its unconstrained minimiser on the constraint's boundary.
func rosenbrockDisc() Problem {
	g, jtw := disc(2)
	return Problem{
		Name: "rosenbrock-disc", Source: "Rosenbrock (1960), restricted to the disc of radius sqrt(2)",
		N: 2, M: 1, Start: []float64{-1, 1},
		F: rosenbrock, Grad: rosenbrockGradient, G: g, JTW: jtw,
		Lower: []float64{-1.5, -1.5}, Upper: []float64{1.5, 1.5},
		Optimum: []float64{1, 1}, Value: 0, Multipliers: []float64{0},

		LICQ: true, MFCQ: true,
	}
}

// rosenbrockCubicLine has both constraints active with zero multipliers at the
// corner (1, 1) of its feasible set, and a local minimiser at the other, (0, 0).
func rosenbrockCubicLine() Problem {
	return Problem{
		Name:   "rosenbrock-cubic-line",
		Source: "Simionescu & Beale, New concepts in graphic visualization of objective functions (2002)",
		N:      2, M: 2, Start: []float64{0.5, 1.2},
		F: rosenbrock, Grad: rosenbrockGradient,
		G: func(dst, x []float64) {
			a := x[0] - 1
			dst[0] = a*a*a - x[1] + 1
			dst[1] = x[0] + x[1] - 2
		},
		JTW: func(dst, x, w []float64) {
			a := x[0] - 1
			dst[0] = 3*a*a*w[0] + w[1]
			dst[1] = -w[0] + w[1]
		},
		Lower: []float64{-1.5, -0.5}, Upper: []float64{1.5, 2.5},
		Optimum: []float64{1, 1}, Value: 0, Multipliers: []float64{0, 0},

		LICQ: true, MFCQ: true, LocalMinima: true,
	}
}

func mishraBird() Problem {
	return Problem{
		Name:   "mishra-bird",
		Source: "Mishra, Some new test functions for global optimization (2006), restricted to a disc",
		N:      2, M: 1, Start: []float64{-3, -2},
		F: func(x []float64) float64 {
			s, c := math.Sin(x[1]), math.Cos(x[0])
			d := x[0] - x[1]
			return s*math.Exp((1-c)*(1-c)) + c*math.Exp((1-s)*(1-s)) + d*d
		},
		Grad: func(dst, x []float64) {
			s, c := math.Sin(x[1]), math.Cos(x[0])
			ec, es := math.Exp((1-c)*(1-c)), math.Exp((1-s)*(1-s))
			d := x[0] - x[1]
			dst[0] = math.Sin(x[0])*(2*s*(1-c)*ec-es) + 2*d
			dst[1] = math.Cos(x[1])*(ec-2*c*(1-s)*es) - 2*d
		},
		G: func(dst, x []float64) {
			a, b := x[0]+5, x[1]+5
			dst[0] = a*a + b*b - 25
		},
		JTW: func(dst, x, w []float64) {
			dst[0], dst[1] = 2*(x[0]+5)*w[0], 2*(x[1]+5)*w[0]
		},
		Lower: []float64{-10, -6.5}, Upper: []float64{0, 0},
		Optimum:     []float64{-3.1302468034546564, -1.5821421769300335},
		Value:       -106.76453674926467,
		Multipliers: []float64{0},

		StrictComplementarity: true, LICQ: true, MFCQ: true, LocalMinima: true,
	}
}

func gomezLevy() Problem {
	return Problem{
		Name:   "gomez-levy",
		Source: "Gomez & Levy, The tunnelling method (1982)",
		N:      2, M: 1, Start: []float64{0, -0.5},
		F: func(x []float64) float64 {
			a, b := x[0]*x[0], x[1]*x[1]
			return a*(4-2.1*a+a*a/3) + x[0]*x[1] + 4*b*(b-1)
		},
		Grad: func(dst, x []float64) {
			a, b := x[0]*x[0], x[1]*x[1]
			dst[0] = x[0]*(8-8.4*a+2*a*a) + x[1]
			dst[1] = x[0] + x[1]*(16*b-8)
		},
		G: func(dst, x []float64) {
			s := math.Sin(2 * math.Pi * x[1])
			dst[0] = -math.Sin(4*math.Pi*x[0]) + 2*s*s - 1.5
		},
		JTW: func(dst, x, w []float64) {
			dst[0] = -4 * math.Pi * math.Cos(4*math.Pi*x[0]) * w[0]
			dst[1] = 4 * math.Pi * math.Sin(4*math.Pi*x[1]) * w[0]
		},
		Lower: []float64{-1, -1}, Upper: []float64{0.75, 1},
		Optimum:     []float64{0.089842013100318062, -0.71265640302073963},
		Value:       -1.0316284534898774,
		Multipliers: []float64{0},

		StrictComplementarity: true, LICQ: true, MFCQ: true, LocalMinima: true,
	}
}

// simionescu has two global minimisers, mirror images of each other.
func simionescu() Problem {
	const a = 1.2 * math.Sqrt2 / 2
	return Problem{
		Name:   "simionescu",
		Source: "Simionescu, Computer-aided graphing and simulation tools (2014)",
		N:      2, M: 1, Start: []float64{0.5, -0.6},
		F:    func(x []float64) float64 { return 0.1 * x[0] * x[1] },
		Grad: func(dst, x []float64) { dst[0], dst[1] = 0.1*x[1], 0.1*x[0] },
		G: func(dst, x []float64) {
			r := 1 + 0.2*math.Cos(8*math.Atan2(x[0], x[1]))
			dst[0] = x[0]*x[0] + x[1]*x[1] - r*r
		},
		JTW: func(dst, x, w []float64) {
			angle := 8 * math.Atan2(x[0], x[1])
			// c is -d(r^2)/d(angle of x), times the chain rule's 1/|x|^2.
			c := 3.2 * math.Sin(angle) * (1 + 0.2*math.Cos(angle)) / (x[0]*x[0] + x[1]*x[1])
			dst[0] = (2*x[0] + c*x[1]) * w[0]
			dst[1] = (2*x[1] - c*x[0]) * w[0]
		},
		Lower: []float64{-1.25, -1.25}, Upper: []float64{1.25, 1.25},
		Optimum: []float64{a, -a}, Value: -0.072, Multipliers: []float64{0.05},

		StrictComplementarity: true, LICQ: true, MFCQ: true, LocalMinima: true,
	}
}

// circleExterior keeps x out of the unit disc: a concave constraint.
func circleExterior() Problem {
	f := distance{c: []float64{0.5, 0}}
	g, jtw := outside(1)
	return Problem{
		Name: "circle-exterior", Source: exact,
		N: 2, M: 1, Start: []float64{0.5, 2},
		F: f.value, Grad: f.gradient, G: g, JTW: jtw,
		Optimum: []float64{1, 0}, Value: 0.125, Multipliers: []float64{0.25},

		StrictComplementarity: true, LICQ: true, MFCQ: true,
	}
}

// outside is radius^2 - x^2 - y^2, as a constraint.
func outside(radius2 float64) (g func(dst, x []float64), jtw func(dst, x, w []float64)) {
	in, inJTW := disc(radius2)
	g = func(dst, x []float64) {
		in(dst, x)
		dst[0] = -dst[0]
	}
	jtw = func(dst, x, w []float64) {
		inJTW(dst, x, w)
		dst[0], dst[1] = -dst[0], -dst[1]
	}
	return g, jtw
}

// annulus is 1 <= x^2 + y^2 <= 4 with the target inside the hole.
func annulus() Problem {
	f := distance{c: []float64{0.3, 0.4}}
	return Problem{
		Name: "annulus", Source: exact,
		N: 2, M: 2, Start: []float64{3, -1},
		F: f.value, Grad: f.gradient,
		G: func(dst, x []float64) {
			s := x[0]*x[0] + x[1]*x[1]
			dst[0], dst[1] = 1-s, s-4
		},
		JTW: func(dst, x, w []float64) {
			dst[0] = 2 * x[0] * (w[1] - w[0])
			dst[1] = 2 * x[1] * (w[1] - w[0])
		},
		Optimum: []float64{0.6, 0.8}, Value: 0.125, Multipliers: []float64{0.25, 0},

		StrictComplementarity: true, LICQ: true, MFCQ: true,
	}
}

// circleAndLine has a concave and an affine constraint, both active.
func circleAndLine() Problem {
	f := distance{c: []float64{0, 0.2}}
	// x* = (0.6, 0.8): x* - c = 2 nu_1 x* - nu_2 (1, 0) with nu_1 = 0.375.
	return Problem{
		Name: "circle-and-line", Source: exact,
		N: 2, M: 2, Start: []float64{2, 2},
		F: f.value, Grad: f.gradient,
		G: func(dst, x []float64) {
			dst[0] = 1 - x[0]*x[0] - x[1]*x[1]
			dst[1] = 0.6 - x[0]
		},
		JTW: func(dst, x, w []float64) {
			dst[0] = -2*x[0]*w[0] - w[1]
			dst[1] = -2 * x[1] * w[0]
		},
		Optimum: []float64{0.6, 0.8}, Value: 0.36, Multipliers: []float64{0.375, 0.15},

		StrictComplementarity: true, LICQ: true, MFCQ: true,
	}
}
