package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestPasses compares every pass and sum with loops in float64, on vectors of every length that end
// or begin at a guard page.
func TestPasses(t *testing.T) {
	eachKernel(t, testPasses[float32], testPasses[float64])
}

func testPasses[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	r := rand.New(rand.NewPCG(1, 2))
	for _, atEnd := range []bool{false, true} {
		most := lengths()[len(lengths())-1]
		pages := [2][]F{guarded[F](t, most, atEnd), guarded[F](t, most, atEnd)}
		for _, n := range lengths() {
			var v [2][]F
			for i, p := range pages {
				for j := range p {
					p[j] = F(r.NormFloat64())
				}
				if v[i] = p[:n]; atEnd {
					v[i] = p[most-n:]
				}
			}
			checkPasses(t, k, pages[0], v)
			checkSums(t, k, v[0], v[1])
			if t.Failed() {
				t.Fatalf("length %d", n)
			}
		}
	}
}

// checkPasses runs every pass on v[0], which is a part of the vector all, with the operand v[1].
func checkPasses[F Float](t *testing.T, k *Kernels[F], all []F, v [2][]F) {
	t.Helper()
	const s = 0.75
	x, y := v[0], v[1]
	start := append([]F(nil), all...)
	for _, c := range []struct {
		name string
		pass func()
		want func(x, y float64) float64
	}{
		{"exp", func() { k.Exp(x, x) }, func(x, _ float64) float64 { return math.Exp(x) }},
		{"sigmoid", func() { k.Sigmoid(x, y) }, func(_, y float64) float64 { return sigmoid64(y) }},
		{"tanh", func() { k.Tanh(x, y) }, func(_, y float64) float64 { return math.Tanh(y) }},
		{"log1p", func() { k.Exp(x, x); k.Log1p(x, x) }, func(x, _ float64) float64 { return math.Log1p(math.Exp(x)) }},
		{"bias and sigmoid", func() { k.BiasSigmoid(x, len(x), 1, y) }, func(x, y float64) float64 { return sigmoid64(x + y) }},
		{"bias and tanh", func() { k.BiasTanh(x, len(x), 1, y) }, func(x, y float64) float64 { return math.Tanh(x + y) }},
		{"bias and relu", func() { k.BiasReLU(x, len(x), 1, y) }, func(x, y float64) float64 { return max(0, x+y) }},
		{"tanh's derivative", func() { k.TanhGrad(x, y) }, func(x, y float64) float64 { return x * (1 - y*y) }},
		{"relu's derivative", func() { k.ReLUGrad(x, y) }, func(x, y float64) float64 { return x * positiveGo(y) }},
		{"sigmoid's derivative", func() { k.SigmoidGrad(x, y) }, func(x, y float64) float64 { return x * y * (1 - y) }},
		{"axpy", func() { k.Axpy(x, s, y) }, func(x, y float64) float64 { return x + s*y }},
		{"shift", func() { k.Shift(x, s) }, func(x, _ float64) float64 { return x + s }},
		{"product", func() { k.Product(x, x, y) }, func(x, y float64) float64 { return x * y }},
	} {
		before := append([]F(nil), x...)
		c.pass()
		for i, got := range x {
			// The sums add a few numbers with a magnitude of at most 10.
			want := c.want(float64(before[i]), float64(y[i]))
			if !(math.Abs(float64(got)-want) <= 20*epsilon[F]()*(1+math.Abs(want))) {
				t.Errorf("%s: element %d is %v, want %v", c.name, i, got, want)
			}
		}
		copy(x, before)
		if !equal(all, start) {
			t.Errorf("%s: changed elements outside its vector", c.name)
		}
	}
}

func checkSums[F Float](t *testing.T, k *Kernels[F], x, y []F) {
	t.Helper()
	var dot, size, distance float64
	for i, v := range x {
		a, b := float64(v), float64(y[i])
		dot += a * b
		size += math.Abs(a * b)
		distance += (a - b) * (a - b)
	}
	for _, c := range []struct {
		name            string
		got, want, size float64
	}{
		{"dot", k.Dot(x, y), dot, size},
		{"squared distance", k.SquaredDistance(x, y), distance, distance},
	} {
		if !(math.Abs(c.got-c.want) <= 1e-14*c.size) {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}

// TestBiasSigmoidRows checks that the pass does not change the gaps between rows.
func TestBiasSigmoidRows(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float32](t, level)
		const rows, cols, ld = 5, 19, 23
		z := guarded[float32](t, (rows-1)*ld+cols, true)
		bias := guarded[float32](t, cols, true)
		for i := range bias {
			bias[i] = float32(i) / 10
		}
		for i := range z {
			z[i] = canary
			if i%ld < cols {
				z[i] = -float32(i) / 50
			}
		}
		k.BiasSigmoid(z, ld, rows, bias)
		for i, got := range z {
			want := float64(canary)
			if i%ld < cols {
				want = sigmoid64(-float64(i)/50 + float64(i%ld)/10)
			}
			if math.Abs(float64(got)-want) > 1e-6 {
				t.Fatalf("z[%d,%d] = %v, want %v", i/ld, i%ld, got, want)
			}
		}
	})
}

