package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// pairCases lists the shapes of the tests: below, at and above a step of the columns.
var pairCases = []struct{ rows, cols int }{{1, 1}, {1, 16}, {3, 7}, {2, 8}, {5, 15}, {4, 17}, {16, 16}, {7, 33}, {33, 52}, {2, 129}}

// TestPairs compares the passes over pairs with sums in float64, on vectors that end or begin at a
// guard page.
func TestPairs(t *testing.T) {
	eachKernel(t, testPairs[float32], testPairs[float64])
}

func testPairs[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range pairCases {
		for _, atEnd := range []bool{false, true} {
			e, de := guarded[F](t, c.rows, atEnd), guarded[F](t, c.rows, atEnd)
			f, df := guarded[F](t, c.cols, atEnd), guarded[F](t, c.cols, atEnd)
			for _, spread := range []float64{1, 20} {
				for _, v := range [][]F{e, f} {
					for i := range v {
						v[i] = F(math.Exp(spread * (2*r.Float64() - 1)))
					}
				}
				checkPairs(t, k, e, de, f, df)
				if t.Failed() {
					t.Fatalf("%d x %d, atEnd %v, spread %v", c.rows, c.cols, atEnd, spread)
				}
			}
		}
	}
}

// checkPairs compares each pass with sums in float64.
func checkPairs[F Float](t *testing.T, k *Kernels[F], e, de, f, df []F) {
	t.Helper()
	share := func(x, y float64) float64 { return y / (x + y) }
	slope := func(x, y float64) float64 { return x / (x + y) * (y / (x + y)) }
	tolerance := 4 * epsilon[F]() * float64(8+len(e)+len(f))
	var want float64
	for _, x := range e {
		for _, y := range f {
			want += share(float64(x), float64(y))
		}
	}
	bound := (8*epsilon[F]() + 0x1p-53*float64(len(e)*len(f))) * want // of the shares and of the sums in float64
	if got := k.PairShares(e, f); !(math.Abs(got-want) <= bound) {
		t.Errorf("PairShares = %v, want %v", got, want)
	}
	var losses float64
	for _, x := range e {
		for _, y := range f {
			losses += math.Log1p(float64(y) / float64(x))
		}
	}
	if got := k.PairLosses(e, f); !(math.Abs(got-losses) <= 1e-13*float64(len(e)*len(f))*(1+losses/float64(len(e)*len(f)))) {
		t.Errorf("PairLosses = %v, want %v", got, losses)
	}
	const w = -1.75
	for _, c := range []struct {
		name string
		pass func()
		r    func(x, y float64) float64
	}{
		{"AddPairShares", func() { k.AddPairShares(e, de, f, df, w) }, share},
		{"AddPairSlopes", func() { k.AddPairSlopes(e, de, f, df, w) }, slope},
	} {
		for i := range de {
			de[i] = F(i%3) - 1
		}
		for j := range df {
			df[j] = F(j%5) - 2
		}
		c.pass()
		for i, got := range de {
			want, size := float64(i%3)-1, 1.0
			for _, y := range f {
				want -= w * c.r(float64(e[i]), float64(y))
				size += 2 * c.r(float64(e[i]), float64(y))
			}
			if !(math.Abs(float64(got)-want) <= tolerance*size) {
				t.Errorf("%s: de[%d] = %v, want %v", c.name, i, got, want)
			}
		}
		for j, got := range df {
			want, size := float64(j%5)-2, 2.0
			for _, x := range e {
				want += w * c.r(float64(x), float64(f[j]))
				size += 2 * c.r(float64(x), float64(f[j]))
			}
			if !(math.Abs(float64(got)-want) <= tolerance*size) {
				t.Errorf("%s: df[%d] = %v, want %v", c.name, j, got, want)
			}
		}
	}
}

// TestPairsOfNone checks that a pass over no pairs changes nothing.
func TestPairsOfNone(t *testing.T) {
	k := mustNew[float64](t, Best())
	one, d := []float64{2}, []float64{3}
	k.AddPairShares(nil, nil, one, d, 1)
	k.AddPairSlopes(one, d, nil, nil, 1)
	if sum := k.PairShares(nil, one) + k.PairShares(one, nil) + k.PairLosses(nil, one) + k.PairLosses(one, nil); sum != 0 || d[0] != 3 {
		t.Errorf("the sum over no pairs is %v, the derivative %v", sum, d[0])
	}
}

// Products of far elements do not overflow.
func TestPairLossesOfFarElements(t *testing.T) {
	k := mustNew[float64](t, Best())
	e, f := make([]float64, 9), make([]float64, 101)
	for i := range e {
		e[i] = math.Exp(-PairRange / 2)
	}
	for j := range f {
		f[j] = math.Exp(PairRange / 2)
	}
	if got, want := k.PairLosses(e, f), float64(PairRange*len(e)*len(f)); math.Abs(got/want-1) > 1e-13 {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestPairsLengths checks that a derivative of another length panics.
func TestPairsLengths(t *testing.T) {
	k := mustNew[float64](t, Best())
	two, three := make([]float64, 2), make([]float64, 3)
	mustPanic(t, map[string]func(){
		"rows":    func() { k.AddPairShares(two, three, two, two, 1) },
		"columns": func() { k.AddPairSlopes(two, two, two, three, 1) },
	})
}

// TestPairsSameBits checks that AVX2 and AVX-512 give the same bits.
func TestPairsSameBits(t *testing.T) {
	bothWide(t, testPairsSameBits[float32], testPairsSameBits[float64])
}

func testPairsSameBits[F Float](t *testing.T) {
	sameBits(t, func(k *Kernels[F]) (results []float64) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, c := range pairCases {
			e, de, f, df := make([]F, c.rows), make([]F, c.rows), make([]F, c.cols), make([]F, c.cols)
			for _, v := range [][]F{e, f} {
				for i := range v {
					v[i] = F(math.Exp(3 * r.NormFloat64()))
				}
			}
			results = append(results, k.PairShares(e, f))
			k.AddPairShares(e, de, f, df, 0.3)
			k.AddPairSlopes(e, de, f, df, -0.7)
			results = append(results, wide(de, df)...)
		}
		return results
	})
}

// BenchmarkPairs measures the passes over the blocks of a query of usual size, a pair an element.
func BenchmarkPairs(b *testing.B) {
	for _, level := range Levels() {
		k := mustNew[float32](b, level)
		const rows, cols = 8, 52
		e, de, f, df := make([]float32, rows), make([]float32, rows), make([]float32, cols), make([]float32, cols)
		for i := range e {
			e[i] = 1 + float32(i)/8
		}
		for i := range f {
			f[i] = 1 - float32(i)/100
		}
		measure(b, level.String(), rows*cols, map[string]func(){
			"shares":          func() { k.PairShares(e, f) },
			"losses":          func() { k.PairLosses(e, f) },
			"shares gradient": func() { k.AddPairShares(e, de, f, df, 1e-9) },
			"slopes gradient": func() { k.AddPairSlopes(e, de, f, df, 1e-9) },
		})
	}
}
