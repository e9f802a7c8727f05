package step

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"ppal/internal/require"
	"ppal/internal/vec"
)

// value returns the model's value at d.
func (r *region) value(d []float64) float64 {
	sum := 0.0
	for i, z := range d {
		sum += z*(r.g[i]+r.h[i]*z/2) + r.ridge/2*((r.x[i]+z)*(r.x[i]+z)-r.x[i]*r.x[i])
	}
	return sum
}

// A root is found to the last digits from a guess far below and far above, and at the guess, with
// few evaluations.
func TestRootOf(t *testing.T) {
	for _, test := range []struct{ root, guess float64 }{{1, 1e-9}, {1, 1e9}, {3e-7, 1}, {5e8, 1e-9}, {2, 2}, {2, 0.5}, {0.7, 0.1}, {100, 2}} {
		evaluations := 0
		got := rootOf(func(t float64) float64 {
			evaluations++
			return 1/(1+t) - 1/(1+test.root)
		}, test.guess)
		accuracy := 4e-16 * (1 + test.root) * (1 + 1/test.root) // of f near the root
		if math.Abs(got-test.root) > accuracy*test.root || 1/(1+got) > 1/(1+test.root) {
			t.Errorf("from %v: %v, want %v", test.guess, got, test.root)
		}
		if evaluations > 140 {
			t.Errorf("from %v: %d evaluations", test.guess, evaluations)
		}
	}
	if got := rootOf(func(t float64) float64 { return 2 - t }, 2); got != 2 {
		t.Errorf("the guess is the root: %v", got)
	}
}

// A ball that the step does not reach changes no digit of the step, and a trust region that the
// step does not reach does not cut the step.
func TestRegionUnreached(t *testing.T) {
	free := region{h: []float64{1, 4}, g: []float64{-1, 2}, x: []float64{3, 0}, d: make([]float64, 2), radius: 10}
	decrease, cut, sphere := free.solve()
	if free.d[0] != 1 || free.d[1] != -0.5 || decrease != 1 || cut || sphere {
		t.Errorf("d = %v, decrease %v, cut %t, sphere %t", free.d, decrease, cut, sphere)
	}
	for _, r := range []region{{ball: 5, radius: 10}, {radius: math.Sqrt(1.25)}, {ball: math.Sqrt(16.25), radius: 10}} {
		r.h, r.g, r.x, r.d = free.h, free.g, free.x, make([]float64, 2)
		if own, cut, sphere := r.solve(); own != decrease || cut || sphere || r.d[0] != free.d[0] || r.d[1] != free.d[1] {
			t.Errorf("ball %v, radius %v: d = %v, decrease %v, cut %t, sphere %t", r.ball, r.radius, r.d, own, cut, sphere)
		}
	}
	r := region{h: []float64{2}, g: []float64{-6}, x: []float64{1}, d: make([]float64, 1), radius: 1}
	if decrease, cut, _ := r.solve(); math.Abs(r.d[0]-1) > 1e-8 || math.Abs(decrease-5) > 1e-7 || !cut {
		t.Errorf("cut: d = %v, decrease %v, %t", r.d, decrease, cut)
	}
	r = region{h: []float64{2}, g: []float64{-6}, x: []float64{1}, d: make([]float64, 1), radius: 10, ball: 2, ridge: 1}
	if decrease, cut, sphere := r.solve(); math.Abs(r.d[0]-1) > 1e-12 || math.Abs(decrease-3.5) > 1e-11 || cut || !sphere {
		t.Errorf("on the sphere: d = %v, decrease %v, %t %t", r.d, decrease, cut, sphere)
	}
}

// The minimiser is inside both balls, and no point near it or far from it that is inside both balls
// has a smaller value.
func TestRegionMinimises(t *testing.T) {
	draws := rand.New(rand.NewPCG(1, 2))
	normal := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = draws.NormFloat64()
		}
		return x
	}
	cuts, spheres, both := 0, 0, 0
	for range 300 {
		n := 1 + draws.IntN(5)
		r := &region{h: normal(n), g: normal(n), x: normal(n), d: make([]float64, n), radius: math.Exp(2 * draws.NormFloat64())}
		for i, v := range r.h {
			r.h[i] = math.Exp(3 * v)
		}
		if draws.IntN(3) > 0 {
			r.ball = vec.Norm(r.x) * (1 + draws.Float64())
		}
		if draws.IntN(3) == 0 {
			r.ridge = draws.Float64()
		}
		decrease, cut, sphere := r.solve()
		best := r.value(r.d)
		if math.Abs(best+decrease) > 1e-12*(1+math.Abs(best)) || decrease < 0 {
			t.Fatalf("the decrease is %v, the value %v", decrease, best)
		}
		inside := func(d []float64) bool {
			return vec.Norm(d) <= r.radius*(1+1e-8) && (r.ball == 0 || (&region{x: r.x, d: d}).norm(1) <= r.ball*(1+1e-12))
		}
		if !inside(r.d) {
			t.Fatalf("||d|| = %v of %v, ||x + d|| = %v of %v", r.norm(0), r.radius, r.norm(1), r.ball)
		}
		if cut {
			cuts++
		}
		if sphere {
			spheres++
		}
		if cut && sphere {
			both++
		}
		for k := range 2000 {
			d := normal(n)
			scale := math.Pow(10, -float64(k%7))
			for i := range d {
				d[i] = r.d[i] + scale*d[i]
			}
			if inside(d) && r.value(d) < best-1e-7*(1+math.Abs(best)) {
				t.Fatalf("h %v, g %v, x %v, radius %v, ball %v: the value at %v is %v, less than %v at %v",
					r.h, r.g, r.x, r.radius, r.ball, d, r.value(d), best, r.d)
			}
		}
	}
	if cuts < 20 || spheres < 20 || both < 5 {
		t.Errorf("%d steps were cut, %d on the sphere, %d both: the draws test too little", cuts, spheres, both)
	}
}

