package constraints

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph/describe"
)

// Phi is a surrogate: a decreasing function of the margin y that replaces the 0-1 loss.
//
//	Sigmoid   1/(1+e^y)      in (0, 1); phi(0) = 1/2
//	Logistic  log(1+e^-y)    convex, smooth; phi(0) = log 2
//	Hinge     max(0, 1-y)    convex, kink at y = 1; phi(0) = 1
type Phi string

// The surrogates.
const (
	Sigmoid  Phi = "sigmoid"  // 1/(1+e^y), the paper's choice for Neyman-Pearson
	Logistic Phi = "logistic" // log(1+e^-y)
	Hinge    Phi = "hinge"    // max(0, 1-y)
)

// Phis lists the surrogates.
func Phis() []Phi { return []Phi{Sigmoid, Logistic, Hinge} }

// String returns the surrogate's name.
func (p Phi) String() string { return string(p) }

func (p Phi) valid() error {
	if !slices.Contains(Phis(), p) {
		return fmt.Errorf("constraints: unknown surrogate phi %q (supported: sigmoid, logistic, hinge)", string(p))
	}
	return nil
}

// Smooth reports whether phi is differentiable everywhere; Hinge is not.
func (p Phi) Smooth() bool { return p != Hinge }

// Value returns phi(y). It is accurate to a few ulps over the whole range. At the infinities it
// returns the limits: 0 at +Inf; at -Inf 1 for Sigmoid and +Inf for the unbounded Logistic and
// Hinge. NaN gives NaN. The caller widens float32 margins to float64, so the result is exact up to
// the rounding to float32.
func (p Phi) Value(y float64) float64 {
	if p == Hinge {
		return math.Max(0, 1-y)
	}
	return p.valueWith(y, math.Exp(-math.Abs(y)))
}

// valueWith returns Value(y) for e = exp(-abs(y)), of a surrogate other than Hinge.
func (p Phi) valueWith(y, e float64) float64 {
	switch p {
	case Sigmoid:
		if y > 0 { // use e^-y/(1+e^-y), because e^y overflows for large y
			return e / (1 + e)
		}
		return 1 / (1 + e)
	case Logistic:
		return math.Max(0, -y) + math.Log1p(e)
	}
	panic("constraints: invalid surrogate")
}

// Deriv returns phi'(y), in [-1, 0]. At Hinge's kink y = 1, where the subdifferential is [-1, 0],
// it returns 0, the element of smallest norm. The limits at the infinities are 0, except -1 at -Inf
// for Logistic and Hinge. NaN gives NaN.
func (p Phi) Deriv(y float64) float64 {
	switch p {
	case Sigmoid: // -phi(y) phi(-y), symmetric in y
		e := math.Exp(-math.Abs(y))
		return -e / ((1 + e) * (1 + e))
	case Logistic:
		return -Sigmoid.Value(y)
	case Hinge:
		switch {
		case y < 1:
			return -1
		case y >= 1:
			return 0
		}
		return y // NaN
	}
	panic("constraints: invalid surrogate")
}

// logisticChunk is the number of rows with one logarithm. A factor 1+e is at most 2, so that the
// product of a chunk does not overflow.
const logisticChunk = 64

// smallExponential is the bound below which e itself, and not 1+e, is added: 1+e would round e.
const smallExponential = 1.0 / 256

// meanLogistic returns the mean of the logistic losses of op loss, and the sigmoids of op rate, to
// the bit of signedLosses. Both losses of a row share the exponential e_i = exp(-|s_i|):
//
//	mean = 1/n sum_i max(0, -y_i s_i) + log(1 + e_i)
//
// The sum of the logarithms of a chunk of rows is the logarithm of a product. The chunks depend on
// n alone, so that the mean does not depend on the number of cores.
func meanLogistic(loss, rate *SignedLoss, scores []float64) (mean float64, rates []float64) {
	n := len(scores)
	rates = make([]float64, n)
	sums := make([]float64, (n+logisticChunk-1)/logisticChunk)
	inParts(n, func(from, to int) {
		// a part has the chunks that begin in it
		for k := (from + logisticChunk - 1) / logisticChunk; k*logisticChunk < to; k++ {
			first, end := k*logisticChunk, min((k+1)*logisticChunk, n)
			sum, product := 0.0, 1.0
			for i := first; i < end; i++ {
				s := scores[i]
				e := math.Exp(-math.Abs(s))
				if e < smallExponential {
					sum += smallLog1p(e)
				} else {
					product *= 1 + e
				}
				sum += math.Max(0, -float64(loss.labels[i])*s)
				rates[i] = Sigmoid.valueWith(float64(rate.labels[i])*s, e)
			}
			sums[k] = sum + math.Log(product)
		}
	})
	for _, sum := range sums {
		mean += sum
	}
	return mean / float64(n), rates
}

// smallLog1p returns log(1+e) for 0 <= e < smallExponential, by the series e - e^2/2 + ... - e^8/8,
// whose next term is below e/2^67.
func smallLog1p(e float64) float64 {
	return e * (1 - e*(1./2-e*(1./3-e*(1./4-e*(1./5-e*(1./6-e*(1./7-e/8)))))))
}

