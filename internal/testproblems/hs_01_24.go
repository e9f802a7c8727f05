package testproblems

import "math"

// hockSchittkowskiLow are problems 1 to 24, all in two variables.
func hockSchittkowskiLow() []Problem {
	return []Problem{
		hs1(), hs2(), hs3(), hs4(), hs5(), hs10(), hs11(), hs12(), hs15(),
		hs16(), hs17(), hs18(), hs19(), hs20(), hs21(), hs22(), hs23(), hs24(),
	}
}

func hs1() Problem {
	return hs(1, Problem{
		N: 2, M: 0, Start: []float64{-2, 1},
		F: rosenbrock, Grad: rosenbrockGradient, G: noConstraints, JTW: noJacobian,
		Lower: []float64{-inf(), -1.5}, Upper: []float64{inf(), inf()},
		Optimum: []float64{1, 1}, Value: 0,
	})
}

func hs2() Problem {
	a := math.Sqrt(598.0 / 1200)
	x1 := 2 * a * math.Cos(math.Acos(1/(400*a*a*a))/3)
	return hs(2, Problem{
		N: 2, M: 0, Start: []float64{-2, 1},
		F: rosenbrock, Grad: rosenbrockGradient, G: noConstraints, JTW: noJacobian,
		Lower: []float64{-inf(), 1.5}, Upper: []float64{inf(), inf()},
		Optimum: []float64{x1, 1.5}, Value: 0.0504261878936070849,
		LocalMinima: true,
	})
}

func hs3() Problem {
	return hs(3, Problem{
		N: 2, M: 0, Start: []float64{10, 1},
		F: func(x []float64) float64 {
			d := x[1] - x[0]
			return x[1] + 1e-5*d*d
		},
		Grad: func(dst, x []float64) {
			d := x[1] - x[0]
			dst[0], dst[1] = -2e-5*d, 1+2e-5*d
		},
		G: noConstraints, JTW: noJacobian,
		Lower: []float64{-inf(), 0}, Upper: []float64{inf(), inf()},
		Optimum: []float64{0, 0}, Value: 0,
		Convex: true, BadlyScaled: true,
	})
}

func hs4() Problem {
	return hs(4, Problem{
		N: 2, M: 0, Start: []float64{1.125, 0.125},
		F: func(x []float64) float64 {
			a := x[0] + 1
			return a*a*a/3 + x[1]
		},
		Grad: func(dst, x []float64) {
			a := x[0] + 1
			dst[0], dst[1] = a*a, 1
		},
		G: noConstraints, JTW: noJacobian,
		Lower: []float64{1, 0}, Upper: []float64{inf(), inf()},
		Optimum: []float64{1, 0}, Value: 8.0 / 3,
		Convex: true,
	})
}

func hs5() Problem {
	return hs(5, Problem{
		N: 2, M: 0, Start: []float64{0, 0},
		F: func(x []float64) float64 {
			d := x[0] - x[1]
			return math.Sin(x[0]+x[1]) + d*d - 1.5*x[0] + 2.5*x[1] + 1
		},
		Grad: func(dst, x []float64) {
			c, d := math.Cos(x[0]+x[1]), 2*(x[0]-x[1])
			dst[0], dst[1] = c+d-1.5, c-d+2.5
		},
		G: noConstraints, JTW: noJacobian,
		Lower: []float64{-1.5, -3}, Upper: []float64{4, 3},
		Optimum: []float64{0.5 - math.Pi/3, -0.5 - math.Pi/3}, Value: -math.Sqrt(3)/2 - math.Pi/3,
		LocalMinima: true,
	})
}

func hs10() Problem {
	return hs(10, Problem{
		N: 2, M: 1, Start: []float64{-10, 10},
		F:    func(x []float64) float64 { return x[0] - x[1] },
		Grad: func(dst, _ []float64) { dst[0], dst[1] = 1, -1 },
		G: func(dst, x []float64) {
			dst[0] = 3*x[0]*x[0] - 2*x[0]*x[1] + x[1]*x[1] - 1
		},
		JTW: func(dst, x, w []float64) {
			dst[0], dst[1] = (6*x[0]-2*x[1])*w[0], 2*(x[1]-x[0])*w[0]
		},
		Optimum: []float64{0, 1}, Value: -1, Multipliers: []float64{0.5},
		Convex: true,
	})
}

func hs11() Problem {
	return hs(11, Problem{
		N: 2, M: 1, Start: []float64{4.9, 0.1},
		F: func(x []float64) float64 {
			a := x[0] - 5
			return a*a + x[1]*x[1] - 25
		},
		Grad:    func(dst, x []float64) { dst[0], dst[1] = 2*(x[0]-5), 2*x[1] },
		G:       func(dst, x []float64) { dst[0] = x[0]*x[0] - x[1] },
		JTW:     func(dst, x, w []float64) { dst[0], dst[1] = 2*x[0]*w[0], -w[0] },
		Optimum: []float64{1.23477282505329698, 1.52466392949009995},
		Value:   -8.49846422315467738, Multipliers: []float64{3.0493278589801999},
		Convex: true,
	})
}

