package constraints

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
)

var near = cmpopts.EquateApprox(1e-14, 1e-15)

var dtypes = []tensor.Dtype{tensor.Float64, tensor.Float32}

func TestMarginLossByHand(t *testing.T) {
	// Row 0, class 0: margins 1 (Hinge's kink, slope 0) against class 1, -2 against class 2.
	// Row 1, class 2: margins 3 and 0.
	scores := []float64{1, 0, 3, 2, 5, 5}
	labels := []int{0, 2}
	dl := []float64{2, -0.5}
	s := func(y float64) float64 { return 1 / (1 + math.Exp(y)) }
	ds := func(y float64) float64 { return -math.Exp(y) / ((1 + math.Exp(y)) * (1 + math.Exp(y))) }
	ln := func(y float64) float64 { return math.Log(1 + math.Exp(-y)) }
	for _, tc := range []struct {
		phi        Phi
		loss, grad []float64
	}{
		{Hinge, []float64{0 + 3, 0 + 1}, []float64{-2, 0, 2, 0, -0.5, 0.5}},
		{Sigmoid, []float64{s(1) + s(-2), s(3) + 0.5}, []float64{
			2 * (ds(1) + ds(-2)), -2 * ds(1), -2 * ds(-2),
			0.5 * ds(3), -0.5 * 0.25, -0.5*ds(3) + 0.5*0.25}},
		{Logistic, []float64{ln(1) + ln(-2), ln(3) + math.Ln2}, []float64{
			-2 * (s(1) + s(-2)), 2 * s(1), 2 * s(-2),
			-0.5 * s(3), -0.5 * 0.5, 0.5*s(3) + 0.5*0.5}},
	} {
		op := must(NewMarginLoss(labels, 3, tc.phi))
		checkLoss(t, op.Do, op.derivative().Do, scores, dl, tc.loss, tc.grad)
	}
}

// checkLoss compares a loss of the rows of scores, and its gradient for the weights dl, with values
// by hand, in both types.
func checkLoss(t *testing.T, do, derivative func(...gorgonia.Value) (gorgonia.Value, error), scores, dl, wantLoss, wantGrad []float64) {
	t.Helper()
	rows, cols := len(dl), len(scores)/len(dl)
	for _, dt := range dtypes {
		tol := near
		if dt == tensor.Float32 {
			tol = cmpopts.EquateApprox(1e-6, 1e-7)
		}
		loss := must(do(dense(dt, scores, rows, cols)))
		if d := cmp.Diff(wantLoss, widened(t, loss), tol); d != "" {
			t.Errorf("%v: loss (-want +got)\n%s", dt, d)
		}
		grad := must(derivative(dense(dt, scores, rows, cols), dense(dt, dl, rows)))
		if d := cmp.Diff(wantGrad, widened(t, grad), tol); d != "" {
			t.Errorf("%v: gradient (-want +got)\n%s", dt, d)
		}
		if !loss.Shape().Eq(tensor.Shape{rows}) || !grad.Shape().Eq(tensor.Shape{rows, cols}) || loss.Dtype() != dt || grad.Dtype() != dt {
			t.Errorf("%v: shapes %v, %v", dt, loss.Shape(), grad.Shape())
		}
	}
}

func TestMarginLossExtremes(t *testing.T) {
	inf := math.Inf(1)
	rows := [][]float64{
		{1e30, -1e30, 0}, {-1e30, 1e30, 0}, {3e38, -3e38, 3e38}, {-3e38, 3e38, 3e38},
		{inf, 0, 0}, {-inf, 0, 0}, {inf, inf, 0}, {-inf, -inf, -inf}, {inf, -inf, inf}, {0, inf, -inf},
	}
	var scores, dl []float64
	for _, r := range rows {
		scores = append(scores, r...)
		dl = append(dl, 1)
	}
	for _, phi := range Phis() {
		op := must(NewMarginLoss(make([]int, len(rows)), 3, phi))
		for _, dt := range dtypes {
			in := dense(dt, scores, len(rows), 3)
			loss := widened(t, must(op.Do(in)))
			grad := widened(t, must(op.derivative().Do(in, dense(dt, dl, len(rows)))))
			for i, l := range loss {
				if math.IsNaN(l) || l < 0 || phi == Sigmoid && l > 2 {
					t.Errorf("%v, %v: loss of %v is %g", phi, dt, rows[i], l)
				}
			}
			for i, g := range grad {
				if !(math.Abs(g) <= 2) {
					t.Errorf("%v, %v: gradient of %v is %v", phi, dt, rows[i/3], grad[i/3*3:][:3])
				}
			}
			if want := 2 * phi.Value(0); math.Abs(loss[7]-want) > 1e-6 { // three equal infinite scores
				t.Errorf("%v, %v: equal infinite scores cost %g, want %g", phi, dt, loss[7], want)
			}
		}
		nan := must(op.Do(dense(tensor.Float64, append([]float64{math.NaN()}, scores[1:]...), len(rows), 3)))
		if got := widened(t, nan); !math.IsNaN(got[0]) || math.IsNaN(got[1]) {
			t.Errorf("%v: a NaN score gives %v", phi, got[:2])
		}
	}
}

