package constraints

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
)

func TestSignedLossByHand(t *testing.T) {
	// Margins y s: 2, 1 (Hinge's kink, slope 0), -0.5, 0.
	scores := []float64{2, -1, 0.5, 0}
	labels := []int{1, -1, -1, 1}
	dl := []float64{1, 2, -4, 0.5}
	s := func(y float64) float64 { return 1 / (1 + math.Exp(y)) }
	ln := func(y float64) float64 { return math.Log(1 + math.Exp(-y)) }
	for _, tc := range []struct {
		phi        Phi
		loss, grad []float64
	}{
		{Hinge, []float64{0, 0, 1.5, 1}, []float64{0, 0, -4, -0.5}},
		{Sigmoid, []float64{s(2), s(1), s(-0.5), 0.5}, []float64{-s(2) * s(-2), 2 * s(1) * s(-1), -4 * s(0.5) * s(-0.5), -0.125}},
		{Logistic, []float64{ln(2), ln(1), ln(-0.5), math.Ln2}, []float64{-s(2), 2 * s(1), -4 * s(-0.5), -0.25}},
	} {
		op := must(NewSignedLoss(labels, tc.phi))
		checkLoss(t, op.Do, op.derivative().Do, scores, dl, tc.loss, tc.grad)
	}
}

// The rates phi(-s) of Sigmoid equal the sigmoid of s, the smooth decision.
func TestRatesAreSigmoids(t *testing.T) {
	scores := []float64{-800, -3, 0, 0.25, 800}
	got := widened(t, must(must(NewRates(5, Sigmoid)).Do(dense(tensor.Float64, scores, 5, 1))))
	want := []float64{0, 1 / (1 + math.Exp(3)), 0.5, 1 / (1 + math.Exp(-0.25)), 1}
	if d := cmp.Diff(want, got, near); d != "" {
		t.Error(d)
	}
	got = widened(t, must(must(NewRates(3, Hinge)).Do(dense(tensor.Float64, []float64{-2, 0, 2}, 3, 1))))
	if d := cmp.Diff([]float64{0, 1, 3}, got); d != "" {
		t.Error(d)
	}
}

// A binary loss equals the margin loss of the two scores s and 0.
func TestSignedLossIsTheMarginLossOfTwoClasses(t *testing.T) {
	const n = 50
	rng := rand.New(rand.NewPCG(3, 4))
	s, dl := randoms(rng, n, 3), randoms(rng, n, 1)
	labels, classes, pairs := make([]int, n), make([]int, n), make([]float64, 2*n)
	for i := range n {
		classes[i] = rng.IntN(2)
		labels[i] = 1 - 2*classes[i]
		pairs[2*i] = s[i]
	}
	for _, phi := range Phis() {
		one, two := must(NewSignedLoss(labels, phi)), must(NewMarginLoss(classes, 2, phi))
		got, want := must(one.Do(dense(tensor.Float64, s, n, 1))), must(two.Do(dense(tensor.Float64, pairs, n, 2)))
		if d := cmp.Diff(widened(t, want), widened(t, got)); d != "" {
			t.Errorf("%v: %s", phi, d)
		}
		got = must(one.derivative().Do(dense(tensor.Float64, s, n, 1), dense(tensor.Float64, dl, n)))
		want = must(two.derivative().Do(dense(tensor.Float64, pairs, n, 2), dense(tensor.Float64, dl, n)))
		first := make([]float64, n)
		for i := range first {
			first[i] = widened(t, want)[2*i]
		}
		if d := cmp.Diff(first, widened(t, got)); d != "" {
			t.Errorf("%v: gradient: %s", phi, d)
		}
	}
}

func TestSignedLossExtremes(t *testing.T) {
	scores := []float64{math.Inf(1), math.Inf(-1), 3e38, -3e38, math.NaN()}
	for _, phi := range Phis() {
		op := must(NewSignedLoss([]int{1, 1, -1, -1, 1}, phi))
		for _, dt := range dtypes {
			in := dense(dt, scores, 5, 1)
			loss := widened(t, must(op.Do(in)))
			grad := widened(t, must(op.derivative().Do(in, dense(dt, []float64{1, 1, 1, 1, 1}, 5))))
			for i := range 4 {
				if math.IsNaN(loss[i]) || loss[i] < 0 || !(math.Abs(grad[i]) <= 1) {
					t.Errorf("%v, %v: score %g: loss %g, gradient %g", phi, dt, scores[i], loss[i], grad[i])
				}
			}
			if !math.IsNaN(loss[4]) || !math.IsNaN(grad[4]) {
				t.Errorf("%v, %v: a NaN score gives %g and %g", phi, dt, loss[4], grad[4])
			}
		}
	}
}

