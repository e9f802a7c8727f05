package step

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"ppal/trainer/problem"
)

// gramOf returns the inner products of the vectors.
func gramOf(vectors ...[]float64) *mat.SymDense {
	gram := mat.NewSymDense(len(vectors), nil)
	for i, v := range vectors {
		for j, w := range vectors {
			gram.SetSym(i, j, floats.Dot(v, w))
		}
	}
	return gram
}

// The basis has the vector with the largest relative distance to the span first, and of equal
// distances the first vector. The coordinates belong to the axes x, z and y.
func TestSpanModelBasisByHand(t *testing.T) {
	var m spanModel
	if !m.build(gramOf([]float64{2, 0, 0}, []float64{3, 0.3, 0}, []float64{1, 1, 0}, []float64{0, 0, 5}, []float64{0, 0, 0})) {
		t.Fatal("no model")
	}
	if !slices.Equal(m.basis(), []int{0, 3, 2}) {
		t.Errorf("the basis is %v", m.basis())
	}
	for i, want := range [][]float64{{2, 0, 0}, {3, 0, 0.3}, {1, 0, 1}, {0, 5, 0}, {0, 0, 0}} {
		if !floats.EqualApprox(m.direction(i), want, 1e-14) {
			t.Errorf("vector %d has the coordinates %v, want %v", i, m.direction(i), want)
		}
	}
	for distance, rank := range map[float64]int{2e-6: 2, 0.5e-6: 1} { // the squares are compared with 1e-12
		if m.build(gramOf([]float64{1, 0}, []float64{1, distance})); m.rank != rank {
			t.Errorf("distance %v: rank %d, want %d", distance, m.rank, rank)
		}
	}
}

// A pair without positive curvature changes neither sigma nor B.
func TestSpanModelSkipsPairs(t *testing.T) {
	for _, y := range [][]float64{{0, 1}, {-1, 0}} { // <s, y> = 0 and < 0
		var m spanModel
		if !m.build(gramOf([]float64{0, 1}, []float64{0, 3}, []float64{1, 0}, y)) || !m.take([][2]int{{0, 1}, {2, 3}}) {
			t.Fatal("no model")
		}
		if n := m.count; !m.hessian() || m.rank != 2 || m.b[0] != 3 || m.b[n] != 0 || m.b[n+1] != 3 {
			t.Errorf("y = %v: B = %v, want 3 I", y, m.b)
		}
	}
}

// A B that overflows, in the first row or only in the second row, gives no model. The numbers do
// not disturb the next model.
func TestSpanModelOverflow(t *testing.T) {
	var m spanModel
	if m.build(gramOf([]float64{1e-155}, []float64{1e154})) && m.take([][2]int{{0, 1}}) {
		t.Errorf("B = %v", m.b)
	}
	x := []float64{0, 0}
	if m.build(gramOf([]float64{1, 0}, []float64{1e-10, 1e150}, []float64{0, 1}, []float64{0, 1}, x, x)) && m.take([][2]int{{0, 1}, {2, 3}}) && m.hessian() {
		t.Errorf("B = %v", m.b)
	}
	if !m.build(gramOf([]float64{1, 0, 0}, []float64{2, 0, 0}, []float64{0, 1, 0}, []float64{0, 0, 1}, []float64{0, 0, 0})) || !m.take([][2]int{{0, 1}}) {
		t.Error("no model after a model that overflowed")
	}
}

