package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"ppal/internal/require"
)

// TestLogisticTails compares the results from logistic tails with the losses in float64, in units
// in the last place, on vectors of every length that end or begin at a guard page.
func TestLogisticTails(t *testing.T) {
	eachKernel(t, testTails[float32], testTails[float64])
}

func testTails[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	r := rand.New(rand.NewPCG(5, 6))
	eachLength(t, 5, func(v [][]F) {
		out, tails, s, minus, d := v[0], v[1], v[2], v[3], v[4]
		drawLosses(r, s, minus, d)
		checkTails(t, k, out, tails, s, minus, d)
	})
}

// checkTails allows 4 units in the last place for tails and losses, and for sums the sum of the
// allowances of their terms.
func checkTails[F Float](t *testing.T, k *Kernels[F], out, tails, s, minus, d []F) {
	t.Helper()
	k.LogisticTails(tails, s)
	for i, got := range tails {
		want := sigmoid64(-math.Abs(float64(s[i])))
		if u := ulps(F(math.Abs(float64(got))), want); !(u <= 4) || s[i] == s[i] && math.Signbit(float64(got)) != math.Signbit(float64(s[i])) {
			t.Errorf("tail of %v: %v is %.2f units off", s[i], got, u)
		}
	}
	k.SigmoidFromTails(out, tails, minus)
	for i, got := range out {
		if u := ulps(got, sigmoid64(float64(minus[i])*float64(s[i]))); !(u <= 4) {
			t.Errorf("sigmoid of %v, -y = %v: %v is %.2f units off", s[i], minus[i], got, u)
		}
	}
	for _, c := range lossCases[:HingeLoss] {
		checkGrad(t, c.name, c.slope, out, s, minus, d, func(add bool) { k.LossGradFromTails(c.phi, out, tails, minus, d, add) })
	}
	checkTailGradWhere(t, k, out, tails, minus)
	var sum LogisticSum
	sum.Clear()
	k.AddLogistic(&sum, tails, s, minus)
	want, size := 0.0, 0.0
	for i := range s {
		l := lossCases[LogisticLoss].value(-float64(minus[i]) * float64(s[i]))
		want, size = want+l, size+math.Abs(l)
	}
	if got := sum.Value(); !(math.Abs(got-want) <= 4*epsilon[F]()*size+1e-15) && got != want && math.IsNaN(got) != math.IsNaN(want) {
		t.Errorf("%d logistic losses: %v, want %v", len(s), got, want)
	}
}

// checkTailGradWhere compares the gradient with weights from a set of rows with the gradient with
// the same weights in a vector, to the bit, also for rows that do not begin a word of the set.
func checkTailGradWhere[F Float](t *testing.T, k *Kernels[F], out, tails, minus []F) {
	t.Helper()
	for _, lo := range []int{2 * RowSetAlign, RowSetAlign + 9} {
		checkTailGradFrom(t, k, lo, out, tails, minus)
	}
}

func checkTailGradFrom[F Float](t *testing.T, k *Kernels[F], lo int, out, tails, minus []F) {
	t.Helper()
	set, d, want := NewRowSet(lo+len(out)), make([]F, len(out)), make([]F, len(out))
	for i := range d {
		if d[i] = -0.75; i*i%3 == 1 {
			set.Add(lo + i)
			d[i] = 1.5
		}
	}
	for _, phi := range []Loss{SigmoidLoss, LogisticLoss} {
		for _, add := range []bool{false, true} {
			for i := range out {
				out[i], want[i] = 0.5, 0.5
			}
			k.LossGradFromTails(phi, want, tails, minus, d, add)
			k.LossGradFromTailsWhere(phi, out, tails, minus, set, lo, 1.5, -0.75, add)
			for i, got := range out {
				if got != want[i] && got == got {
					t.Errorf("row %d, added %t: %v, want %v", i, add, got, want[i])
				}
			}
		}
	}
}

// TestTailLimits checks infinities, NaN, signed zeros and numbers with tails below the normal
// numbers.
func TestTailLimits(t *testing.T) {
	eachKernel(t, testTailLimits[float32], testTailLimits[float64])
}

