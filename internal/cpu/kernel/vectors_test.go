package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// maps returns proximal maps of every kind, and a map that combines all kinds.
func maps[F Float]() map[string]Proximal[F] {
	inf := F(math.Inf(1))
	return map[string]Proximal[F]{
		"none": {1, -inf, inf, 0}, "shrinkage": {0.75, -inf, inf, 0}, "box": {1, -0.5, 0.25, 0}, "box without 0": {1, 0.5, 2, 0},
		"half-line": {1, 0, inf, 0}, "threshold": {1, -inf, inf, 0.3}, "all": {0.8, -0.9, 1.1, 0.2}, "zero": {0, -inf, inf, 0},
	}
}

// wideProximal returns P in float64.
func wideProximal[F Float](p Proximal[F], y float64) float64 {
	return proximal(Proximal[float64]{float64(p.Scale), float64(p.Lower), float64(p.Upper), float64(p.Threshold)}, y)
}

// TestSweeps compares every step with loops in float64, on vectors of every length that end or
// begin at a guard page.
func TestSweeps(t *testing.T) {
	eachKernel(t, testSweeps[float32], testSweeps[float64])
}

func testSweeps[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	r := rand.New(rand.NewPCG(21, 1))
	most := lengths()[len(lengths())-1]
	for _, atEnd := range []bool{false, true} {
		var pages [4][]F
		for i := range pages {
			pages[i] = guarded[F](t, most, atEnd)
		}
		for _, n := range lengths() {
			for name, p := range maps[F]() {
				var v [4][]F
				for i, page := range pages {
					for j := range page {
						page[j] = F(r.NormFloat64())
					}
					if v[i] = page[:n]; atEnd {
						v[i] = page[most-n:]
					}
				}
				for j := range v[3] {
					v[3][j] *= v[3][j] // the second moment
				}
				checkSweeps(t, k, pages, v, p)
				if t.Failed() {
					t.Fatalf("length %d, map %s", n, name)
				}
			}
		}
	}
}

// wideStep computes, in float64, the values that a sweep writes to one element of its vectors.
type wideStep func(x, d, v, w float64) (x1, v1, w1 float64)

// checkSweeps runs every step on the same vectors v, which are parts of pages.
func checkSweeps[F Float](t *testing.T, k *Kernels[F], pages, v [4][]F, p Proximal[F]) {
	t.Helper()
	const e, b, rate, root = 0.75, 0.9, 0.3, 1.5
	nan := math.NaN()
	descend := func(x, d, v, w float64) (float64, float64, float64) {
		v = float64(F(b))*v + d
		return wideProximal(p, x-e*(d+float64(F(b))*v)), v, w
	}
	adam := func(x, d, v, w float64) (float64, float64, float64) {
		v, w = 0.9*v+0.1*d, 0.999*w+0.001*d*d
		return wideProximal(p, x-float64(F(rate))*v/(math.Sqrt(root*w)+1e-8)), v, w
	}
	x, d, m, w := v[0], v[1], v[2], v[3]
	for _, c := range []struct {
		name string
		run  func() (moved, size float64)
		want wideStep
	}{
		{"descend", func() (float64, float64) { return k.Descend(x, d, m, e, b, p) }, descend},
		{"descend without momentum", func() (float64, float64) { return k.Descend(x, d, nil, e, 0, p) },
			func(x, d, v, w float64) (float64, float64, float64) { return wideProximal(p, x-e*d), v, w }},
		{"adam", func() (float64, float64) { return nan, k.Adam(x, d, m, w, rate, root, p) }, adam},
		{"combine", func() (float64, float64) { k.Combine(x, e, x, b, d); return nan, nan },
			func(x, d, v, w float64) (float64, float64, float64) { return e*x + float64(F(b))*d, v, w }},
		{"scale", func() (float64, float64) { k.Scale(x, e, x); return nan, nan },
			func(x, _, v, w float64) (float64, float64, float64) { return e * x, v, w }},
	} {
		var before [4][]F
		for i, page := range pages {
			before[i] = append([]F(nil), page...)
		}
		old := append([]F(nil), x...)
		var start [4][]F
		for i := range v {
			start[i] = append([]F(nil), v[i]...)
		}
		moved, size := c.run()
		var wantMoved, wantSize float64
		for i, got := range x {
			x1, v1, w1 := c.want(float64(start[0][i]), float64(start[1][i]), float64(start[2][i]), float64(start[3][i]))
			for j, pair := range [][2]float64{{float64(got), x1}, {float64(m[i]), v1}, {float64(w[i]), w1}, {float64(d[i]), float64(start[1][i])}} {
				// A step does a few operations on numbers with a magnitude of at most 10.
				if !(math.Abs(pair[0]-pair[1]) <= 10*epsilon[F]()*(1+math.Abs(pair[1]))) {
					t.Errorf("%s: vector %d, element %d is %v, want %v", c.name, j, i, pair[0], pair[1])
				}
			}
			step := float64(got) - float64(old[i])
			wantMoved += step * step
			wantSize += float64(got) * float64(got)
		}
		for _, sum := range [][2]float64{{moved, wantMoved}, {size, wantSize}} {
			if !math.IsNaN(sum[0]) && !(math.Abs(sum[0]-sum[1]) <= 1e-14*sum[1]) {
				t.Errorf("%s: a sum is %v, want %v", c.name, sum[0], sum[1])
			}
		}
		for i := range v {
			copy(v[i], start[i])
		}
		for i, page := range pages {
			if !equal(page, before[i]) {
				t.Errorf("%s: changed elements of vector %d outside it", c.name, i)
			}
		}
	}
}