func TestMarginLossFloat32IsRoundedFloat64(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, c = 200, 4
	labels := make([]int, n)
	scores := make([]float64, n*c)
	for i := range labels {
		labels[i] = rng.IntN(c)
	}
	for i := range scores {
		scores[i] = float64(float32(10 * rng.NormFloat64()))
	}
	for _, phi := range Phis() {
		op := must(NewMarginLoss(labels, c, phi))
		wide := widened(t, must(op.Do(dense(tensor.Float64, scores, n, c))))
		narrow := widened(t, must(op.Do(dense(tensor.Float32, scores, n, c))))
		for i := range wide {
			if narrow[i] != float64(float32(wide[i])) {
				t.Fatalf("%v: row %d: %g, want %g rounded", phi, i, narrow[i], wide[i])
			}
		}
	}
}

func TestMarginLossReadsTransposedAndSlicedScores(t *testing.T) {
	op := must(NewMarginLoss([]int{0, 1}, 2, Hinge))
	plain := widened(t, must(op.Do(dense(tensor.Float64, []float64{1, 2, 3, 4}, 2, 2))))

	turned := dense(tensor.Float64, []float64{1, 3, 2, 4}, 2, 2)
	require.NoError(t, turned.T())
	if d := cmp.Diff(plain, widened(t, must(op.Do(turned)))); d != "" {
		t.Error("transposed", d)
	}
	whole := dense(tensor.Float64, []float64{9, 1, 2, 9, 3, 4}, 2, 3)
	part := must(whole.Slice(nil, gorgonia.S(1, 3)))
	if d := cmp.Diff(plain, widened(t, must(op.Do(part.(*tensor.Dense))))); d != "" {
		t.Error("sliced", d)
	}
	if _, err := op.Do(tensor.New(tensor.WithShape(2, 2), tensor.AsFortran([]float64{1, 3, 2, 4}))); err == nil {
		t.Error("column-major scores are read as row-major")
	}
}

func TestMarginLossErrors(t *testing.T) {
	for _, tc := range []struct {
		name    string
		labels  []int
		classes int
		phi     Phi
		want    string
	}{
		{"one class", []int{0}, 1, Sigmoid, "at least 2 classes"},
		{"no rows", nil, 2, Sigmoid, "no rows"},
		{"label", []int{0, 2}, 2, Sigmoid, "row 1 has label 2, want 0..1"},
		{"negative label", []int{-1}, 2, Sigmoid, "row 0 has label -1"},
		{"phi", []int{0}, 2, "ramp", `phi "ramp"`},
	} {
		if _, err := NewMarginLoss(tc.labels, tc.classes, tc.phi); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestSecondDerivativeIsRefused(t *testing.T) {
	g := gorgonia.NewGraph()
	s := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(3, 2), gorgonia.WithName("s"))
	p := &Population{Labels: []int{0, 1, 1}, Classes: []string{"a", "b"}}
	f, _, err := must(must(neymanPearson(p, 1, Sigmoid)).On(p)).Nodes(s)
	require.NoError(t, err)
	grads := must(gorgonia.Grad(f, s))
	w := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(3, 2), gorgonia.WithName("w"))
	_, err = gorgonia.Backpropagate(grads, gorgonia.Nodes{w}, gorgonia.Nodes{s})
	if err == nil || !strings.Contains(err.Error(), ErrSecondDerivative.Error()) {
		t.Errorf("got %v", err)
	}
}

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