func testTailLimits[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	for _, x := range []float64{0, 1e-30, 1, 30, 60, 90, 100, 720, 740, 1e4, 1e30, math.Inf(1), math.NaN()} {
		for _, sign := range []float64{-1, 1} {
			for _, y := range []F{-1, 1} {
				checkTails(t, k, make([]F, 1), make([]F, 1), []F{F(math.Copysign(x, sign))}, []F{y}, []F{0.5})
			}
		}
	}
}

// TestLogisticSum adds more losses than the kernel multiplies into one product, a few losses at a
// time.
func TestLogisticSum(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float64](t, level)
		const n = 40 * mostFactors
		s, tails, minus := make([]float64, n), make([]float64, n), make([]float64, n)
		want := 0.0
		for i := range s {
			s[i], minus[i] = float64(i%7)*1e-3, 1
			want += math.Log1p(math.Exp(s[i]))
		}
		k.LogisticTails(tails, s)
		for _, step := range []int{1, 17, 1000, n} {
			var sum LogisticSum
			sum.Clear()
			for lo := 0; lo < n; lo += step {
				hi := min(lo+step, n)
				k.AddLogistic(&sum, tails[lo:hi], s[lo:hi], minus[lo:hi])
			}
			if got := sum.Value(); !(math.Abs(got-want) <= 1e-12*want) {
				t.Errorf("%d at a time: %v, want %v", step, got, want)
			}
		}
	})
}

// TestLogisticSumOfHalves adds losses of scores 0, the smallest factors, up to and beyond the
// number whose product has a single logarithm.
func TestLogisticSumOfHalves(t *testing.T) {
	eachLevel(t, func(t *testing.T, level Level) {
		k := mustNew[float64](t, level)
		for _, n := range []int{1, 15, 16, mostFactors / 16 * 16, mostFactors, mostFactors + 16, 2 * mostFactors, 16 * mostFactors} {
			s, tails, minus := make([]float64, n), make([]float64, n), make([]float64, n)
			k.LogisticTails(tails, s)
			var sum LogisticSum
			sum.Clear()
			k.AddLogistic(&sum, tails, s, minus)
			if got, want := sum.Value(), float64(n)*math.Ln2; !(math.Abs(got-want) <= 1e-13*want) {
				t.Errorf("%d losses: %v, want %v", n, got, want)
			}
		}
	})
}

// TestTailsSameBits checks that AVX2 and AVX-512 give the same bits.
func TestTailsSameBits(t *testing.T) {
	bothWide(t, testTailsSameBits[float32], testTailsSameBits[float64])
}

func testTailsSameBits[F Float](t *testing.T) {
	sameBits(t, func(k *Kernels[F]) []float64 {
		const n = 5003
		out, tails, s, minus, d := make([]F, n), make([]F, n), make([]F, n), make([]F, n), make([]F, n)
		drawLosses(rand.New(rand.NewPCG(3, 4)), s, minus, d)
		k.LogisticTails(tails, s)
		k.SigmoidFromTails(out, tails, minus)
		results := wide(tails, out)
		for _, c := range lossCases[:HingeLoss] {
			for _, add := range []bool{true, false} {
				k.LossGradFromTails(c.phi, out, tails, minus, d, add)
				results = append(results, wide(out)...)
			}
		}
		var sum LogisticSum
		sum.Clear()
		k.AddLogistic(&sum, tails, s, minus)
		return append(results, sum.Value())
	})
}