// TestSquaredTrialNorm checks that SquaredTrialNorm returns the squared size of a step without a
// map, and writes no memory.
func TestSquaredTrialNorm(t *testing.T) {
	eachKernel(t, testReach[float32], testReach[float64])
}

func testReach[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	r := rand.New(rand.NewPCG(22, 1))
	for _, n := range lengths() {
		var v, start [3][]F
		for i := range v {
			v[i] = guarded[F](t, n, true)
			for j := range v[i] {
				v[i][j] = F(r.NormFloat64())
			}
			start[i] = append([]F(nil), v[i]...)
		}
		none := maps[F]()["none"]
		for name, momentum := range map[string][]F{"with": v[2], "without": nil} {
			got := k.SquaredTrialNorm(v[0], v[1], momentum, 0.3, 0.9)
			for i := range v {
				if !equal(v[i], start[i]) {
					t.Fatalf("length %d: vector %d changed", n, i)
				}
			}
			if _, want := k.Descend(v[0], v[1], momentum, 0.3, 0.9, none); got != want {
				t.Errorf("length %d, %s momentum: trialNorm %v, the step's size %v", n, name, got, want)
			}
			for i := range v {
				copy(v[i], start[i])
			}
		}
	}
}

// TestSumsOfVectors compares the terms and the rounding of a sum of vectors with float64, on
// vectors of every length that end or begin at a guard page.
func TestSumsOfVectors(t *testing.T) {
	eachKernel(t, testSumsOfVectors[float32], testSumsOfVectors[float64])
}

func testSumsOfVectors[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	r := rand.New(rand.NewPCG(23, 1))
	eachLength(t, 2, func(v [][]F) {
		for _, atEnd := range []bool{false, true} {
			x, dst := v[0], v[1]
			sums := guarded[float64](t, len(x), atEnd)
			want := make([]float64, len(x))
			for i := range x {
				x[i], sums[i], dst[i] = F(r.NormFloat64()), r.NormFloat64(), canary
				if want[i] = math.FMA(1.3, float64(x[i]), sums[i]); level == Go {
					want[i] = sums[i] + 1.3*float64(x[i])
				}
			}
			k.Accumulate(sums, 1.3, x)
			k.Round(dst, sums)
			for i := range x {
				if sums[i] != want[i] || dst[i] != F(want[i]) {
					t.Errorf("element %d is %v, rounded %v, want %v", i, sums[i], dst[i], want[i])
				}
			}
		}
	})
}

// TestSweepsSameBits checks that AVX2 and AVX-512 give the same bits, sums included.
func TestSweepsSameBits(t *testing.T) {
	bothWide(t, testSweepsSameBits[float32], testSweepsSameBits[float64])
}

