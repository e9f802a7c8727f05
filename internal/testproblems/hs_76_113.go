package testproblems

// hockSchittkowskiHigh are problems 76 to 117.
func hockSchittkowskiHigh() []Problem {
	return []Problem{hs76(), hs86(), hs93(), hs100(), hs113(), hs117()}
}

func hs76() Problem {
	f := quadratic{
		p: []float64{
			2, 0, -1, 0,
			0, 1, 0, 0,
			-1, 0, 2, 1,
			0, 0, 1, 1,
		},
		q: []float64{-1, -3, 1, -1},
	}
	g := affine{
		a: []float64{
			1, 2, 1, 1,
			3, 1, 2, -1,
			0, -1, -4, 0,
		},
		b: []float64{5, 4, -1.5},
	}
	return hs(76, Problem{
		N: 4, M: 3, Start: fill(4, 0.5),
		F: f.value, Grad: f.gradient, G: g.values, JTW: g.transposed,
		Lower: fill(4, 0), Upper: fill(4, inf()),
		Optimum: []float64{3.0 / 11, 23.0 / 11, 0, 6.0 / 11}, Value: -103.0 / 22,
		Multipliers: []float64{5.0 / 11, 0, 0},
		Convex:      true,
	})
}

// hs93 is a transformer design problem.
func hs93() Problem {
	// Both the objective and the second constraint are combinations of
	// s = x_1 x_4 (x_1 + x_2 + x_3) and t = x_2 x_3 (x_1 + 1.57 x_2 + x_4).
	st := func(x []float64) (s, t float64) {
		return x[0] * x[3] * (x[0] + x[1] + x[2]), x[1] * x[2] * (x[0] + 1.57*x[1] + x[3])
	}
	// addGradients adds cs grad s + ct grad t to dst.
	addGradients := func(dst, x []float64, cs, ct float64) {
		a, b := x[0]+x[1]+x[2], x[0]+1.57*x[1]+x[3]
		p, q := x[0]*x[3]*cs, x[1]*x[2]*ct
		dst[0] += cs*x[3]*a + p + q
		dst[1] += p + ct*x[2]*b + 1.57*q
		dst[2] += p + ct*x[1]*b
		dst[3] += cs*x[0]*a + q
	}
	return hs(93, Problem{
		N: 6, M: 2, Start: []float64{5.54, 4.4, 12.02, 11.82, 0.702, 0.852},
		F: func(x []float64) float64 {
			s, t := st(x)
			return (0.0204+0.0607*x[4]*x[4])*s + (0.0187+0.0437*x[5]*x[5])*t
		},
		Grad: func(dst, x []float64) {
			s, t := st(x)
			clear(dst)
			addGradients(dst, x, 0.0204+0.0607*x[4]*x[4], 0.0187+0.0437*x[5]*x[5])
			dst[4], dst[5] = 0.1214*x[4]*s, 0.0874*x[5]*t
		},
		G: func(dst, x []float64) {
			s, t := st(x)
			dst[0] = 2.07 - 0.001*x[0]*x[1]*x[2]*x[3]*x[4]*x[5]
			dst[1] = 0.00062*x[4]*x[4]*s + 0.00058*x[5]*x[5]*t - 1
		},
		JTW: func(dst, x, w []float64) {
			s, t := st(x)
			c := -0.001 * w[0]
			ab, cd, ef := x[0]*x[1], x[2]*x[3], x[4]*x[5]
			dst[0], dst[1] = c*x[1]*cd*ef, c*x[0]*cd*ef
			dst[2], dst[3] = c*ab*x[3]*ef, c*ab*x[2]*ef
			dst[4], dst[5] = c*ab*cd*x[5], c*ab*cd*x[4]
			addGradients(dst, x, 0.00062*x[4]*x[4]*w[1], 0.00058*x[5]*x[5]*w[1])
			dst[4] += 0.00124 * x[4] * s * w[1]
			dst[5] += 0.00116 * x[5] * t * w[1]
		},
		Lower: fill(6, 0), Upper: fill(6, inf()),
		Optimum: []float64{
			5.33266633552881154, 4.65674405917202155, 10.4329919404682764,
			12.0823063400636961, 0.752607436223832244, 0.878650874659139325,
		},
		Value:       135.075962829151804,
		Multipliers: []float64{71.459489765748058, 62.1522289243128359},
		BadlyScaled: true,
	})
}