// The smallest pivot is 1e-13 of the largest diagonal element of B + shift I, wherever that is.
func TestFactorizeByHand(t *testing.T) {
	for _, c := range []struct {
		b     [3]float64 // b_00, b_10, b_11
		shift float64
		want  bool
	}{
		{[3]float64{4, 0, 3e-13}, 0, false}, {[3]float64{4, 0, 5e-13}, 0, true},
		{[3]float64{3e-13, 0, 4}, 0, false}, {[3]float64{5e-13, 0, 4}, 0, true},
		{[3]float64{0, 0, -1 + 0x1p-44}, 1, false}, {[3]float64{0, 0, -1 + 0x1p-43}, 1, true},
		{[3]float64{1, 2, 3}, 0, false}, {[3]float64{3, 2, 3}, 1, true}, {[3]float64{math.NaN(), 0, 1}, 0, false},
	} {
		m := spanModel{count: 3, rank: 2, formed: true, b: make([]float64, 9), factor: make([]float64, 9), product: make([]float64, 3), column: make([]float64, 3)}
		m.b[0], m.b[3], m.b[4] = c.b[0], c.b[1], c.b[2]
		m.factor[0], m.factor[4] = 1, 1 // of an earlier model
		if got := m.factorize(c.shift); got != c.want {
			t.Errorf("%+v: %v", c, got)
		} else if f := m.factor; got && (!near(f[0]*f[0], c.b[0]+c.shift) || !near(f[0]*f[3], c.b[1]) || math.Abs(f[3]*f[3]+f[4]*f[4]-c.b[2]-c.shift) > 1e-15*f[4]) {
			t.Errorf("%+v: the factor %v", c, f)
		}
		d := make([]float64, 2)
		decrease, cut, ok := m.minimise(d, []float64{1, 1}, d, c.shift, 1)
		if ok != c.want || !ok && (cut || decrease != 0) {
			t.Errorf("%+v: decrease %v, cut %v, ok %v", c, decrease, cut, ok)
		}
	}
}

// handStep returns the step of a model for the Gram matrix of the pairs, the gradient and x.
func handStep(t *testing.T, q *QuasiNewton, pairs [][2]int, vectors ...[]float64) (z []float64, decrease float64, cut, sphere bool) {
	t.Helper()
	if !q.model.build(gramOf(vectors...)) || !q.model.take(pairs) {
		t.Fatal("no model")
	}
	d, decrease, cut, sphere, ok := q.step(len(vectors), floats.Norm(vectors[len(vectors)-1], 2), len(pairs) > 0)
	if !ok {
		t.Fatal("no step")
	}
	z = make([]float64, len(vectors[0]))
	for k, c := range q.model.combination(d) {
		floats.AddScaled(z, c, vectors[q.model.basis()[k]])
	}
	return z, decrease, cut, sphere
}

