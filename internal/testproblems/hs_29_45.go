package testproblems

import "math"

// hockSchittkowskiMiddle are problems 29 to 66.
func hockSchittkowskiMiddle() []Problem {
	return []Problem{
		hs29(), hs30(), hs31(), hs33(), hs34(), hs35(), hs36(), hs37(), hs38(),
		hs43(), hs44(), hs45(), hs57(), hs64(), hs65(), hs66(),
	}
}

// negativeProduct is -x_1 x_2 x_3, the objective of problems 29, 36 and 37.
func negativeProduct(x []float64) float64 { return -x[0] * x[1] * x[2] }

func negativeProductGradient(dst, x []float64) {
	dst[0], dst[1], dst[2] = -x[1]*x[2], -x[0]*x[2], -x[0]*x[1]
}

func hs29() Problem {
	return hs(29, Problem{
		N: 3, M: 1, Start: []float64{1, 1, 1},
		F: negativeProduct, Grad: negativeProductGradient,
		G: func(dst, x []float64) {
			dst[0] = x[0]*x[0] + 2*x[1]*x[1] + 4*x[2]*x[2] - 48
		},
		JTW: func(dst, x, w []float64) {
			dst[0], dst[1], dst[2] = 2*x[0]*w[0], 4*x[1]*w[0], 8*x[2]*w[0]
		},
		Optimum: []float64{4, 2 * math.Sqrt2, 2}, Value: -16 * math.Sqrt2,
		Multipliers: []float64{math.Sqrt2 / 2},
		LocalMinima: true,
	})
}

// hs30 has an active constraint parallel to an active bound. The multipliers nu of the constraint
// and t of the bound satisfy 2 = 2 nu + t. The listed multipliers give half of the 2 to each.
func hs30() Problem {
	p := hs(30, Problem{
		N: 3, M: 1, Start: []float64{1, 1, 1},
		F: func(x []float64) float64 { return x[0]*x[0] + x[1]*x[1] + x[2]*x[2] },
		Grad: func(dst, x []float64) {
			dst[0], dst[1], dst[2] = 2*x[0], 2*x[1], 2*x[2]
		},
		G: func(dst, x []float64) { dst[0] = 1 - x[0]*x[0] - x[1]*x[1] },
		JTW: func(dst, x, w []float64) {
			dst[0], dst[1], dst[2] = -2*x[0]*w[0], -2*x[1]*w[0], 0
		},
		Lower: []float64{1, -10, -10}, Upper: []float64{10, 10, 10},
		Optimum: []float64{1, 0, 0}, Value: 1, Multipliers: []float64{0.5},
	})
	p.LICQ = false
	return p
}

func hs31() Problem {
	root := math.Sqrt(3)
	return hs(31, Problem{
		N: 3, M: 1, Start: []float64{1, 1, 1},
		F: func(x []float64) float64 { return 9*x[0]*x[0] + x[1]*x[1] + 9*x[2]*x[2] },
		Grad: func(dst, x []float64) {
			dst[0], dst[1], dst[2] = 18*x[0], 2*x[1], 18*x[2]
		},
		G: func(dst, x []float64) { dst[0] = 1 - x[0]*x[1] },
		JTW: func(dst, x, w []float64) {
			dst[0], dst[1], dst[2] = -x[1]*w[0], -x[0]*w[0], 0
		},
		Lower: []float64{-10, 1, -10}, Upper: []float64{10, 10, 1},
		Optimum: []float64{1 / root, root, 0}, Value: 6, Multipliers: []float64{6},
	})
}

func hs33() Problem {
	return hs(33, Problem{
		N: 3, M: 2, Start: []float64{0, 0, 3},
		F: func(x []float64) float64 { return (x[0]-1)*(x[0]-2)*(x[0]-3) + x[2] },
		Grad: func(dst, x []float64) {
			dst[0], dst[1], dst[2] = x[0]*(3*x[0]-12)+11, 0, 1
		},
		G: func(dst, x []float64) {
			a, b := x[0]*x[0]+x[1]*x[1], x[2]*x[2]
			dst[0], dst[1] = a-b, 4-a-b
		},
		JTW: func(dst, x, w []float64) {
			dst[0] = 2 * x[0] * (w[0] - w[1])
			dst[1] = 2 * x[1] * (w[0] - w[1])
			dst[2] = -2 * x[2] * (w[0] + w[1])
		},
		Lower: []float64{0, 0, 0}, Upper: []float64{inf(), inf(), 5},
		Optimum: []float64{0, math.Sqrt2, math.Sqrt2}, Value: math.Sqrt2 - 6,
		Multipliers: []float64{math.Sqrt2 / 8, math.Sqrt2 / 8},
		LocalMinima: true,
	})
}

