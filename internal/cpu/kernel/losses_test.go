package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// lossCases lists the losses with their functions of y s.
var lossCases = []struct {
	name         string
	phi          Loss
	value, slope func(y float64) float64
}{
	{"sigmoid", SigmoidLoss, func(y float64) float64 { return sigmoid64(-y) }, func(y float64) float64 {
		return -sigmoid64(y) * sigmoid64(-y)
	}},
	{"logistic", LogisticLoss, func(y float64) float64 {
		return math.Max(0, -y) + math.Log1p(math.Exp(-math.Abs(y)))
	}, func(y float64) float64 { return -sigmoid64(-y) }},
	{"hinge", HingeLoss, func(y float64) float64 { return math.Max(0, 1-y) }, func(y float64) float64 {
		switch {
		case y < 1:
			return -1
		case y >= 1:
			return 0
		}
		return y // NaN
	}},
}

// TestSignedLosses compares the losses with float64, in units in the last place, on vectors of
// every length that end or begin at a guard page.
func TestSignedLosses(t *testing.T) {
	eachKernel(t, testSignedLosses[float32], testSignedLosses[float64])
}

func testSignedLosses[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	r := rand.New(rand.NewPCG(1, 2))
	eachLength(t, 4, func(v [][]F) {
		out, s, minus, d := v[0], v[1], v[2], v[3]
		for i := range s {
			s[i] = F(r.NormFloat64() * math.Exp(2*r.NormFloat64()))
			minus[i] = F(1 - 2*r.IntN(2))
			d[i] = F(r.NormFloat64())
		}
		checkLosses(t, k, out, s, minus, d)
	})
}

// checkLosses compares all passes. It allows 4 units in the last place for losses, 8 units for
// derivatives, and for a sum the allowances of its terms, plus the error of results below the
// normal numbers.
func checkLosses[F Float](t *testing.T, k *Kernels[F], out, s, minus, d []F) {
	t.Helper()
	const least = 0x1p-126
	for _, c := range lossCases {
		k.SignedLoss(c.phi, out, s, minus)
		for i, got := range out {
			if u := ulps(got, c.value(-float64(minus[i])*float64(s[i]))); !(u <= 4) {
				t.Errorf("%s of %v, -y = %v: %v is %.2f units off", c.name, s[i], minus[i], got, u)
			}
		}
		for i := range out {
			out[i] = F(math.NaN()) // the pass does not read it
		}
		k.SignedLossGrad(c.phi, out, s, minus, d, false)
		for i, got := range out {
			y := -float64(minus[i])
			if u := ulps(got, unlessNegligible[F](float64(d[i])*y*c.slope(y*float64(s[i])))); !(u <= 8) {
				t.Errorf("%s' of %v, -y = %v, d = %v: %v is %.2f units off", c.name, s[i], minus[i], d[i], got, u)
			}
			out[i] = F(i%3) - 1
		}
		k.SignedLossGrad(c.phi, out, s, minus, d, true)
		for i, got := range out {
			y, base := -float64(minus[i]), float64(i%3)-1
			g := unlessNegligible[F](float64(d[i]) * y * c.slope(y*float64(s[i])))
			if off := math.Abs(float64(got) - base - g); off > 8*epsilon[F]()*(math.Abs(base)+math.Abs(g))+least || math.IsNaN(off) != math.IsNaN(g) {
				t.Errorf("%s' of %v, -y = %v, d = %v, added to %v: %v", c.name, s[i], minus[i], d[i], base, got)
			}
		}
	}
}

// TestSignedLossLimits checks infinities, NaN, the tails and the kink of the hinge loss.
func TestSignedLossLimits(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		t.Run("float32", func(t *testing.T) { testLossLimits[float32](t, level, 1e-30) })
		t.Run("float64", func(t *testing.T) { testLossLimits[float64](t, level, 1e-300) })
	})
}

func testLossLimits[F Float](t *testing.T, level Level, tiny float64) {
	k := mustNew[F](t, level)
	var s []F
	for _, x := range []float64{0, tiny, 1, math.Nextafter(1, 0), 30, 60, 80, 1e4, 1e30, math.Inf(1)} {
		s = append(s, F(x), F(-x))
	}
	s = append(s, F(math.NaN()))
	for _, sign := range []F{-1, 1} {
		n := len(s)
		out, minus, d := make([]F, n), make([]F, n), make([]F, n)
		for i := range s {
			minus[i], d[i] = sign, 0.5
		}
		checkLosses(t, k, out, s, minus, d)
	}
}

// TestSignedLossesSameBits checks that AVX2 and AVX-512 give the same bits.
func TestSignedLossesSameBits(t *testing.T) {
	bothWide(t, testLossesSameBits[float32], testLossesSameBits[float64])
}

func testLossesSameBits[F Float](t *testing.T) {
	run := func(level Level) (results []F) {
		k := mustNew[F](t, level)
		r := rand.New(rand.NewPCG(3, 4))
		const n = 5003
		out, s, minus, d := make([]F, n), make([]F, n), make([]F, n), make([]F, n)
		for i := range s {
			s[i], minus[i], d[i] = F(r.NormFloat64()*math.Exp(3*r.NormFloat64())), F(1-2*r.IntN(2)), F(r.NormFloat64())
		}
		for _, c := range lossCases {
			k.SignedLoss(c.phi, out, s, minus)
			results = append(results, out...)
			k.SignedLossGrad(c.phi, out, s, minus, d, true)
			results = append(results, out...)
			k.SignedLossGrad(c.phi, out, s, minus, d, false)
			results = append(results, out...)
		}
		return results
	}
	avx2, avx512 := run(AVX2), run(AVX512)
	for i, v := range avx2 {
		if v != avx512[i] {
			t.Fatalf("result %d: AVX2 %v, AVX-512 %v", i, v, avx512[i])
		}
	}
}

// BenchmarkSignedLosses measures the passes over a block of rows.
func BenchmarkSignedLosses(b *testing.B) {
	for _, level := range Levels() {
		k := mustNew[float32](b, level)
		out, s, minus, d := make([]float32, RowBlock), make([]float32, RowBlock), make([]float32, RowBlock), make([]float32, RowBlock)
		for i := range s {
			s[i], minus[i], d[i] = float32(i%97)/10-5, float32(1-2*(i%2)), 1
		}
		for _, c := range lossCases {
			for name, pass := range map[string]func(){
				"value":    func() { k.SignedLoss(c.phi, out, s, minus) },
				"gradient": func() { k.SignedLossGrad(c.phi, out, s, minus, d, false) },
			} {
				b.Run(level.String()+"/"+c.name+"/"+name, func(b *testing.B) {
					for b.Loop() {
						pass()
					}
					b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/RowBlock, "ns/element")
				})
			}
		}
	}
}
