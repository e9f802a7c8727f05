package testproblems

// colville holds the data of Colville's first and second problems, Hock and
// Schittkowski's 86 and 117, which are dual to each other.
type colville struct {
	a [10][5]float64
	b [10]float64
	c [5][5]float64
	d [5]float64
	e [5]float64
}

func colvilleData() colville {
	return colville{
		a: [10][5]float64{
			{-16, 2, 0, 1, 0},
			{0, -2, 0, 0.4, 2},
			{-3.5, 0, 2, 0, 0},
			{0, -2, 0, -4, -1},
			{0, -9, -2, 1, -2.8},
			{2, 0, -4, 0, 0},
			{-1, -1, -1, -1, -1},
			{-1, -2, -3, -2, -1},
			{1, 2, 3, 4, 5},
			{1, 1, 1, 1, 1},
		},
		b: [10]float64{-40, -2, -0.25, -4, -4, -1, -40, -60, 5, 1},
		c: [5][5]float64{
			{30, -20, -10, 32, -10},
			{-20, 39, -6, -31, 32},
			{-10, -6, 10, -6, -10},
			{32, -31, -6, 39, -20},
			{-10, 32, -10, -20, 30},
		},
		d: [5]float64{4, 8, 10, 6, 2},
		e: [5]float64{-15, -27, -36, -18, -12},
	}
}

// cubic returns y^T C y + scale * sum_j d_j y_j^3.
func (k *colville) cubic(y []float64, scale float64) float64 {
	var sum float64
	for j, yj := range y {
		row := scale * k.d[j] * yj * yj
		for i, yi := range y {
			row += k.c[i][j] * yi
		}
		sum += row * yj
	}
	return sum
}

// cubicSlope returns the j-th partial derivative of [colville.cubic].
func (k *colville) cubicSlope(y []float64, scale float64, j int) float64 {
	s := 3 * scale * k.d[j] * y[j] * y[j]
	for i, yi := range y {
		s += 2 * k.c[i][j] * yi
	}
	return s
}

// colvillePrimal and colvilleDual return the optima of problems 86 and 117:
// each problem's multipliers are variables of the other.
func colvillePrimal() []float64 {
	return []float64{
		0.3, 0.333467606534607106, 0.4, 0.428310104781698764, 0.223964873560798146,
	}
}

func colvilleDual() []float64 {
	return []float64{
		0, 0, 5.17404072769817293, 0, 3.06110868775845004,
		11.8395456648007316, 0, 0, 0.103896190770615778, 0,
	}
}

// hs86 is Colville's first problem: e^T x + x^T C x + sum_j d_j x_j^3 subject
// to A x >= b and x >= 0.
func hs86() Problem {
	k := colvilleData()
	return hs(86, Problem{
		N: 5, M: 10, Start: []float64{0, 0, 0, 0, 1},
		F: func(x []float64) float64 {
			sum := k.cubic(x, 1)
			for j, xj := range x {
				sum += k.e[j] * xj
			}
			return sum
		},
		Grad: func(dst, x []float64) {
			for j := range dst {
				dst[j] = k.e[j] + k.cubicSlope(x, 1, j)
			}
		},
		G: func(dst, x []float64) {
			for i := range dst {
				dst[i] = k.b[i]
				for j, xj := range x {
					dst[i] -= k.a[i][j] * xj
				}
			}
		},
		JTW: func(dst, _, w []float64) {
			for j := range dst {
				dst[j] = 0
				for i, wi := range w {
					dst[j] -= k.a[i][j] * wi
				}
			}
		},
		Lower: fill(5, 0), Upper: fill(5, inf()),
		Optimum: colvillePrimal(), Value: -32.3486789657227064, Multipliers: colvilleDual(),
		Convex: true,
	})
}

// hs117 is Colville's second problem, in x = (u, y) with u in R^10, y in R^5:
// -b^T u + y^T C y + 2 sum_j d_j y_j^3 subject to
// 2 (C y)_j + 3 d_j y_j^2 + e_j - (A^T u)_j >= 0 and x >= 0.
func hs117() Problem {
	k := colvilleData()
	start := fill(15, 0.001)
	start[6] = 60
	return hs(117, Problem{
		N: 15, M: 5, Start: start,
		F: func(x []float64) float64 {
			sum := k.cubic(x[10:], 2)
			for i, bi := range k.b {
				sum -= bi * x[i]
			}
			return sum
		},
		Grad: func(dst, x []float64) {
			for i, bi := range k.b {
				dst[i] = -bi
			}
			for j := range k.d {
				dst[10+j] = k.cubicSlope(x[10:], 2, j)
			}
		},
		G: func(dst, x []float64) {
			for j := range dst {
				dst[j] = -k.e[j] - k.cubicSlope(x[10:], 1, j)
				for i, ui := range x[:10] {
					dst[j] += k.a[i][j] * ui
				}
			}
		},
		JTW: func(dst, x, w []float64) {
			for i := range k.b {
				dst[i] = 0
				for j, wj := range w {
					dst[i] += k.a[i][j] * wj
				}
			}
			for i := range k.d {
				dst[10+i] = -6 * k.d[i] * x[10+i] * w[i]
				for j, wj := range w {
					dst[10+i] -= 2 * k.c[i][j] * wj
				}
			}
		},
		Lower: fill(15, 0), Upper: fill(15, inf()),
		Optimum: append(colvilleDual(), colvillePrimal()...), Value: 32.3486789657227064,
		Multipliers: colvillePrimal(),
		BadlyScaled: true,
	})
}