// exponentialChain is the pair exp(x_1) - x_2, exp(x_2) - x_3 of problems 34
// and 66.
func exponentialChain(dst, x []float64) {
	dst[0], dst[1] = math.Exp(x[0])-x[1], math.Exp(x[1])-x[2]
}

func exponentialChainJTW(dst, x, w []float64) {
	dst[0], dst[1], dst[2] = math.Exp(x[0])*w[0], math.Exp(x[1])*w[1]-w[0], -w[1]
}

func hs34() Problem {
	ln10 := math.Log(10)
	return hs(34, Problem{
		N: 3, M: 2, Start: []float64{0, 1.05, 2.9},
		F:    func(x []float64) float64 { return -x[0] },
		Grad: func(dst, _ []float64) { dst[0], dst[1], dst[2] = -1, 0, 0 },
		G:    exponentialChain, JTW: exponentialChainJTW,
		Lower: []float64{0, 0, 0}, Upper: []float64{100, 100, 10},
		Optimum: []float64{math.Log(ln10), ln10, 10}, Value: -math.Log(ln10),
		Multipliers: []float64{1 / ln10, 0.1 / ln10},
		Convex:      true,
	})
}

func hs35() Problem {
	f := quadratic{p: []float64{4, 2, 2, 2, 4, 0, 2, 0, 2}, q: []float64{-8, -6, -4}}
	g := affine{a: []float64{1, 1, 2}, b: []float64{3}}
	return hs(35, Problem{
		N: 3, M: 1, Start: []float64{0.5, 0.5, 0.5},
		F:    func(x []float64) float64 { return 9 + f.value(x) },
		Grad: f.gradient, G: g.values, JTW: g.transposed,
		Lower: fill(3, 0), Upper: fill(3, inf()),
		Optimum: []float64{4.0 / 3, 7.0 / 9, 4.0 / 9}, Value: 1.0 / 9, Multipliers: []float64{2.0 / 9},
		Convex: true,
	})
}

func hs36() Problem {
	g := affine{a: []float64{1, 2, 2}, b: []float64{72}}
	return hs(36, Problem{
		N: 3, M: 1, Start: []float64{10, 10, 10},
		F: negativeProduct, Grad: negativeProductGradient, G: g.values, JTW: g.transposed,
		Lower: fill(3, 0), Upper: []float64{20, 11, 42},
		Optimum: []float64{20, 11, 15}, Value: -3300, Multipliers: []float64{110},
		BadlyScaled: true, LocalMinima: true,
	})
}

func hs37() Problem {
	g := affine{a: []float64{1, 2, 2, -1, -2, -2}, b: []float64{72, 0}}
	return hs(37, Problem{
		N: 3, M: 2, Start: []float64{10, 10, 10},
		F: negativeProduct, Grad: negativeProductGradient, G: g.values, JTW: g.transposed,
		Lower: fill(3, 0), Upper: fill(3, 42),
		Optimum: []float64{24, 12, 12}, Value: -3456, Multipliers: []float64{144, 0},
		BadlyScaled: true, LocalMinima: true,
	})
}