// SignedLoss is the op s [n, 1] or [n] -> l [n],
//
//	l_i = phi(y_i s_i),   y_i = -1 or +1,
//
// the loss of one score for each row. With labels y it gives the losses of a binary classifier;
// with y = -1 everywhere it gives the smooth decision rates phi(-s), because phi(-s) = 1/(1+e^-s)
// for Sigmoid. Losses are computed in float64, whatever the type of s. An infinite score gives
// phi's limit, a NaN score gives NaN.
type SignedLoss struct {
	function
	labels []int8
	phi    Phi
}

// NewSignedLoss makes the op for rows with the given labels, each -1 or +1, and scores [n, 1];
// Apply also accepts scores [n]. The labels are copied.
func NewSignedLoss(labels []int, phi Phi) (*SignedLoss, error) {
	if err := phi.valid(); err != nil {
		return nil, err
	}
	if len(labels) == 0 {
		return nil, errNoRows
	}
	own := make([]int8, len(labels))
	for i, y := range labels {
		if y != -1 && y != 1 {
			return nil, fmt.Errorf("constraints: row %d has label %d, want -1 or +1", i, y)
		}
		own[i] = int8(y)
	}
	return newSignedLoss(own, phi, 2), nil
}

// NewRates makes the op s -> phi(-s) for n rows: for Sigmoid the smooth rates 1/(1+e^-s) of
// positive decisions, for Hinge max(0, 1+s).
func NewRates(n int, phi Phi) (*SignedLoss, error) {
	return ratesOf(make([]int8, max(0, n)), phi)
}

// ratesOf makes the op of NewRates, which keeps the given memory for the labels.
func ratesOf(labels []int8, phi Phi) (*SignedLoss, error) {
	if err := phi.valid(); err != nil {
		return nil, err
	}
	if len(labels) == 0 {
		return nil, errNoRows
	}
	for i := range labels {
		labels[i] = -1
	}
	return newSignedLoss(labels, phi, 2), nil
}

var errNoRows = errors.New("constraints: no rows")

// newSignedLoss makes the op. dims is the number of dimensions of the scores: 2 for [n, 1], 1 for
// [n]. The derivative is (s, dl [n]) -> ds, with the shape of s,
//
//	ds_i = dl_i y_i phi'(y_i s_i).
func newSignedLoss(labels []int8, phi Phi, dims int) *SignedLoss {
	op := &SignedLoss{labels: labels, phi: phi}
	rows, scores := tensor.Shape{len(labels)}, ofScores(len(labels), dims)
	signs := describe.Signs{Labels: labels, Phi: phi}
	digest := digestLater(func(d digester) {
		d.text(string(phi))
		d.ints(dims)
		d.int8s(labels)
	})
	op.function = function{
		pureOp: pureOp{kind: "SignedLoss", arity: 1, digest: digest}, text: fmt.Sprintf("%v, %d", phi, len(labels)),
		in: []tensor.Shape{scores}, out: rows, description: describe.SignedLoss{Signs: signs},
		double: func(in [][]float64) []float64 { return signedLosses(op, in[0]) },
		single: func(in [][]float32) []float32 { return signedLosses(op, in[0]) },
	}
	op.derivative = func() *function {
		return &function{
			pureOp: pureOp{kind: "SignedLossGrad", arity: 2, digest: digest}, text: op.text,
			in: []tensor.Shape{scores, rows}, out: scores, description: describe.SignedLossGrad{Signs: signs},
			double: func(in [][]float64) []float64 { return signedLossGrads(op, in[0], in[1]) },
			single: func(in [][]float32) []float32 { return signedLossGrads(op, in[0], in[1]) },
		}
	}
	return op
}

// Apply adds the losses' node [n] to the graph of the scores [n, 1] or [n].
func (op *SignedLoss) Apply(scores *gorgonia.Node) (*gorgonia.Node, error) {
	if d := scores.Dims(); d != op.in[0].Dims() && (d == 1 || d == 2) {
		op = newSignedLoss(op.labels, op.phi, d)
	}
	return apply(op, scores)
}

// Rows returns n, the number of rows.
func (op *SignedLoss) Rows() int { return len(op.labels) }

// signedLosses returns the losses of the scores.
func signedLosses[T float](op *SignedLoss, scores []T) []T {
	out := make([]T, len(scores))
	inParts(len(out), func(from, to int) {
		for i := from; i < to; i++ {
			out[i] = T(op.phi.Value(float64(op.labels[i]) * float64(scores[i])))
		}
	})
	return out
}

// signedLossGrads returns ds.
func signedLossGrads[T float](op *SignedLoss, scores, dl []T) []T {
	out := make([]T, len(scores))
	for i, y := range op.labels {
		out[i] = T(float64(dl[i]) * float64(y) * op.phi.Deriv(float64(y)*float64(scores[i])))
	}
	return out
}