func hs100() Problem {
	return hs(100, Problem{
		N: 7, M: 4, Start: []float64{1, 2, 0, 4, 0, 1, 1},
		F: func(x []float64) float64 {
			a, b, d := x[0]-10, x[1]-12, x[3]-11
			c2, e2, g2 := x[2]*x[2], x[4]*x[4], x[6]*x[6]
			return a*a + 5*b*b + c2*c2 + 3*d*d + 10*e2*e2*e2 + 7*x[5]*x[5] + g2*g2 -
				4*x[5]*x[6] - 10*x[5] - 8*x[6]
		},
		Grad: func(dst, x []float64) {
			e2 := x[4] * x[4]
			dst[0], dst[1] = 2*(x[0]-10), 10*(x[1]-12)
			dst[2], dst[3] = 4*x[2]*x[2]*x[2], 6*(x[3]-11)
			dst[4], dst[5] = 60*e2*e2*x[4], 14*x[5]-4*x[6]-10
			dst[6] = 4*x[6]*x[6]*x[6] - 4*x[5] - 8
		},
		G: func(dst, x []float64) {
			a, b, c, f := x[0]*x[0], x[1]*x[1], x[2]*x[2], x[5]*x[5]
			dst[0] = 2*a + 3*b*b + x[2] + 4*x[3]*x[3] + 5*x[4] - 127
			dst[1] = 7*x[0] + 3*x[1] + 10*c + x[3] - x[4] - 282
			dst[2] = 23*x[0] + b + 6*f - 8*x[6] - 196
			dst[3] = 4*a + b - 3*x[0]*x[1] + 2*c + 5*x[5] - 11*x[6]
		},
		JTW: func(dst, x, w []float64) {
			dst[0] = 4*x[0]*w[0] + 7*w[1] + 23*w[2] + (8*x[0]-3*x[1])*w[3]
			dst[1] = 12*x[1]*x[1]*x[1]*w[0] + 3*w[1] + 2*x[1]*w[2] + (2*x[1]-3*x[0])*w[3]
			dst[2] = w[0] + 20*x[2]*w[1] + 4*x[2]*w[3]
			dst[3] = 8*x[3]*w[0] + w[1]
			dst[4] = 5*w[0] - w[1]
			dst[5] = 12*x[5]*w[2] + 5*w[3]
			dst[6] = -8*w[2] - 11*w[3]
		},
		Optimum: []float64{
			2.33049937287957, 1.95137237289688897, -0.477541392388871628, 4.36572623365581015,
			-0.62448697052681741, 1.03813101860795834, 1.59422671161186845,
		},
		Value:       680.630057374402149,
		Multipliers: []float64{1.13971995916737605, 0, 0, 0.368614517187211412},
		BadlyScaled: true,
	})
}

// hs113 is Wong's second problem.
func hs113() Problem {
	square := func(v float64) float64 { return v * v }
	return hs(113, Problem{
		N: 10, M: 8, Start: []float64{2, 3, 5, 5, 1, 2, 7, 3, 6, 10},
		F: func(x []float64) float64 {
			return x[0]*x[0] + x[1]*x[1] + x[0]*x[1] - 14*x[0] - 16*x[1] +
				square(x[2]-10) + 4*square(x[3]-5) + square(x[4]-3) + 2*square(x[5]-1) +
				5*x[6]*x[6] + 7*square(x[7]-11) + 2*square(x[8]-10) + square(x[9]-7) + 45
		},
		Grad: func(dst, x []float64) {
			dst[0], dst[1] = 2*x[0]+x[1]-14, 2*x[1]+x[0]-16
			dst[2], dst[3] = 2*(x[2]-10), 8*(x[3]-5)
			dst[4], dst[5] = 2*(x[4]-3), 4*(x[5]-1)
			dst[6], dst[7] = 10*x[6], 14*(x[7]-11)
			dst[8], dst[9] = 4*(x[8]-10), 2*(x[9]-7)
		},
		G: func(dst, x []float64) {
			dst[0] = 4*x[0] + 5*x[1] - 3*x[6] + 9*x[7] - 105
			dst[1] = 10*x[0] - 8*x[1] - 17*x[6] + 2*x[7]
			dst[2] = -8*x[0] + 2*x[1] + 5*x[8] - 2*x[9] - 12
			dst[3] = 3*square(x[0]-2) + 4*square(x[1]-3) + 2*x[2]*x[2] - 7*x[3] - 120
			dst[4] = 5*x[0]*x[0] + 8*x[1] + square(x[2]-6) - 2*x[3] - 40
			dst[5] = 0.5*square(x[0]-8) + 2*square(x[1]-4) + 3*x[4]*x[4] - x[5] - 30
			dst[6] = x[0]*x[0] + 2*square(x[1]-2) - 2*x[0]*x[1] + 14*x[4] - 6*x[5]
			dst[7] = -3*x[0] + 6*x[1] + 12*square(x[8]-8) - 7*x[9]
		},
		JTW: func(dst, x, w []float64) {
			dst[0] = 4*w[0] + 10*w[1] - 8*w[2] + 6*(x[0]-2)*w[3] + 10*x[0]*w[4] +
				(x[0]-8)*w[5] + 2*(x[0]-x[1])*w[6] - 3*w[7]
			dst[1] = 5*w[0] - 8*w[1] + 2*w[2] + 8*(x[1]-3)*w[3] + 8*w[4] +
				4*(x[1]-4)*w[5] + (4*(x[1]-2)-2*x[0])*w[6] + 6*w[7]
			dst[2] = 4*x[2]*w[3] + 2*(x[2]-6)*w[4]
			dst[3] = -7*w[3] - 2*w[4]
			dst[4] = 6*x[4]*w[5] + 14*w[6]
			dst[5] = -w[5] - 6*w[6]
			dst[6] = -3*w[0] - 17*w[1]
			dst[7] = 9*w[0] + 2*w[1]
			dst[8] = 5*w[2] + 24*(x[8]-8)*w[7]
			dst[9] = -2*w[2] - 7*w[7]
		},
		Optimum: []float64{
			2.17199637125545526, 2.36368297369727982, 8.7739257384768504, 5.09598448794845276,
			0.990654764963859159, 1.43057397893631589, 1.3216442081617033, 9.82872580788632109,
			8.28009167009834582, 8.37592666392132335,
		},
		Value: 24.3062090681798093,
		Multipliers: []float64{
			1.71653315346817357, 0.474520154188971312, 1.37592666392132335, 0.0205455551024223986,
			0.312028508935332625, 0, 0.287049319290877263, 0,
		},
		Convex: true,
	})
}