func hs38() Problem {
	return hs(38, Problem{
		N: 4, M: 0, Start: []float64{-3, -1, -3, -1},
		F: func(x []float64) float64 {
			c, d := x[3]-x[2]*x[2], 1-x[2]
			e, f := x[1]-1, x[3]-1
			return rosenbrock(x) + 90*c*c + d*d + 10.1*(e*e+f*f) + 19.8*e*f
		},
		Grad: func(dst, x []float64) {
			rosenbrockGradient(dst, x)
			c := x[3] - x[2]*x[2]
			e, f := x[1]-1, x[3]-1
			dst[1] += 20.2*e + 19.8*f
			dst[2] = -360*c*x[2] - 2*(1-x[2])
			dst[3] = 180*c + 20.2*f + 19.8*e
		},
		G: noConstraints, JTW: noJacobian,
		Lower: fill(4, -10), Upper: fill(4, 10),
		Optimum: []float64{1, 1, 1, 1}, Value: 0,
		BadlyScaled: true, // Colville's fourth problem: no other minimiser, but a long flat valley
	})
}

// hs43 is the problem of Rosen and Suzuki.
func hs43() Problem {
	return hs(43, Problem{
		N: 4, M: 3, Start: []float64{0, 0, 0, 0},
		F: func(x []float64) float64 {
			return x[0]*(x[0]-5) + x[1]*(x[1]-5) + x[2]*(2*x[2]-21) + x[3]*(x[3]+7)
		},
		Grad: func(dst, x []float64) {
			dst[0], dst[1], dst[2], dst[3] = 2*x[0]-5, 2*x[1]-5, 4*x[2]-21, 2*x[3]+7
		},
		G: func(dst, x []float64) {
			a, b, c, d := x[0]*x[0], x[1]*x[1], x[2]*x[2], x[3]*x[3]
			dst[0] = a + b + c + d + x[0] - x[1] + x[2] - x[3] - 8
			dst[1] = a + 2*b + c + 2*d - x[0] - x[3] - 10
			dst[2] = 2*a + b + c + 2*x[0] - x[1] - x[3] - 5
		},
		JTW: func(dst, x, w []float64) {
			dst[0] = (2*x[0]+1)*w[0] + (2*x[0]-1)*w[1] + (4*x[0]+2)*w[2]
			dst[1] = (2*x[1]-1)*w[0] + 4*x[1]*w[1] + (2*x[1]-1)*w[2]
			dst[2] = (2*x[2]+1)*w[0] + 2*x[2]*(w[1]+w[2])
			dst[3] = (2*x[3]-1)*w[0] + (4*x[3]-1)*w[1] - w[2]
		},
		Optimum: []float64{0, 1, 2, -1}, Value: -44, Multipliers: []float64{1, 0, 2},
		Convex: true,
	})
}

func hs44() Problem {
	g := affine{
		a: []float64{
			1, 2, 0, 0,
			4, 1, 0, 0,
			3, 4, 0, 0,
			0, 0, 2, 1,
			0, 0, 1, 2,
			0, 0, 1, 1,
		},
		b: []float64{8, 12, 12, 8, 8, 5},
	}
	return hs(44, Problem{
		N: 4, M: 6, Start: []float64{0, 0, 0, 0},
		F: func(x []float64) float64 {
			return x[0] - x[1] - x[2] - x[0]*x[2] + x[0]*x[3] + x[1]*x[2] - x[1]*x[3]
		},
		Grad: func(dst, x []float64) {
			dst[0], dst[1] = 1-x[2]+x[3], -1+x[2]-x[3]
			dst[2], dst[3] = -1-x[0]+x[1], x[0]-x[1]
		},
		G: g.values, JTW: g.transposed,
		Lower: fill(4, 0), Upper: fill(4, inf()),
		Optimum: []float64{0, 3, 0, 4}, Value: -15, Multipliers: []float64{0, 0, 1.25, 0, 1.5, 0},
		LocalMinima: true,
	})
}

func hs45() Problem {
	return hs(45, Problem{
		N: 5, M: 0, Start: fill(5, 2),
		F: func(x []float64) float64 { return 2 - x[0]*x[1]*x[2]*x[3]*x[4]/120 },
		Grad: func(dst, x []float64) {
			for i := range dst {
				others := 1.0
				for j, xj := range x {
					if j != i {
						others *= xj
					}
				}
				dst[i] = -others / 120
			}
		},
		G: noConstraints, JTW: noJacobian,
		Lower: fill(5, 0), Upper: []float64{1, 2, 3, 4, 5},
		Optimum: []float64{1, 2, 3, 4, 5}, Value: 1,
		LocalMinima: true,
	})
}