// MarginLoss is the op S [n, C] -> l [n],
//
//	l_i = sum_{j != c_i} phi(S[i,c_i] - S[i,j]),
//
// with c_i the class of row i: the loss inside the sums of the paper's multi-class Neyman-Pearson
// problem. Margins and sums are computed in float64, whatever the type of S. Two equal scores have
// margin 0, even if both scores are infinite, so infinite scores give phi's limits and never NaN. A
// NaN score gives NaN.
type MarginLoss struct {
	function
	labels  []int32
	classes int
	phi     Phi
}

// NewMarginLoss makes the op for rows of the given classes: labels[i], in 0..classes-1, is the
// class of row i. The labels are copied.
func NewMarginLoss(labels []int, classes int, phi Phi) (*MarginLoss, error) {
	if err := phi.valid(); err != nil {
		return nil, err
	}
	if classes < 2 {
		return nil, fmt.Errorf("constraints: margins need at least 2 classes, got %d", classes)
	}
	if len(labels) == 0 {
		return nil, fmt.Errorf("constraints: no rows")
	}
	own := make([]int32, len(labels))
	for i, c := range labels {
		if c < 0 || c >= classes {
			return nil, fmt.Errorf("constraints: row %d has label %d, want 0..%d", i, c, classes-1)
		}
		own[i] = int32(c)
	}
	op := &MarginLoss{labels: own, classes: classes, phi: phi}
	rows := tensor.Shape{len(own)}
	scores := tensor.Shape{len(own), classes}
	margins := describe.Margins{Labels: own, Classes: classes, Phi: phi}
	digest := digestLater(func(d digester) {
		d.ints(classes)
		d.text(string(phi))
		d.int32s(own)
	})
	op.function = function{
		pureOp: pureOp{kind: "MarginLoss", arity: 1, digest: digest}, text: fmt.Sprintf("%v, %dx%d", phi, len(own), classes),
		in: []tensor.Shape{scores}, out: rows, description: describe.MarginLoss{Margins: margins},
		double: func(in [][]float64) []float64 { return marginLosses(op, in[0]) },
		single: func(in [][]float32) []float32 { return marginLosses(op, in[0]) },
	}
	// The derivative is (S [n, C], dl [n]) -> dS [n, C],
	//
	//	dS[i,j]   = -dl_i phi'(S[i,c_i] - S[i,j])    j != c_i
	//	dS[i,c_i] =  dl_i sum_{j != c_i} phi'(S[i,c_i] - S[i,j]).
	//
	// Every row of dS sums to zero up to rounding.
	op.derivative = func() *function {
		return &function{
			pureOp: pureOp{kind: "MarginLossGrad", arity: 2, digest: digest}, text: op.text,
			in: []tensor.Shape{scores, rows}, out: scores, description: describe.MarginLossGrad{Margins: margins},
			double: func(in [][]float64) []float64 { return marginLossGrads(op, in[0], in[1]) },
			single: func(in [][]float32) []float32 { return marginLossGrads(op, in[0], in[1]) },
		}
	}
	return op, nil
}

// Apply adds the losses' node [n] to the graph of the scores [n, C].
func (op *MarginLoss) Apply(scores *gorgonia.Node) (*gorgonia.Node, error) {
	return apply(op, scores)
}

// Rows returns n, the number of rows.
func (op *MarginLoss) Rows() int { return len(op.labels) }

// marginLosses returns the losses of the scores.
func marginLosses[T float](op *MarginLoss, scores []T) []T {
	out := make([]T, op.Rows())
	for i, c := range op.labels {
		row := scores[i*op.classes:][:op.classes]
		out[i] = T(rowLoss(op.phi, row, int(c)))
	}
	return out
}

// rowLoss returns one row's sum_{j != c} phi(row[c] - row[j]), summed in the order of j.
func rowLoss[T float](phi Phi, row []T, c int) float64 {
	var sum float64
	own := float64(row[c])
	for j, s := range row {
		if j != c {
			sum += phi.Value(margin(own, float64(s)))
		}
	}
	return sum
}

// margin returns a - b, or 0 for two infinities of the same sign.
func margin(a, b float64) float64 {
	if a == b {
		return 0
	}
	return a - b
}

// marginLossGrads returns dS.
func marginLossGrads[T float](op *MarginLoss, scores, dl []T) []T {
	out := make([]T, len(scores))
	for i, c := range op.labels {
		lo := i * op.classes
		rowLossGrad(out[lo:][:op.classes], op.phi, scores[lo:][:op.classes], int(c), float64(dl[i]))
	}
	return out
}

// rowLossGrad writes dl times the gradient of rowLoss to dst.
func rowLossGrad[T float](dst []T, phi Phi, row []T, c int, dl float64) {
	var sum float64
	own := float64(row[c])
	for j, s := range row {
		if j != c {
			d := dl * phi.Deriv(margin(own, float64(s)))
			dst[j] = T(-d)
			sum += d
		}
	}
	dst[c] = T(sum)
}
