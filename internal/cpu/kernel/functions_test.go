package kernel

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
)

var stride = flag.Uint64("stride", 3001, "test every so many-th float32 (1 tests all)")

// function is a function under test, with its reference in float64 and its largest documented
// error, in units in the last place.
type function[F Float] struct {
	name  string
	pass  func(k *Kernels[F], dst, x []F)
	ref   func(float64) float64
	bound float64
}

func functions[F Float](exp, sigmoid, tanh, log1p float64) []function[F] {
	return []function[F]{
		{"exp", (*Kernels[F]).Exp, exp64, exp},
		{"sigmoid", (*Kernels[F]).Sigmoid, sigmoid64, sigmoid},
		{"tanh", (*Kernels[F]).Tanh, math.Tanh, tanh},
		{"log1p", (*Kernels[F]).Log1p, math.Log1p, log1p},
	}
}

// ulps returns the error of got in units in the last place of want, for want's type. Below the
// normal numbers, the unit is the smallest denormal number.
func ulps[F Float](got F, want float64) float64 {
	if float64(got) == want || math.IsNaN(float64(got)) && math.IsNaN(want) || float64(got) == float64(F(want)) {
		return 0
	}
	_, e := math.Frexp(want)
	unit := math.Ldexp(1, max(e-53, -1074))
	if sizeof[F]() == 4 {
		unit = math.Ldexp(1, max(e-24, -149))
	}
	if err := math.Abs(float64(got)-want) / unit; !math.IsNaN(err) {
		return err
	}
	return math.Inf(1)
}

// TestFunctions32 compares every stride-th float32 with float64, including both signs and denormal,
// infinite and NaN arguments.
func TestFunctions32(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float32](t, level)
		for _, f := range functions[float32](1, 2.5, 2.5, 1.5) {
			t.Run(f.name, func(t *testing.T) { testFunction32(t, k, f) })
		}
	})
}

func testFunction32(t *testing.T, k *Kernels[float32], f function[float32]) {
	worst, at := 0.0, float32(0)
	x, y := make([]float32, 1000), make([]float32, 1000)
	for bits := uint64(0); bits < 1<<32; {
		n := 0
		for ; n < len(x) && bits < 1<<32; bits += *stride {
			x[n] = math.Float32frombits(uint32(bits))
			n++
		}
		f.pass(k, y[:n], x[:n])
		for i, v := range y[:n] {
			if e := ulps(v, f.ref(float64(x[i]))); e > worst {
				worst, at = e, x[i]
			}
		}
	}
	t.Logf("at most %.3f ulp, at %g", worst, at)
	if worst > f.bound {
		t.Errorf("%s(%g) is off by %g ulp", f.name, at, worst)
	}
}

// TestFunctions64 compares random float64 numbers of every exponent, and of the range where the
// functions vary, with package math, whose error is about one ulp.
func TestFunctions64(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float64](t, level)
		r := rand.New(rand.NewPCG(1, 2))
		x, y := make([]float64, 400_000), make([]float64, 400_000)
		for i := range x {
			switch i % 4 {
			case 0:
				x[i] = math.Float64frombits(r.Uint64())
			case 1:
				x[i] = 1600*r.Float64() - 800
			case 2:
				x[i] = 50*r.Float64() - 25
			case 3:
				x[i] = 2*r.Float64() - 1
			}
		}
		for _, f := range functions[float64](2, 3, 3, 2) {
			f.pass(k, y, x)
			worst, at := 0.0, 0.0
			for i, v := range y {
				if e := ulps(v, f.ref(x[i])); e > worst {
					worst, at = e, x[i]
				}
			}
			t.Logf("%s: at most %.3f ulp from math, at %g", f.name, worst, at)
			if worst > f.bound {
				t.Errorf("%s(%g) is %g ulp from math", f.name, at, worst)
			}
		}
	})
}

// TestFunctionsSpecial tests the documented results for zeros, infinities, NaN and the ends of the
// range.
func TestFunctionsSpecial(t *testing.T) {
	t.Run("float32", testSpecial[float32])
	t.Run("float64", testSpecial[float64])
}

func testSpecial[F Float](t *testing.T) {
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	for _, level := range Levels() {
		k := mustNew[F](t, level)
		for _, c := range []struct {
			name string
			pass func(k *Kernels[F], dst, x []F)
			x, y []float64
		}{
			{"exp", (*Kernels[F]).Exp, []float64{-inf, -2000, zero, 0, 2000, inf, nan}, []float64{0, 0, 1, 1, inf, inf, nan}},
			{"sigmoid", (*Kernels[F]).Sigmoid, []float64{-inf, -2000, zero, 0, 2000, inf, nan}, []float64{0, 0, 0.5, 0.5, 1, 1, nan}},
			{"tanh", (*Kernels[F]).Tanh, []float64{-inf, -2000, zero, 0, 2000, inf, nan}, []float64{-1, -1, zero, 0, 1, 1, nan}},
			{"log1p", (*Kernels[F]).Log1p, []float64{-inf, -1.5, -1, zero, 0, inf, nan}, []float64{nan, nan, -inf, zero, 0, inf, nan}},
		} {
			for i, v := range c.x {
				x := []F{F(v)}
				c.pass(k, x, x)
				got := float64(x[0])
				if got != c.y[i] && !(math.IsNaN(got) && math.IsNaN(c.y[i])) || math.Signbit(got) != math.Signbit(c.y[i]) && got == got {
					t.Errorf("%v: %s(%v) = %v, want %v", level, c.name, v, got, c.y[i])
				}
			}
		}
	}
}
