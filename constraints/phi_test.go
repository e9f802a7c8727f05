package constraints

import (
	"math"
	"math/big"
	"testing"
)

const bigPrec = 1400 // bits: 1 + e^-700 keeps 300 bits of the small term

// bigExp computes e^y by Taylor's series, after halving y until it is small.
func bigExp(y float64) *big.Float {
	newBig := func(v float64) *big.Float { return new(big.Float).SetPrec(bigPrec).SetFloat64(v) }
	const halvings = 40
	x := new(big.Float).SetMantExp(newBig(y), -halvings)
	sum, term := newBig(1), newBig(1)
	for k := 1.0; k < 60; k++ {
		term.Mul(term, x)
		term.Quo(term, newBig(k))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

func bigOne() *big.Float { return new(big.Float).SetPrec(bigPrec).SetInt64(1) }

func bigSigmoid(y float64) *big.Float { // 1/(1+e^y)
	d := bigExp(y)
	return new(big.Float).SetPrec(bigPrec).Quo(bigOne(), d.Add(d, bigOne()))
}

func relative(got float64, want *big.Float) float64 {
	d := new(big.Float).SetPrec(bigPrec).SetFloat64(got)
	d.Sub(d, want)
	d.Quo(d, want)
	r, _ := d.Float64()
	return math.Abs(r)
}

func margins() []float64 {
	ys := []float64{0, 1e-300, -1e-300, 1e-9, -1e-9, 0.5, -0.5, 1, -1, math.Nextafter(1, 0), math.Nextafter(1, 2)}
	for y := 2.0; y <= 700; y *= 1.37 {
		ys = append(ys, y, -y)
	}
	return append(ys, 700, -700)
}

func TestPhiAgainstBigFloat(t *testing.T) {
	const ulps = 8 * 0x1p-53
	for _, y := range margins() {
		s := bigSigmoid(y)
		if r := relative(Sigmoid.Value(y), s); r > ulps {
			t.Errorf("sigmoid(%g): relative error %g", y, r)
		}
		slope := new(big.Float).SetPrec(bigPrec).Mul(s, bigSigmoid(-y))
		if r := relative(-Sigmoid.Deriv(y), slope); r > ulps {
			t.Errorf("sigmoid'(%g): relative error %g", y, r)
		}
		if r := relative(-Logistic.Deriv(y), s); r > ulps {
			t.Errorf("logistic'(%g): relative error %g", y, r)
		}
		// v = log(1+e^-y) if e^v = 1+e^-y. A relative error r of v appears in the quotient: e^v/(1+e^-y)
		// - 1 = r v.
		v := Logistic.Value(y)
		e := bigExp(-y)
		e.Add(e, bigOne())
		e.Quo(bigExp(v), e)
		e.Sub(e, bigOne())
		if d, _ := e.Float64(); math.Abs(d/v) > ulps {
			t.Errorf("logistic(%g): relative error %g", y, d/v)
		}
		if got, want := Hinge.Value(y), math.Max(0, 1-y); got != want {
			t.Errorf("hinge(%g) = %g, want %g", y, got, want)
		}
	}
}

func TestPhiLimitsAndRange(t *testing.T) {
	inf := math.Inf(1)
	for _, tc := range []struct {
		phi                              Phi
		atInf, atMinus, slopeInf, slopeM float64
	}{
		{Sigmoid, 0, 1, 0, 0},
		{Logistic, 0, inf, 0, -1},
		{Hinge, 0, inf, 0, -1},
	} {
		got := [4]float64{tc.phi.Value(inf), tc.phi.Value(-inf), tc.phi.Deriv(inf), tc.phi.Deriv(-inf)}
		if want := [4]float64{tc.atInf, tc.atMinus, tc.slopeInf, tc.slopeM}; got != want {
			t.Errorf("%v at the infinities: %v, want %v", tc.phi, got, want)
		}
		if !math.IsNaN(tc.phi.Value(math.NaN())) || !math.IsNaN(tc.phi.Deriv(math.NaN())) {
			t.Errorf("%v hides a NaN", tc.phi)
		}
		last := inf
		for _, y := range []float64{-math.MaxFloat64, -1e30, -1e4, -710, -1, 0, 1, 710, 746, 1e4, 1e30, math.MaxFloat64} {
			v, d := tc.phi.Value(y), tc.phi.Deriv(y)
			if !(v >= 0 && v <= last) || math.IsInf(v, 0) {
				t.Errorf("%v(%g) = %g after %g: want finite, not rising", tc.phi, y, v, last)
			}
			if !(d >= -1 && d <= 0) {
				t.Errorf("%v'(%g) = %g, want in [-1, 0]", tc.phi, y, d)
			}
			last = v
		}
	}
	if d := Hinge.Deriv(1); d != 0 {
		t.Errorf("hinge'(1) = %g, want 0", d)
	}
}

func TestPhiDerivIsTheSlope(t *testing.T) {
	const h = 1e-6
	for _, p := range Phis() {
		for _, y := range []float64{-30, -3, -0.4, 0, 0.7, 2, 12} {
			want := (p.Value(y+h) - p.Value(y-h)) / (2 * h)
			if got := p.Deriv(y); math.Abs(got-want) > 1e-8 {
				t.Errorf("%v'(%g) = %g, differences give %g", p, y, got, want)
			}
		}
	}
}

func TestPhis(t *testing.T) {
	for _, p := range Phis() {
		if err := p.valid(); err != nil || p.Smooth() != (p != Hinge) {
			t.Errorf("%v: %v, smooth: %t", p, err, p.Smooth())
		}
	}
	if err := Phi("ramp").valid(); err == nil {
		t.Error("ramp is valid")
	}
}