func TestSignedLossErrors(t *testing.T) {
	for _, tc := range []struct {
		name   string
		labels []int
		phi    Phi
		want   string
	}{
		{"no rows", nil, Sigmoid, "no rows"},
		{"zero", []int{1, 0}, Sigmoid, "row 1 has label 0, want -1 or +1"},
		{"large", []int{255}, Sigmoid, "row 0 has label 255"}, // int8(255) is -1
		{"phi", []int{1}, "ramp", `phi "ramp"`},
	} {
		if _, err := NewSignedLoss(tc.labels, tc.phi); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	if _, err := NewRates(0, Sigmoid); err == nil {
		t.Error("rates of no rows are accepted")
	}
	op := must(NewSignedLoss([]int{1, -1, 1}, Sigmoid))
	g := gorgonia.NewGraph()
	for _, shape := range []tensor.Shape{{3, 2}, {2, 1}, {2}, {3, 1, 1}} {
		n := gorgonia.NewTensor(g, tensor.Float64, shape.Dims(), gorgonia.WithShape(shape...), gorgonia.WithName(fmt.Sprint(shape)))
		if _, err := op.Apply(n); err == nil {
			t.Errorf("a graph takes scores of shape %v for 3 rows", shape)
		}
	}
}

// The shape of the scores may be [n] or [n, 1]. The hash distinguishes labels, phi and shape.
func TestSignedLossTakesVectorsAndColumns(t *testing.T) {
	const n = 6
	rng := rand.New(rand.NewPCG(8, 8))
	labels := []int{1, -1, -1, 1, 1, -1}
	data, dl := randoms(rng, n, 2), randoms(rng, n, 1)
	for _, phi := range Phis() {
		op := must(NewSignedLoss(labels, phi))
		g := gorgonia.NewGraph()
		column := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(n, 1), gorgonia.WithName("column"))
		vector := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(n), gorgonia.WithName("vector"))
		w := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(n), gorgonia.WithName("w"))
		a, b := must(op.Apply(column)), must(op.Apply(vector))
		da := must(gorgonia.Backpropagate(gorgonia.Nodes{a}, gorgonia.Nodes{w}, gorgonia.Nodes{column}))[0]
		db := must(gorgonia.Backpropagate(gorgonia.Nodes{b}, gorgonia.Nodes{w}, gorgonia.Nodes{vector}))[0]
		let(t, column, dense(tensor.Float64, data, n, 1))
		let(t, vector, dense(tensor.Float64, data, n))
		let(t, w, dense(tensor.Float64, dl, n))
		runVM(t, compiled(t, gorgonia.Nodes{column, vector, w}, gorgonia.Nodes{a, b, da, db}))
		if d := cmp.Diff(widened(t, a.Value()), widened(t, b.Value())); d != "" {
			t.Errorf("%v: losses: %s", phi, d)
		}
		if d := cmp.Diff(widened(t, da.Value()), widened(t, db.Value())); d != "" {
			t.Errorf("%v: gradients: %s", phi, d)
		}
		if !da.Shape().Eq(tensor.Shape{n, 1}) || !db.Shape().Eq(tensor.Shape{n}) {
			t.Errorf("%v: gradients of shapes %v and %v", phi, da.Shape(), db.Shape())
		}
	}
}

// TestMeanLogistic compares the mean with a sum of math.Log1p in high precision, and the rates with
// the rates of the op to the bit. The mean does not depend on the number of cores.
func TestMeanLogistic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	draws := rand.New(rand.NewPCG(7, 8))
	for _, scale := range []float64{1e-9, 0.1, 3, 20, 300} {
		for _, n := range []int{1, logisticChunk - 1, logisticChunk, logisticChunk + 1, 2*leastPart + 3} {
			scores, labels := make([]float64, n), make([]int, n)
			for i := range scores {
				scores[i], labels[i] = scale*draws.NormFloat64(), 2*draws.IntN(2)-1
			}
			checkMeanLogistic(t, scores, labels)
			for i, y := range labels { // all rows on their side: the mean is small
				scores[i] = float64(y) * math.Abs(scores[i])
			}
			checkMeanLogistic(t, scores, labels)
		}
	}
	checkMeanLogistic(t, []float64{0, math.Copysign(0, -1), 800, -800, 1e308, 5e-324}, []int{1, 1, -1, 1, 1, -1})
	// on both sides of smallExponential, alone
	for _, e := range []float64{smallExponential, math.Nextafter(smallExponential, 1), 0.0039, 1e-4, 1e-12, 1e-300} {
		checkMeanLogistic(t, []float64{-math.Log(e)}, []int{1})
	}
}

func checkMeanLogistic(t *testing.T, scores []float64, labels []int) {
	t.Helper()
	loss := require.Value(NewSignedLoss(labels, Logistic))(t)
	rate := require.Value(NewRates(len(scores), Sigmoid))(t)
	sum := new(big.Float).SetPrec(200)
	for _, l := range signedLosses(loss, scores) {
		sum.Add(sum, big.NewFloat(l))
	}
	want, _ := sum.Quo(sum, big.NewFloat(float64(len(scores)))).Float64()
	wantRates := signedLosses(rate, scores)
	// the errors of the factors 1+e that are above 1+smallExponential, and of the sums
	const tolerance = 1e-13
	first := 0.0
	for _, cores := range []int{1, 3} {
		runtime.GOMAXPROCS(cores)
		got, rates := meanLogistic(loss, rate, scores)
		if math.Abs(got-want) > tolerance*want {
			t.Errorf("%d scores such as %v: %v, want %v", len(scores), scores[0], got, want)
		}
		if cores == 1 {
			first = got
		}
		if got != first {
			t.Errorf("%d scores: %v on %d cores, %v on one", len(scores), got, cores, first)
		}
		for i := range rates {
			if rates[i] != wantRates[i] {
				t.Fatalf("rate of %v: %v, want %v", scores[i], rates[i], wantRates[i])
			}
		}
	}
}