func hs12() Problem {
	return hs(12, Problem{
		N: 2, M: 1, Start: []float64{0, 0},
		F: func(x []float64) float64 {
			return 0.5*x[0]*x[0] + x[1]*x[1] - x[0]*x[1] - 7*x[0] - 7*x[1]
		},
		Grad: func(dst, x []float64) {
			dst[0], dst[1] = x[0]-x[1]-7, 2*x[1]-x[0]-7
		},
		G:       func(dst, x []float64) { dst[0] = 4*x[0]*x[0] + x[1]*x[1] - 25 },
		JTW:     func(dst, x, w []float64) { dst[0], dst[1] = 8*x[0]*w[0], 2*x[1]*w[0] },
		Optimum: []float64{2, 3}, Value: -30, Multipliers: []float64{0.5},
		Convex: true,
	})
}

func hs15() Problem {
	return hs(15, Problem{
		N: 2, M: 2, Start: []float64{-2, 1},
		F: rosenbrock, Grad: rosenbrockGradient,
		G: func(dst, x []float64) {
			dst[0], dst[1] = 1-x[0]*x[1], -x[0]-x[1]*x[1]
		},
		JTW: func(dst, x, w []float64) {
			dst[0], dst[1] = -x[1]*w[0]-w[1], -x[0]*w[0]-2*x[1]*w[1]
		},
		Lower: []float64{-inf(), -inf()}, Upper: []float64{0.5, inf()},
		Optimum: []float64{0.5, 2}, Value: 306.5, Multipliers: []float64{700, 0},
		BadlyScaled: true, LocalMinima: true,
	})
}

func hs16() Problem {
	return hs(16, Problem{
		N: 2, M: 2, Start: []float64{-2, 1},
		F: rosenbrock, Grad: rosenbrockGradient,
		G: func(dst, x []float64) {
			dst[0], dst[1] = -x[0]-x[1]*x[1], -x[0]*x[0]-x[1]
		},
		JTW: func(dst, x, w []float64) {
			dst[0], dst[1] = -w[0]-2*x[0]*w[1], -2*x[1]*w[0]-w[1]
		},
		Lower: []float64{-0.5, -inf()}, Upper: []float64{0.5, 1},
		Optimum: []float64{0.5, 0.25}, Value: 0.25, Multipliers: []float64{0, 0},
		LocalMinima: true,
	})
}

func hs17() Problem {
	p := hs(17, Problem{
		N: 2, M: 2, Start: []float64{-2, 1},
		F: rosenbrock, Grad: rosenbrockGradient,
		G: func(dst, x []float64) {
			dst[0], dst[1] = x[0]-x[1]*x[1], x[1]-x[0]*x[0]
		},
		JTW: func(dst, x, w []float64) {
			dst[0], dst[1] = w[0]-2*x[0]*w[1], -2*x[1]*w[0]+w[1]
		},
		Lower: []float64{-0.5, -inf()}, Upper: []float64{0.5, 1},
		Optimum: []float64{0, 0}, Value: 1, Multipliers: []float64{2, 0},
		LocalMinima: true,
	})
	p.StrictComplementarity = false
	return p
}

func hs18() Problem {
	return hs(18, Problem{
		N: 2, M: 2, Start: []float64{2, 2},
		F:    func(x []float64) float64 { return 0.01*x[0]*x[0] + x[1]*x[1] },
		Grad: func(dst, x []float64) { dst[0], dst[1] = 0.02*x[0], 2*x[1] },
		G: func(dst, x []float64) {
			dst[0], dst[1] = 25-x[0]*x[1], 25-x[0]*x[0]-x[1]*x[1]
		},
		JTW: func(dst, x, w []float64) {
			dst[0], dst[1] = -x[1]*w[0]-2*x[0]*w[1], -x[0]*w[0]-2*x[1]*w[1]
		},
		Lower: []float64{2, 0}, Upper: []float64{50, 50},
		Optimum: []float64{math.Sqrt(250), math.Sqrt(2.5)}, Value: 5, Multipliers: []float64{0.2, 0},
		BadlyScaled: true,
	})
}

func hs19() Problem {
	return hs(19, Problem{
		N: 2, M: 2, Start: []float64{20.1, 5.84},
		F: func(x []float64) float64 {
			a, b := x[0]-10, x[1]-20
			return a*a*a + b*b*b
		},
		Grad: func(dst, x []float64) {
			a, b := x[0]-10, x[1]-20
			dst[0], dst[1] = 3*a*a, 3*b*b
		},
		G: func(dst, x []float64) {
			a, b, c := x[0]-5, x[1]-5, x[0]-6
			dst[0], dst[1] = 100-a*a-b*b, c*c+b*b-82.81
		},
		JTW: func(dst, x, w []float64) {
			dst[0] = -2*(x[0]-5)*w[0] + 2*(x[0]-6)*w[1]
			dst[1] = 2 * (x[1] - 5) * (w[1] - w[0])
		},
		Lower: []float64{13, 0}, Upper: []float64{100, 100},
		Optimum: []float64{14.095, 0.842960789215478184}, Value: -6961.81387558013928,
		Multipliers: []float64{1097.1189367883679, 1229.5420867931076},
		BadlyScaled: true,
	})
}