// Steps by hand: without pairs to the end of the region, or to the minimum of the squared norm; to
// the minimum of the model, inside the ball, at its sphere, and beyond; and with a B that rounding
// makes singular. The eigenvalue 1 of this B becomes 10 if the region limits the step.
func TestQuasiNewtonStepsByHand(t *testing.T) {
	one := [][2]int{{0, 1}}
	ball := problem.Regularizer{Kind: problem.Ball, Radius: 1}
	for name, c := range map[string]struct {
		reg         problem.Regularizer
		radius      float64
		pairs       [][2]int
		vectors     [][]float64
		z           []float64
		decrease    float64
		cut, sphere bool
		eigen       bool // the step needs the eigenvalues
	}{
		"no pairs": {radius: 1e3, vectors: [][]float64{{-1e-3, 0}, {0, 0}}, z: []float64{1e3, 0}, decrease: 1 - 0.5e-9, cut: true, eigen: true},
		"squared norm": {reg: problem.Regularizer{Kind: problem.SquaredL2, Weight: 2}, radius: 2, vectors: [][]float64{{-4, 0}, {0.5, 0}},
			z: []float64{1.5 / (1 + 1e-9), 0}, decrease: 2.25 / (1 + 1e-9), eigen: true},
		"inside":  {reg: ball, radius: 9, pairs: one, vectors: [][]float64{{1}, {4}, {-1}, {0.5}}, z: []float64{0.25}, decrease: 0.125},
		"touches": {reg: ball, radius: 9, pairs: one, vectors: [][]float64{{1}, {4}, {-2}, {0.5}}, z: []float64{0.5}, decrease: 0.5},
		"beyond":  {reg: ball, radius: 9, pairs: one, vectors: [][]float64{{1}, {4}, {-8}, {0.5}}, z: []float64{0.5}, decrease: 3.5, sphere: true},
		"beyond both": {reg: ball, radius: 0.5, pairs: [][2]int{{0, 1}, {2, 3}}, vectors: [][]float64{{1, 0}, {1, 0}, {0, 1}, {0, 1}, {-8, -8}, {0.6, 0}},
			z: []float64{0.325, math.Sqrt(0.25 - 0.325*0.325)}, decrease: 8*(0.325+math.Sqrt(0.25-0.325*0.325)) - 0.125, cut: true, sphere: true, eigen: true},
		"beyond the ball only": {reg: ball, radius: 0.7, pairs: [][2]int{{0, 1}, {2, 3}}, vectors: [][]float64{{1, 0}, {1, 0}, {0, 1}, {0, 1}, {-8, -8}, {0.6, 0}},
			z: []float64{8.6/math.Hypot(8.6, 8) - 0.6, 8 / math.Hypot(8.6, 8)}, decrease: math.Hypot(8.6, 8) - 5.48, sphere: true},
		"along the sphere": {reg: ball, radius: 9, pairs: [][2]int{{0, 1}, {2, 3}}, vectors: [][]float64{{1, 0}, {1, 0}, {0, 1}, {0, 1}, {-1, -1}, {1, 0}},
			z: []float64{2/math.Sqrt(5) - 1, 1 / math.Sqrt(5)}, decrease: math.Sqrt(5) - 2, sphere: true},
		"off the sphere":      {reg: ball, radius: 9, pairs: one, vectors: [][]float64{{1}, {4}, {2}, {1}}, z: []float64{-0.5}, decrease: 0.5},
		"off the sphere, cut": {reg: ball, radius: 0.25, pairs: one, vectors: [][]float64{{1}, {4}, {2}, {1}}, z: []float64{-0.25}, decrease: 0.375, cut: true},
		"into the ball": {reg: ball, radius: 9, pairs: [][2]int{{0, 1}, {2, 3}}, vectors: [][]float64{{1, 0}, {1, 0}, {0, 1}, {0, 100}, {0.3, -1}, {0.8, 0.6}},
			z: []float64{-0.3, 0.01}, decrease: 0.05},
		"no ball":             {radius: 9, pairs: one, vectors: [][]float64{{1}, {4}, {-8}, {0.5}}, z: []float64{2}, decrease: 8},
		"singular, unlimited": {radius: 21, pairs: [][2]int{{0, 1}, {2, 3}}, vectors: [][]float64{{1, 0}, {1e15, 0}, {0, 1}, {0, 1}, {1e15, 20}, {0, 0}}, z: []float64{-1, -20}, decrease: 0.5e15},
		"singular":            {radius: 9, pairs: [][2]int{{0, 1}, {2, 3}}, vectors: [][]float64{{1, 0}, {1e15, 0}, {0, 1}, {0, 1}, {1e15, 20}, {0, 0}}, z: []float64{-1, -2}, decrease: 0.5e15, eigen: true},
	} {
		q := &QuasiNewton{pairs: newPairs(&problem.Space{}, 0), radius: c.radius}
		q.space.Regularizer = c.reg
		z, decrease, cut, sphere := handStep(t, q, c.pairs, c.vectors...)
		if !floats.EqualApprox(z, c.z, 1e-11*(1+floats.Norm(c.z, 2))) || math.Abs(decrease-c.decrease) > 1e-10*c.decrease || cut != c.cut || sphere != c.sphere {
			t.Errorf("%s: z = %v, decrease %v, cut %v, sphere %v", name, z, decrease, cut, sphere)
		}
		if got := q.model.eigenvalues != nil; got != c.eigen {
			t.Errorf("%s: eigenvalues %v", name, q.model.eigenvalues)
		}
	}
}

