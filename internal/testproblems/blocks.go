package testproblems

// quadratic is 1/2 x^T P x + q^T x, with P symmetric, n x n and row-major.
type quadratic struct {
	p, q []float64
}

func (f quadratic) value(x []float64) float64 {
	n := len(f.q)
	var sum float64
	for i, xi := range x {
		row := f.p[i*n : (i+1)*n]
		half := f.q[i]
		for j, xj := range x {
			half += 0.5 * row[j] * xj
		}
		sum += half * xi
	}
	return sum
}

func (f quadratic) gradient(dst, x []float64) {
	n := len(f.q)
	for i := range x {
		row := f.p[i*n : (i+1)*n]
		s := f.q[i]
		for j, xj := range x {
			s += row[j] * xj
		}
		dst[i] = s
	}
}

// distance is 1/2 sum_i d_i (x_i - c_i)^2, with unit weights where d is nil.
type distance struct {
	d, c []float64
}

func (f distance) weight(i int) float64 {
	if f.d == nil {
		return 1
	}
	return f.d[i]
}

func (f distance) value(x []float64) float64 {
	var sum float64
	for i, xi := range x {
		sum += 0.5 * f.weight(i) * (xi - f.c[i]) * (xi - f.c[i])
	}
	return sum
}

func (f distance) gradient(dst, x []float64) {
	for i, xi := range x {
		dst[i] = f.weight(i) * (xi - f.c[i])
	}
}

// affine is A x - b, with A of shape len(b) x n and row-major.
type affine struct {
	a, b []float64
}

func (g affine) values(dst, x []float64) {
	n := len(x)
	for j, bj := range g.b {
		var s float64
		for i, xi := range x {
			s += g.a[j*n+i] * xi
		}
		dst[j] = s - bj
	}
}

func (g affine) transposed(dst, x, w []float64) {
	n := len(x)
	clear(dst)
	for j := range g.b {
		for i := range dst {
			dst[i] += g.a[j*n+i] * w[j]
		}
	}
}

// noConstraints and noJacobian are G and JTW of problems with M = 0.
func noConstraints(_, _ []float64) {}

func noJacobian(dst, _, _ []float64) { clear(dst) }

// rosenbrock is 100 (x_2 - x_1^2)^2 + (1 - x_1)^2.
func rosenbrock(x []float64) float64 {
	a, b := x[1]-x[0]*x[0], 1-x[0]
	return 100*a*a + b*b
}

func rosenbrockGradient(dst, x []float64) {
	a := x[1] - x[0]*x[0]
	dst[0] = -400*a*x[0] - 2*(1-x[0])
	dst[1] = 200 * a
}

// fill returns n copies of v.
func fill(n int, v float64) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = v
	}
	return s
}
