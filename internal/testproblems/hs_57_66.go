package testproblems

import "math"

// hs57 fits b_i by x_1 + (0.49 - x_1) exp(-x_2 (a_i - 8)) in least squares.
func hs57() Problem {
	a := []float64{
		8, 8, 10, 10, 10, 10, 12, 12, 12, 12, 14, 14, 14, 16, 16, 16, 18, 18, 20, 20, 20, 22,
		22, 22, 24, 24, 24, 26, 26, 26, 28, 28, 30, 30, 30, 32, 32, 34, 36, 36, 38, 38, 40, 42,
	}
	b := []float64{
		0.49, 0.49, 0.48, 0.47, 0.48, 0.47, 0.46, 0.46, 0.45, 0.43, 0.45,
		0.43, 0.43, 0.44, 0.43, 0.43, 0.46, 0.45, 0.42, 0.42, 0.43, 0.41,
		0.41, 0.40, 0.42, 0.40, 0.40, 0.41, 0.40, 0.41, 0.41, 0.40, 0.40,
		0.40, 0.38, 0.41, 0.40, 0.40, 0.41, 0.38, 0.40, 0.40, 0.39, 0.39,
	}
	return hs(57, Problem{
		N: 2, M: 1, Start: []float64{0.42, 5},
		F: func(x []float64) float64 {
			var sum float64
			for i := range a {
				r := b[i] - x[0] - (0.49-x[0])*math.Exp(-x[1]*(a[i]-8))
				sum += r * r
			}
			return sum
		},
		Grad: func(dst, x []float64) {
			dst[0], dst[1] = 0, 0
			for i := range a {
				e := math.Exp(-x[1] * (a[i] - 8))
				r := b[i] - x[0] - (0.49-x[0])*e
				dst[0] += 2 * r * (e - 1)
				dst[1] += 2 * r * (0.49 - x[0]) * (a[i] - 8) * e
			}
		},
		G: func(dst, x []float64) { dst[0] = 0.09 - 0.49*x[1] + x[0]*x[1] },
		JTW: func(dst, x, w []float64) {
			dst[0], dst[1] = x[1]*w[0], (x[0]-0.49)*w[0]
		},
		Lower: []float64{0.4, -4}, Upper: []float64{inf(), inf()},
		Optimum: []float64{0.419952650757801225, 1.28484519362484465},
		Value:   0.0284596697229867057, Multipliers: []float64{0.0667150373007068665},
		LocalMinima: true, // f = 0.0306463 at an interior point near the start
	})
}

func hs64() Problem {
	return hs(64, Problem{
		N: 3, M: 1, Start: []float64{1, 1, 1},
		F: func(x []float64) float64 {
			return 5*x[0] + 50000/x[0] + 20*x[1] + 72000/x[1] + 10*x[2] + 144000/x[2]
		},
		Grad: func(dst, x []float64) {
			dst[0] = 5 - 50000/(x[0]*x[0])
			dst[1] = 20 - 72000/(x[1]*x[1])
			dst[2] = 10 - 144000/(x[2]*x[2])
		},
		G: func(dst, x []float64) { dst[0] = 4/x[0] + 32/x[1] + 120/x[2] - 1 },
		JTW: func(dst, x, w []float64) {
			dst[0] = -4 / (x[0] * x[0]) * w[0]
			dst[1] = -32 / (x[1] * x[1]) * w[0]
			dst[2] = -120 / (x[2] * x[2]) * w[0]
		},
		Lower: fill(3, 1e-5), Upper: fill(3, inf()),
		Optimum: []float64{108.734704910898918, 85.1262127908937959, 204.324596612605549},
		Value:   6299.84242792152042, Multipliers: []float64{2279.04506507533157},
		Convex: true, BadlyScaled: true,
	})
}

func hs65() Problem {
	return hs(65, Problem{
		N: 3, M: 1, Start: []float64{-5, 5, 0},
		F: func(x []float64) float64 {
			a, b, c := x[0]-x[1], x[0]+x[1]-10, x[2]-5
			return a*a + b*b/9 + c*c
		},
		Grad: func(dst, x []float64) {
			a, b := 2*(x[0]-x[1]), 2*(x[0]+x[1]-10)/9
			dst[0], dst[1], dst[2] = b+a, b-a, 2*(x[2]-5)
		},
		G: func(dst, x []float64) { dst[0] = x[0]*x[0] + x[1]*x[1] + x[2]*x[2] - 48 },
		JTW: func(dst, x, w []float64) {
			dst[0], dst[1], dst[2] = 2*x[0]*w[0], 2*x[1]*w[0], 2*x[2]*w[0]
		},
		Lower: []float64{-4.5, -4.5, -5}, Upper: []float64{4.5, 4.5, 5},
		Optimum: []float64{3.65046172521303633, 3.65046172521303633, 4.62041755532000862},
		Value:   0.953528856804782836, Multipliers: []float64{0.0821532773034625929},
		Convex: true,
	})
}

func hs66() Problem {
	return hs(66, Problem{
		N: 3, M: 2, Start: []float64{0, 1.05, 2.9},
		F:    func(x []float64) float64 { return 0.2*x[2] - 0.8*x[0] },
		Grad: func(dst, _ []float64) { dst[0], dst[1], dst[2] = -0.8, 0, 0.2 },
		G:    exponentialChain, JTW: exponentialChainJTW,
		Lower: []float64{0, 0, 0}, Upper: []float64{100, 100, 10},
		Optimum: []float64{0.18412648792284768, 1.20216787319704294, 3.32732232259909563},
		Value:   0.518163274181540983, Multipliers: []float64{0.665464464519819127, 0.2},
		Convex: true,
	})
}
