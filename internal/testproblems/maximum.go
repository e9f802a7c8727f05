package testproblems

// maximumProblems have one constraint that is a maximum of pieces, other than
// a single absolute value.
func maximumProblems() []Problem {
	return []Problem{
		maximumOfDiscs("max-kink", []float64{1.5, 2.5}, []float64{1, 1}, []float64{0.5, 0.25}),
		maximumOfDiscs("max-one-piece", []float64{2.8, 0.4}, []float64{1.4, 0.2}, []float64{0.5, 0}),
		maximumOfAbsolutes(),
		hinge("hinge-branch", 0.25, []float64{0.15, 0.3}, 0.15),
		hinge("hinge-kink", 0, []float64{0.2, 0.4}, 0.2),
		hingeInactive(),
	}
}

// maximumOfDiscs is max(x^2 + y^2, (x-2)^2 + y^2) - 2 <= 0, the discs'
// intersection, whose corners are the kinks (1, 1) and (1, -1).
func maximumOfDiscs(name string, target, x, multipliers []float64) Problem {
	f := distance{c: target}
	return Problem{
		Name: name, Source: exact, Kind: Kink,
		N: 2, M: 2, Start: []float64{0.5, -0.5},
		F: f.value, Grad: f.gradient,
		G: func(dst, x []float64) {
			a, b := x[0]-2, x[1]*x[1]
			dst[0], dst[1] = x[0]*x[0]+b, a*a+b
		},
		JTW: func(dst, x, w []float64) {
			dst[0] = 2*x[0]*w[0] + 2*(x[0]-2)*w[1]
			dst[1] = 2 * x[1] * (w[0] + w[1])
		},
		Pieces:  []Piece{{0, 0, 1, -2}, {0, 1, 1, -2}},
		Optimum: x, Value: f.value(x), Multipliers: multipliers,
		Convex: true, StrictComplementarity: true, LICQ: true, MFCQ: true,
	}
}

// maximumOfAbsolutes is max(|h_1|, |h_2|) - 1/2 <= 0, the shape of equalized
// odds as one constraint, with +h_1 and -h_2 attaining the maximum.
func maximumOfAbsolutes() Problem {
	f := distance{c: []float64{1, 1, 1}}
	h := affine{a: []float64{1, 0, 1, 0, 1, -1}, b: []float64{-2.5, 5.5}}
	x := []float64{0, 3, -2}
	return Problem{
		Name: "max-of-abs", Source: exact, Kind: Kink,
		N: 3, M: 2, Start: []float64{0, 0, 0},
		F: f.value, Grad: f.gradient, G: h.values, JTW: h.transposed,
		Pieces:  []Piece{{0, 0, 1, -0.5}, {0, 0, -1, -0.5}, {0, 1, 1, -0.5}, {0, 1, -1, -0.5}},
		Optimum: x, Value: f.value(x), Multipliers: []float64{1, 0, 0, 2},
		Convex: true, StrictComplementarity: true, LICQ: true, MFCQ: true,
	}
}

// hinge is max(0, 1 - x_1 - 2 x_2) - eps <= 0 with the target 0; the constant
// piece comes second. With eps = 0 the kink is active.
func hinge(name string, eps float64, x []float64, nu float64) Problem {
	f := distance{c: []float64{0, 0}}
	h := affine{a: []float64{-1, -2}, b: []float64{-1}}
	return Problem{
		Name: name, Source: exact, Kind: Kink,
		N: 2, M: 1, Start: []float64{-1, -1},
		F: f.value, Grad: f.gradient, G: h.values, JTW: h.transposed,
		Pieces:  []Piece{{0, 0, 1, -eps}, {0, 0, 0, -eps}},
		Optimum: x, Value: f.value(x), Multipliers: []float64{nu, 0},
		Convex: true, StrictComplementarity: true, LICQ: true, MFCQ: true,
	}
}

// hingeInactive is the hinge with eps = 2, which the target satisfies.
func hingeInactive() Problem {
	return hinge("hinge-inactive", 2, []float64{0, 0}, 0)
}
