package testproblems

import "math"

// absolutePieces returns the pieces of |h_j(x)| - eps_j, j = 0, 1, ...
func absolutePieces(eps ...float64) []Piece {
	var pieces []Piece
	for j, e := range eps {
		pieces = append(pieces, Piece{j, j, 1, -e}, Piece{j, j, -1, -e})
	}
	return pieces
}

// absoluteProblems have constraints |h_j(x)| <= eps_j, whose kinks are at
// h_j = 0: with eps = 0 the kink itself is active.
func absoluteProblems() []Problem {
	// Affine terms h = a.x - b with a = (1, 1, 1) and the target c = (1, 2, 3),
	// at a.c = 6: x* = c - y a, where y in [-lambda, lambda] is h's weight.
	target := func(name string, b, eps, y float64, multipliers ...float64) Problem {
		f := distance{c: []float64{1, 2, 3}}
		h := affine{a: []float64{1, 1, 1}, b: []float64{b}}
		x := []float64{1 - y, 2 - y, 3 - y}
		return Problem{
			Name: name, Source: exact, Kind: Kink,
			N: 3, M: 1, Start: []float64{0, 0, 0},
			F: f.value, Grad: f.gradient, G: h.values, JTW: h.transposed,
			Pieces:  absolutePieces(eps),
			Optimum: x, Value: f.value(x), Multipliers: multipliers,
			Convex: true, StrictComplementarity: true, LICQ: true, MFCQ: true,
		}
	}
	weak := target("abs-weakly-active", 3, 3, 0, 0, 0)
	weak.StrictComplementarity = false

	return []Problem{
		noInterior(target("abs-kink", 3, 0, 1, 1, 0)),
		target("abs-upper-branch", 3, 0.5, 2.5/3, 2.5/3, 0),
		target("abs-lower-branch", 9, 0.5, -2.5/3, 0, 2.5/3),
		target("abs-inactive", 3, 4, 0, 0, 0),
		weak,
		absoluteTwoKinks(), absoluteMixed(),
		absoluteCircle(), absoluteCircleBand(), absoluteSigmoidGap(),
	}
}

// noInterior clears the qualifications that do not hold at a kink |h| <= 0, which is an equation.
func noInterior(p Problem) Problem {
	p.StrictComplementarity, p.LICQ, p.MFCQ = false, false, false
	return p
}

// absoluteTwoKinks has two equations, with weights y = (1, -2) on its terms:
// x* = c - A^T y for c = (1, 1, 1).
func absoluteTwoKinks() Problem {
	f := distance{c: []float64{1, 1, 1}}
	h := affine{a: []float64{1, 0, 1, 0, 1, -1}, b: []float64{-2, 5}}
	x := []float64{0, 3, -2}
	return noInterior(Problem{
		Name: "abs-two-kinks", Source: exact, Kind: Kink,
		N: 3, M: 2, Start: []float64{0, 0, 0},
		F: f.value, Grad: f.gradient, G: h.values, JTW: h.transposed,
		Pieces:  absolutePieces(0, 0),
		Optimum: x, Value: f.value(x), Multipliers: []float64{1, 0, 0, 2},
		Convex: true,
	})
}

// absoluteMixed has one term on its upper branch and one at its kink, and an
// objective with weights D = diag(1, 2, 4): x* = c - D^-1 A^T y, y = (1, -2).
func absoluteMixed() Problem {
	f := distance{d: []float64{1, 2, 4}, c: []float64{1, 1, 1}}
	h := affine{a: []float64{1, 0, 1, 0, 1, -1}, b: []float64{0, 1.75}}
	x := []float64{0, 2, 0.25}
	return noInterior(Problem{
		Name: "abs-branch-and-kink", Source: exact, Kind: Kink,
		N: 3, M: 2, Start: []float64{0, 0, 0},
		F: f.value, Grad: f.gradient, G: h.values, JTW: h.transposed,
		Pieces:  absolutePieces(0.25, 0),
		Optimum: x, Value: f.value(x), Multipliers: []float64{1, 0, 0, 2},
		Convex: true,
	})
}

// absoluteCircle is |x^2 + y^2 - 1| <= 0 with the target (2, 0): weakly convex.
func absoluteCircle() Problem {
	f := distance{c: []float64{2, 0}}
	h, jtw := disc(1)
	return noInterior(Problem{
		Name: "abs-circle-kink", Source: exact, Kind: Kink,
		N: 2, M: 1, Start: []float64{0.5, 1.5},
		F: f.value, Grad: f.gradient, G: h, JTW: jtw,
		Pieces:  absolutePieces(0),
		Optimum: []float64{1, 0}, Value: 0.5, Multipliers: []float64{0.5, 0},
	})
}

// absoluteCircleBand is |x^2 + y^2 - 1| <= 0.44 with the target (2, 0).
func absoluteCircleBand() Problem {
	f := distance{c: []float64{2, 0}}
	h, jtw := disc(1)
	x := []float64{1.2, 0}
	return Problem{
		Name: "abs-circle-branch", Source: exact, Kind: Kink,
		N: 2, M: 1, Start: []float64{0.5, 1.5},
		F: f.value, Grad: f.gradient, G: h, JTW: jtw,
		Pieces:  absolutePieces(0.44),
		Optimum: x, Value: f.value(x), Multipliers: []float64{1.0 / 3, 0},

		StrictComplementarity: true, LICQ: true, MFCQ: true,
	}
}

// absoluteSigmoidGap is |s(x_1) - s(x_2)| <= 1/2 with the logistic function s,
// the shape of a demographic-parity constraint. At x* = (ln 3, -ln 3) the
// rates are 3/4 and 1/4 with slopes 3/16; the target is x* + nu grad h, nu = 8.
func absoluteSigmoidGap() Problem {
	const nu = 8
	sigmoid := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	ln3 := math.Log(3)
	f := distance{c: []float64{ln3 + nu*3.0/16, -ln3 - nu*3.0/16}}
	x := []float64{ln3, -ln3}
	return Problem{
		Name: "abs-sigmoid-gap", Source: exact, Kind: Kink,
		N: 2, M: 1, Start: []float64{0, 0},
		F: f.value, Grad: f.gradient,
		G: func(dst, x []float64) { dst[0] = sigmoid(x[0]) - sigmoid(x[1]) },
		JTW: func(dst, x, w []float64) {
			a, b := sigmoid(x[0]), sigmoid(x[1])
			dst[0], dst[1] = a*(1-a)*w[0], -b*(1-b)*w[0]
		},
		Pieces:  absolutePieces(0.5),
		Optimum: x, Value: f.value(x), Multipliers: []float64{nu, 0},

		StrictComplementarity: true, LICQ: true, MFCQ: true,
	}
}