func testSweepsSameBits[F Float](t *testing.T) {
	run := func(level Level) (results []F, sums []float64) {
		k := mustNew[F](t, level)
		r := rand.New(rand.NewPCG(23, 4))
		for _, n := range append(lengths(), 5000) {
			for _, name := range []string{"none", "shrinkage", "box", "threshold", "all"} {
				p := maps[F]()[name]
				var v [4][]F
				for i := range v {
					v[i] = make([]F, n)
					for j := range v[i] {
						v[i][j] = F(r.NormFloat64() * math.Exp(r.NormFloat64()*3))
					}
				}
				for j, x := range v[3] {
					v[3][j] = x * x
				}
				sums = append(sums, k.SquaredTrialNorm(v[0], v[1], v[2], 0.3, 0.9), k.SquaredTrialNorm(v[0], v[1], nil, 0.3, 0))
				for _, momentum := range [][]F{v[2], nil} {
					moved, size := k.Descend(v[0], v[1], momentum, 0.3, 0.9, p)
					sums = append(sums, moved, size)
				}
				sums = append(sums, k.Adam(v[0], v[1], v[2], v[3], 0.01, 1.2, p))
				k.Combine(v[1], 0.7, v[0], -0.3, v[2])
				k.Scale(v[2], 0.7, v[3])
				for i := range v {
					results = append(results, v[i]...)
				}
			}
		}
		return results, sums
	}
	avx2, sums2 := run(AVX2)
	avx512, sums512 := run(AVX512)
	if !equal(avx2, avx512) {
		t.Error("vectors differ")
	}
	if !equal(sums2, sums512) {
		t.Error("sums differ")
	}
}

// TestSweepsNonFinite checks that a NaN or infinity in the direction reaches its element of x, v
// and the sums, through every map, and no other element.
func TestSweepsNonFinite(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float32](t, level)
		for name, p := range maps[float32]() {
			for i := range 40 {
				x, d, v := make([]float32, 40), make([]float32, 40), make([]float32, 40)
				d[i] = float32(math.NaN())
				if size := k.SquaredTrialNorm(x, d, v, 1, 0.5); !math.IsNaN(size) {
					t.Fatalf("trialNorm = %v", size)
				}
				moved, size := k.Descend(x, d, v, 1, 0.5, p)
				if !math.IsNaN(moved) || !math.IsNaN(size) {
					t.Fatalf("%s: sums %v, %v", name, moved, size)
				}
				for j := range x {
					if isNaN := x[j] != x[j] && v[j] != v[j]; isNaN != (i == j) {
						t.Errorf("%s, NaN at %d: x[%d] = %v, v = %v", name, i, j, x[j], v[j])
					}
				}
			}
		}
	})
}

// TestSweepsMisuse checks that vectors of different lengths panic before memory is touched.
func TestSweepsMisuse(t *testing.T) {
	k := mustNew[float64](t, Best())
	x, short := make([]float64, 20), make([]float64, 19)
	p := maps[float64]()["none"]
	mustPanic(t, map[string]func(){
		"combine":              func() { k.Combine(x, 1, x, 1, short) },
		"accumulate":           func() { k.Accumulate(x, 1, short) },
		"round":                func() { k.Round(x, short) },
		"scale":                func() { k.Scale(x, 1, short) },
		"trialNorm":            func() { k.SquaredTrialNorm(x, short, nil, 1, 0) },
		"trialNorm's velocity": func() { k.SquaredTrialNorm(x, x, short, 1, 0) },
		"descend":              func() { k.Descend(x, short, nil, 1, 0, p) },
		"descend's velocity":   func() { k.Descend(x, x, short, 1, 0, p) },
		"adam":                 func() { k.Adam(x, x, x, short, 1, 1, p) },
	})
}

// BenchmarkSweeps measures steps on vectors that stay in the level-2 cache.
func BenchmarkSweeps(b *testing.B) {
	for _, level := range Levels() {
		benchSweeps[float32](b, level)
		benchSweeps[float64](b, level)
	}
}

func benchSweeps[F Float](b *testing.B, level Level) {
	k := mustNew[F](b, level)
	const n = 4096
	var v [4][]F
	for i := range v {
		v[i] = Alloc[F](n)
	}
	p, sums := maps[F]()["none"], Alloc[float64](n)
	measure(b, fmt.Sprintf("%v/%T", level, v[0][0]), n, map[string]func(){
		"combine":    func() { k.Combine(v[0], 1, v[1], -1, v[2]) },
		"accumulate": func() { k.Accumulate(sums, 1, v[0]) },
		"round":      func() { k.Round(v[0], sums) },
		"trialNorm":  func() { k.SquaredTrialNorm(v[0], v[1], v[2], 1e-3, 0.9) },
		"descend":    func() { k.Descend(v[0], v[1], v[2], 1e-3, 0.9, p) },
		"adam":       func() { k.Adam(v[0], v[1], v[2], v[3], 1e-3, 1, p) },
	})
}