// TestReLUKeepsSigns checks that the sign bit of a rectified number tells whether the argument was
// below zero.
func TestReLUKeepsSigns(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float64](t, level)
		inf, negative := math.Inf(1), math.Copysign(0, -1)
		z := []float64{3, 0, negative, -3, inf, -inf, math.NaN(), 5e-324, -5e-324}
		k.BiasReLU(z, len(z), 1, make([]float64, len(z)))
		for i, want := range []float64{3, 0, 0, negative, inf, negative, math.NaN(), 5e-324, negative} {
			if math.Float64bits(z[i]) != math.Float64bits(want) && !(math.IsNaN(want) && math.IsNaN(z[i])) {
				t.Errorf("relu %d = %v, want %v", i, z[i], want)
			}
		}
		z[6] = 1
		d := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}
		k.ReLUGrad(d, z)
		for i, want := range []float64{1, 2, 3, 0, 5, 0, 7, 8, 0} {
			if d[i] != want {
				t.Errorf("derivative %d = %v, want %v", i, d[i], want)
			}
		}
	})
}

// TestPassesSameBits checks that AVX2 and AVX-512 give the same bits. The float32 sums also have
// the bits of the reference.
func TestPassesSameBits(t *testing.T) {
	bothWide(t, testPassesSameBits[float32], testPassesSameBits[float64])
}

func testPassesSameBits[F Float](t *testing.T) {
	sameBits(t, func(k *Kernels[F]) (results []float64) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, n := range append(lengths(), 5000) {
			x, y, d := make([]F, n), make([]F, n), make([]F, n)
			for i := range x {
				x[i] = F(r.NormFloat64() * math.Exp(r.NormFloat64()*3))
				y[i], d[i] = F(r.Float64()), F(r.NormFloat64())
			}
			if n > 10 {
				x[3], x[7] = F(math.Inf(1)), F(math.Inf(-1))
			}
			for _, f := range functions[F](0, 0, 0, 0) {
				f.pass(k, d, x)
				results = append(results, wide(d)...)
			}
			k.SigmoidGrad(d, y)
			k.TanhGrad(d, y)
			k.BiasTanh(x, n, 1, y)
			k.BiasReLU(x, n, 1, d)
			k.ReLUGrad(d, x)
			k.BiasSigmoid(x, n, 1, y)
			k.Axpy(x, 0.7, y)
			results = append(results, wide(x, d)...)
		}
		return results
	})
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range append(lengths(), 5000) {
		x, y := make([]F, n), make([]F, n)
		for i := range x {
			x[i], y[i] = F(r.NormFloat64()), F(r.NormFloat64())
		}
		var dots, distances []float64
		for _, level := range Levels() {
			k := mustNew[F](t, level)
			dots = append(dots, k.Dot(x, y))
			distances = append(distances, k.SquaredDistance(x, y))
		}
		if dots[AVX2] != dots[AVX512] || distances[AVX2] != distances[AVX512] {
			t.Errorf("length %d: sums differ: %v %v", n, dots, distances)
		}
		if sizeof[F]() == 4 && dots[Go] != dots[AVX512] {
			t.Errorf("length %d: the dot product differs from the reference: %v", n, dots)
		}
	}
}

// TestPassesNonFinite checks that NaN and infinities reach the results of the linear passes and
// sums.
func TestPassesNonFinite(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float32](t, level)
		nan, inf := float32(math.NaN()), float32(math.Inf(1))
		for i := range 40 {
			for _, bad := range []float32{nan, inf} {
				x, y := make([]float32, 40), make([]float32, 40)
				for j := range x {
					x[j], y[j] = 1, 1
				}
				x[i] = bad
				if s := k.Dot(x, y); !math.IsNaN(s) && !math.IsInf(s, 1) {
					t.Errorf("dot of %v = %v", bad, s)
				}
				if s := k.SquaredDistance(y, x); !math.IsNaN(s) && !math.IsInf(s, 1) {
					t.Errorf("distance of %v = %v", bad, s)
				}
				k.Axpy(y, 1, x)
				for j, v := range y {
					if finite := v-v == 0; finite == (i == j) {
						t.Errorf("axpy of %v at %d: y[%d] = %v", bad, i, j, v)
					}
				}
			}
		}
	})
}
