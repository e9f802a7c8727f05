package testkit

import "ppal/trainer/problem"

// HandF is f of the problem on which tests compare methods with loops written directly from the
// formulas:
//
//	f(x, y) = x^2/2 + 2 y^2 + x y - x,   h_1 = x y + y - 3/10,   h_2 = x^2 - y - 1/5,
//
// with g = h, or g = |h| - 1/10 for one or both of the terms.
func HandF(x [2]float64) float64 { return x[0]*x[0]/2 + 2*x[1]*x[1] + x[0]*x[1] - x[0] }

// HandGradient is the gradient of f.
func HandGradient(x [2]float64) [2]float64 { return [2]float64{x[0] + x[1] - 1, 4*x[1] + x[0]} }

// HandH is h.
func HandH(x [2]float64) [2]float64 {
	return [2]float64{x[0]*x[1] + x[1] - 0.3, x[0]*x[0] - x[1] - 0.2}
}

// HandRows is the Jacobian of h.
func HandRows(x [2]float64) [2][2]float64 {
	return [2][2]float64{{x[1], x[0] + 1}, {2 * x[0], -1}}
}

// HandFunctions is the problem with the constraints h <= 0.
func HandFunctions() problem.Functions {
	at := func(x []float64) [2]float64 { return [2]float64{x[0], x[1]} }
	return problem.Functions{N: 2, M: 2,
		F:        func(x []float64) float64 { return HandF(at(x)) },
		Gradient: func(dst, x []float64) { d := HandGradient(at(x)); copy(dst, d[:]) },
		G:        func(dst, x []float64) { h := HandH(at(x)); copy(dst, h[:]) },
		JacobianT: func(dst, x, w []float64) {
			rows := HandRows(at(x))
			for i := range dst {
				dst[i] = w[0]*rows[0][i] + w[1]*rows[1][i]
			}
		}}
}