// The step of the small model equals -B^-1 g for the dense BFGS matrix in R^n.
func TestSpanModelIsTheDenseModel(t *testing.T) {
	const n, count = 30, 6
	draws := rand.New(rand.NewPCG(3, 4))
	column := func() *mat.VecDense {
		v := mat.NewVecDense(n, nil)
		for i := range n {
			v.SetVec(i, draws.NormFloat64())
		}
		return v
	}
	var vectors []*mat.VecDense
	var pairs [][2]int
	for k := range count {
		s := column()
		y := mat.NewVecDense(n, nil)
		for i := range n { // a diagonal Hessian, and a little noise
			y.SetVec(i, (1+float64(i))*s.AtVec(i)+0.01*draws.NormFloat64())
		}
		vectors = append(vectors, s, y)
		pairs = append(pairs, [2]int{2 * k, 2*k + 1})
	}
	gradient, x := column(), column()
	vectors = append(vectors, gradient, x, vectors[0]) // a vector twice: the span has one dimension less
	gram := mat.NewSymDense(len(vectors), nil)
	for i, v := range vectors {
		for j := range i + 1 {
			gram.SetSym(i, j, mat.Dot(v, vectors[j]))
		}
	}
	var m spanModel
	m.build(mat.NewSymDense(3, []float64{2, 1, 0, 1, 2, 0, 0, 0, 1})) // an earlier model leaves no trace
	if !m.build(gram) || !m.take(pairs) || m.rank != len(vectors)-1 {
		t.Fatalf("the model is %+v, want rank %d", m, len(vectors)-1)
	}

	last := pairs[count-1]
	sigma := mat.Dot(vectors[last[1]], vectors[last[1]]) / mat.Dot(vectors[last[0]], vectors[last[1]])
	b := mat.NewSymDense(n, nil)
	for i := range n {
		b.SetSym(i, i, sigma)
	}
	for _, p := range pairs {
		s, y := vectors[p[0]], vectors[p[1]]
		bs := mat.NewVecDense(n, nil)
		bs.MulVec(b, s)
		b.SymRankOne(b, -1/mat.Dot(s, bs), bs)
		b.SymRankOne(b, 1/mat.Dot(s, y), y)
	}
	var factor mat.Cholesky
	if !factor.Factorize(b) {
		t.Fatal("the dense model is not positive definite")
	}
	want := mat.NewVecDense(n, nil)
	require.NoError(t, factor.SolveVecTo(want, gradient))

	g, z, d := m.direction(2*count), m.direction(2*count+1), make([]float64, m.rank)
	if _, cut, ok := m.minimise(d, g, z, 0, math.Inf(1)); cut || !ok {
		t.Fatalf("the step is cut: %v, found: %v", cut, ok)
	}
	got := mat.NewVecDense(n, nil)
	for k, c := range m.combination(d) {
		got.AddScaledVec(got, c, vectors[m.basis()[k]])
	}
	for i := range n {
		if e := math.Abs(got.AtVec(i) + want.AtVec(i)); e > 1e-9 {
			t.Fatalf("d_%d = %v, want %v", i, got.AtVec(i), -want.AtVec(i))
		}
	}

	// The step of the eigenvectors is the same, also with a ridge and on the sphere of a small region.
	if !m.eigen() {
		t.Fatal("B has no eigenvalues")
	}
	for _, radius := range []float64{math.Inf(1), 0.1, 1e-3} {
		for _, ridge := range []float64{0, 0.5} {
			r := region{h: m.eigenvalues, g: m.rotate(2 * count), x: m.rotate(2*count + 1), d: make([]float64, m.rank), ridge: ridge, radius: radius}
			other, otherCut, _ := r.solve()
			decrease, cut, ok := m.minimise(d, g, z, ridge, radius)
			if !ok || cut != otherCut || math.Abs(decrease-other) > 2*lengthTolerance*other {
				t.Fatalf("radius %v, ridge %v: decrease %v, cut %v, want %v, %v", radius, ridge, decrease, cut, other, otherCut)
			}
			for i, v := range m.unrotate(r.d) {
				if math.Abs(d[i]-v) > 2*lengthTolerance*vec.Norm(r.d) {
					t.Fatalf("radius %v, ridge %v: d_%d = %v, want %v", radius, ridge, i, d[i], v)
				}
			}
		}
	}
}

// A Gram matrix that is not finite gives no model.
func TestSpanModelRefusesNonFiniteNumbers(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		var m spanModel
		if m.build(mat.NewSymDense(2, []float64{1, v, v, 1})) {
			t.Errorf("%v: a model of rank %d", v, m.rank)
		}
	}
}