// BenchmarkTails measures the passes over a block of rows.
func BenchmarkTails(b *testing.B) {
	for _, level := range Levels() {
		k := mustNew[float32](b, level)
		const n = 8 * RowBlock
		out, tails, s, minus, d := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
		for i := range s {
			s[i], minus[i], d[i] = float32(i%97)/10-5, float32(1-2*(i%2)), 1
		}
		var sum LogisticSum
		sum.Clear()
		set := NewRowSet(n)
		measure(b, level.String(), n, map[string]func(){
			"tails":                         func() { k.LogisticTails(tails, s) },
			"sigmoid":                       func() { k.SigmoidFromTails(out, tails, minus) },
			"sigmoid gradient":              func() { k.LossGradFromTails(SigmoidLoss, out, tails, minus, d, false) },
			"logistic gradient":             func() { k.LossGradFromTails(LogisticLoss, out, tails, minus, d, true) },
			"sigmoid gradient, two weights": func() { k.LossGradFromTailsWhere(SigmoidLoss, out, tails, minus, set, 0, 1, 2, false) },
			"logistic sum":                  func() { k.AddLogistic(&sum, tails, s, minus) },
		})
	}
}

// leastDerivative returns the smallest magnitude of a derivative that is not zero.
func leastDerivative[F Float]() F {
	if unsafe.Sizeof(F(0)) == 4 {
		return F(math.Ldexp(1, -100))
	}
	return F(math.Ldexp(1, -960))
}

// unlessNegligible returns the derivative x, and zero below the least magnitude of F.
func unlessNegligible[F Float](x float64) float64 {
	if math.Abs(x) < float64(leastDerivative[F]()) {
		return 0
	}
	return x
}

// Derivatives of activations are zero below the least magnitude, and all others remain.
func TestNegligibleDerivatives(t *testing.T) {
	eachKernel(t, testNegligible[float32], testNegligible[float64])
}

func testNegligible[F Float](t *testing.T, level Level) {
	k := mustNew[F](t, level)
	least := leastDerivative[F]()
	inf, tiny := F(math.Inf(1)), least/0x1p40 // tiny is subnormal in float32
	for _, c := range []struct{ d, want F }{
		{1, 1}, {-1, -1}, {least, least}, {-least, -least}, {least * 0.999, 0}, {least * -0.999, 0},
		{tiny, 0}, {-tiny, 0}, {0, 0}, {inf, inf}, {-inf, -inf}, {F(math.NaN()), F(math.NaN())},
	} {
		for _, f := range []struct {
			name string
			pass func(d, s []F)
			s    F // of slope 1
		}{{"tanh", k.TanhGrad, 0}, {"relu", k.ReLUGrad, 1}} {
			for n := 1; n <= 40; n += 13 {
				d := slices.Repeat([]F{c.d}, n)
				f.pass(d, slices.Repeat([]F{f.s}, n))
				for i, got := range d {
					if fmt.Sprint(got) != fmt.Sprint(c.want) {
						t.Fatalf("%s' of %v: element %d of %d is %v, want %v", f.name, c.d, i, n, got, c.want)
					}
				}
			}
		}
		// sigmoid has a slope of 1/4.
		d := []F{4 * c.d}
		if k.SigmoidGrad(d, []F{0.5}); fmt.Sprint(d[0]) != fmt.Sprint(c.want) {
			t.Errorf("sigmoid' of %v: %v, want %v", c.d, d[0], c.want)
		}
	}
}

// The derivative of a layer and the product for its gradient take as long with saturated units as
// with others.
func BenchmarkSaturated(b *testing.B) {
	const rows, cols = RowBlock, 784
	for _, level := range Levels()[1:] {
		k := require.Value(New[float32](level))(b)
		x, row := k.NewPackedFloats(rows, cols), slices.Repeat([]float32{0.5}, cols)
		for i := range rows {
			x.SetRow(i, row)
		}
		g, d, units := Alloc[float32](cols*benchWidth), Alloc[float32](rows*benchWidth), slices.Repeat([]float32{0.5}, rows*benchWidth)
		s := k.NewScratch(rows, benchWidth)
		for _, v := range []float32{1, 1e-38} {
			b.Run(fmt.Sprintf("%v/%g", level, v), func(b *testing.B) {
				for b.Loop() {
					for i := range d {
						d[i] = v
					}
					k.SigmoidGrad(d, units)
					k.AddMulTrans(g, benchWidth, x, 0, rows, d, benchWidth, benchWidth, s)
				}
			})
		}
	}
}
