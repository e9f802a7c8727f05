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
		drawLosses(r, s, minus, d)
		checkLosses(t, k, out, s, minus, d)
	})
}

// checkLosses compares all passes. It allows 4 units in the last place for losses.
func checkLosses[F Float](t *testing.T, k *Kernels[F], out, s, minus, d []F) {
	t.Helper()
	for _, c := range lossCases {
		k.SignedLoss(c.phi, out, s, minus)
		for i, got := range out {
			if u := ulps(got, c.value(-float64(minus[i])*float64(s[i]))); !(u <= 4) {
				t.Errorf("%s of %v, -y = %v: %v is %.2f units off", c.name, s[i], minus[i], got, u)
			}
		}
		checkGrad(t, c.name, c.slope, out, s, minus, d, func(add bool) { k.SignedLossGrad(c.phi, out, s, minus, d, add) })
	}
}

// checkGrad compares the derivative of a loss, which pass writes to out, or adds to out, with d y
// slope(y s). It allows 8 units in the last place.
func checkGrad[F Float](t *testing.T, name string, slope func(y float64) float64, out, s, minus, d []F, pass func(add bool)) {
	t.Helper()
	const least = 0x1p-126
	want := func(i int) float64 {
		y := -float64(minus[i])
		return unlessNegligible[F](float64(d[i]) * y * slope(y*float64(s[i])))
	}
	for i := range out {
		out[i] = F(math.NaN()) // the pass does not read it
	}
	pass(false)
	for i, got := range out {
		if u := ulps(got, want(i)); !(u <= 8) {
			t.Errorf("%s' of %v, -y = %v, d = %v: %v is %.2f units off", name, s[i], minus[i], d[i], got, u)
		}
		out[i] = F(i%3) - 1
	}
	pass(true)
	for i, got := range out {
		base, g := float64(i%3)-1, want(i)
		if off := math.Abs(float64(got) - base - g); off > 8*epsilon[F]()*(math.Abs(base)+math.Abs(g))+least || math.IsNaN(off) != math.IsNaN(g) {
			t.Errorf("%s' of %v, -y = %v, d = %v, added to %v: %v", name, s[i], minus[i], d[i], base, got)
		}
	}
}

// drawLosses draws scores of many sizes, signs and weights.
func drawLosses[F Float](r *rand.Rand, s, minus, d []F) {
	for i := range s {
		s[i], minus[i], d[i] = F(r.NormFloat64()*math.Exp(2*r.NormFloat64())), F(1-2*r.IntN(2)), F(r.NormFloat64())
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
	sameBits(t, func(k *Kernels[F]) (results []float64) {
		const n = 5003
		out, s, minus, d := make([]F, n), make([]F, n), make([]F, n), make([]F, n)
		drawLosses(rand.New(rand.NewPCG(3, 4)), s, minus, d)
		for _, c := range lossCases {
			k.SignedLoss(c.phi, out, s, minus)
			results = append(results, wide(out)...)
			for _, add := range []bool{true, false} {
				k.SignedLossGrad(c.phi, out, s, minus, d, add)
				results = append(results, wide(out)...)
			}
		}
		return results
	})
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
			measure(b, level.String()+"/"+c.name, RowBlock, map[string]func(){
				"value":    func() { k.SignedLoss(c.phi, out, s, minus) },
				"gradient": func() { k.SignedLossGrad(c.phi, out, s, minus, d, false) },
			})
		}
	}
}