func hs20() Problem {
	root := math.Sqrt(3)
	return hs(20, Problem{
		N: 2, M: 3, Start: []float64{-2, 1},
		F: rosenbrock, Grad: rosenbrockGradient,
		G: func(dst, x []float64) {
			a, b := x[0]*x[0], x[1]*x[1]
			dst[0], dst[1], dst[2] = -x[0]-b, -a-x[1], 1-a-b
		},
		JTW: func(dst, x, w []float64) {
			dst[0] = -w[0] - 2*x[0]*(w[1]+w[2])
			dst[1] = -2*x[1]*(w[0]+w[2]) - w[1]
		},
		Lower: []float64{-0.5, -inf()}, Upper: []float64{0.5, inf()},
		Optimum: []float64{0.5, root / 2}, Value: 81.5 - 25*root,
		Multipliers: []float64{0, 0, 71.1324865405187118},
		BadlyScaled: true, LocalMinima: true,
	})
}

func hs21() Problem {
	g := affine{a: []float64{-10, 1}, b: []float64{-10}}
	return hs(21, Problem{
		N: 2, M: 1, Start: []float64{-1, -1},
		F:    func(x []float64) float64 { return 0.01*x[0]*x[0] + x[1]*x[1] - 100 },
		Grad: func(dst, x []float64) { dst[0], dst[1] = 0.02*x[0], 2*x[1] },
		G:    g.values, JTW: g.transposed,
		Lower: []float64{2, -50}, Upper: []float64{50, 50},
		Optimum: []float64{2, 0}, Value: -99.96, Multipliers: []float64{0},
		Convex: true,
	})
}

func hs22() Problem {
	return hs(22, Problem{
		N: 2, M: 2, Start: []float64{2, 2},
		F: func(x []float64) float64 {
			a, b := x[0]-2, x[1]-1
			return a*a + b*b
		},
		Grad:    func(dst, x []float64) { dst[0], dst[1] = 2*(x[0]-2), 2*(x[1]-1) },
		G:       func(dst, x []float64) { dst[0], dst[1] = x[0]+x[1]-2, x[0]*x[0]-x[1] },
		JTW:     func(dst, x, w []float64) { dst[0], dst[1] = w[0]+2*x[0]*w[1], w[0]-w[1] },
		Optimum: []float64{1, 1}, Value: 1, Multipliers: []float64{2.0 / 3, 2.0 / 3},
		Convex: true,
	})
}

func hs23() Problem {
	return hs(23, Problem{
		N: 2, M: 5, Start: []float64{3, 1},
		F:    func(x []float64) float64 { return x[0]*x[0] + x[1]*x[1] },
		Grad: func(dst, x []float64) { dst[0], dst[1] = 2*x[0], 2*x[1] },
		G: func(dst, x []float64) {
			a, b := x[0]*x[0], x[1]*x[1]
			dst[0], dst[1], dst[2] = 1-x[0]-x[1], 1-a-b, 9-9*a-b
			dst[3], dst[4] = x[1]-a, x[0]-b
		},
		JTW: func(dst, x, w []float64) {
			dst[0] = -w[0] - 2*x[0]*(w[1]+9*w[2]+w[3]) + w[4]
			dst[1] = -w[0] - 2*x[1]*(w[1]+w[2]+w[4]) + w[3]
		},
		Lower: []float64{-50, -50}, Upper: []float64{50, 50},
		Optimum: []float64{1, 1}, Value: 2, Multipliers: []float64{0, 0, 0, 2, 2},
		LocalMinima: true,
	})
}

func hs24() Problem {
	root := math.Sqrt(3)
	g := affine{a: []float64{-1 / root, 1, -1, -root, 1, root}, b: []float64{0, 0, 6}}
	return hs(24, Problem{
		N: 2, M: 3, Start: []float64{1, 0.5},
		F: func(x []float64) float64 {
			a := x[0] - 3
			return (a*a - 9) * x[1] * x[1] * x[1] / (27 * root)
		},
		Grad: func(dst, x []float64) {
			a, b := x[0]-3, x[1]*x[1]
			dst[0] = 2 * a * b * x[1] / (27 * root)
			dst[1] = (a*a - 9) * b / (9 * root)
		},
		G: g.values, JTW: g.transposed,
		Lower: []float64{0, 0}, Upper: []float64{inf(), inf()},
		Optimum: []float64{3, root}, Value: -1, Multipliers: []float64{root / 2, 0, 0.5},
		LocalMinima: true,
	})
}