// The step along the sphere of the ball, from far and from close to the solution. The solution d
// and its multiplier t give g = -(B + t I) d - t x. A decrease computed from u - x would cancel.
func TestMinimiseInBallNearTheSolution(t *testing.T) {
	const n, multiplier = 12, 0.7
	rng := rand.New(rand.NewPCG(3, 4))
	m := spanModel{count: n, rank: n, formed: true, b: make([]float64, n*n), factor: make([]float64, n*n), product: make([]float64, n), column: make([]float64, n)}
	for i := range n {
		for j := range i {
			m.b[i*n+j] = 0.05 * rng.NormFloat64()
		}
		m.b[i*n+i] = 0.5 + float64(i*i)
	}
	x, e := make([]float64, n), make([]float64, n)
	for i := range n {
		x[i], e[i] = rng.NormFloat64(), rng.NormFloat64()
	}
	floats.Scale(2/floats.Norm(x, 2), x)
	floats.AddScaled(e, -floats.Dot(e, x)/4, x)
	floats.Scale(2/floats.Norm(e, 2), e)
	for _, angle := range []float64{0.5, 1e-2, 1e-4, 1e-6, 1e-8} {
		want, g, product := make([]float64, n), make([]float64, n), make([]float64, n)
		half := math.Sin(angle / 2)
		floats.AddScaled(want, math.Sin(angle), e)
		floats.AddScaled(want, -2*half*half, x) // sin e + cos x - x
		m.times(product, want)
		for i := range n {
			g[i] = -product[i] - multiplier*(want[i]+x[i])
		}
		decrease := floats.Dot(want, product)/2 + multiplier*floats.Dot(want, want)/2
		d := make([]float64, n)
		got, sphere, ok := m.minimiseInBall(d, g, x, floats.Norm(x, 2))
		if !ok || !sphere || !(math.Abs(got-decrease) <= 1e-3*decrease) || !floats.EqualApprox(d, want, 1e-3*floats.Norm(want, 2)) {
			t.Errorf("angle %v: decrease %v, want %v, sphere %v, ok %v", angle, got, decrease, sphere, ok)
		}
	}
	d := make([]float64, n)
	if decrease, sphere, ok := m.minimiseInBall(d, e, make([]float64, n), 1e-3); !ok || !sphere || !(decrease > 0) || !near(floats.Norm(d, 2), 1e-3) {
		t.Errorf("from x = 0: decrease %v, sphere %v, ok %v, length %v", decrease, sphere, ok, floats.Norm(d, 2))
	}
}

// The product of B and of the pairs' inverse is the identity. The model of an earlier step, with
// other pairs, leaves no trace.
func TestSolvePairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var m spanModel
	for _, count := range []int{1, 7, 4} {
		vectors, pairs := [][]float64{}, [][2]int{}
		for k := range count {
			s, y := make([]float64, 12), make([]float64, 12)
			for i := range s {
				s[i] = rng.NormFloat64()
				y[i] = float64(1+i) * s[i]
			}
			vectors, pairs = append(vectors, s, y), append(pairs, [2]int{2 * k, 2*k + 1})
		}
		if !m.build(gramOf(vectors...)) || !m.take(pairs) || !m.hessian() {
			t.Fatal("no model")
		}
		want, got := make([]float64, m.rank), make([]float64, m.rank)
		for i := range want {
			want[i] = rng.NormFloat64()
		}
		m.times(got, want)
		m.solvePairs(got)
		if !floats.EqualApprox(got, want, 1e-11) {
			t.Errorf("%d pairs: %v, want %v", count, got, want)
		}
	}
}

// A step that nothing limits does not compute B.
func TestUnlimitedStepNeedsNoHessian(t *testing.T) {
	for radius, want := range map[float64]bool{2: false, 1.9: true} {
		m := spanModel{}
		if !m.build(gramOf([]float64{1}, []float64{4}, []float64{-8}, []float64{0.5})) || !m.take([][2]int{{0, 1}}) {
			t.Fatal("no model")
		}
		d := make([]float64, m.rank)
		if _, cut, ok := m.minimise(d, m.direction(2), m.direction(3), 0, radius); !ok || cut != want || m.formed != want {
			t.Errorf("radius %v: cut %v, B computed %v", radius, cut, m.formed)
		}
	}
}
