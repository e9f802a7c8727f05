package constraints

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph/describe"
)

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
