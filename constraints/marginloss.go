package constraints

import (
	"fmt"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

var _ gorgonia.SDOp = (*MarginLoss)(nil)

// MarginLoss is the op S [n, C] -> l [n],
//
//	l_i = sum_{j != c_i} phi(S[i,c_i] - S[i,j]),
//
// with c_i the class of row i: the loss inside the sums of the paper's multi-class Neyman-Pearson
// problem. Margins and sums are computed in float64, whatever the type of S. Two equal scores have
// margin 0, even if both scores are infinite, so infinite scores give phi's limits and never NaN. A
// NaN score gives NaN.
type MarginLoss struct {
	pureOp
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
	digest := digestLater(func(d digester) {
		d.ints(classes)
		d.text(string(phi))
		d.int32s(own)
	})
	return &MarginLoss{
		pureOp:  pureOp{kind: "MarginLoss", arity: 1, digest: digest},
		labels:  own,
		classes: classes,
		phi:     phi,
	}, nil
}

// Apply adds the losses' node [n] to the graph of the scores [n, C].
func (op *MarginLoss) Apply(scores *gorgonia.Node) (*gorgonia.Node, error) {
	return apply(op, scores)
}

// Rows returns n, the number of rows.
func (op *MarginLoss) Rows() int { return len(op.labels) }

// Type is Matrix a -> Vector a.
func (op *MarginLoss) Type() hm.Type { return hm.NewFnType(tensorOf(2), tensorOf(1)) }

// InferShape returns [n] for an input [n, C].
func (op *MarginLoss) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	n := op.Rows()
	return inferShape(op, tensor.Shape{n}, in, tensor.Shape{n, op.classes})
}

// Do returns the losses of the scores.
func (op *MarginLoss) Do(values ...gorgonia.Value) (gorgonia.Value, error) {
	in, err := inputs(op, values, op.Rows()*op.classes)
	if err != nil {
		return nil, err
	}
	switch s := in[0].(type) {
	case []float64:
		return newTensor(marginLosses(op, s), op.Rows()), nil
	case []float32:
		return newTensor(marginLosses(op, s), op.Rows()), nil
	}
	panic("unreachable")
}

// DiffWRT reports that the op is differentiable with respect to the scores.
func (op *MarginLoss) DiffWRT(int) []bool { return []bool{true} }

// SymDiff returns the node dS [n, C] for grad = dl [n].
func (op *MarginLoss) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	if len(in) != 1 {
		return nil, fmt.Errorf("constraints: %v takes 1 input, got %d", op, len(in))
	}
	d, err := apply(newMarginLossGrad(op), in[0], grad)
	if err != nil {
		return nil, err
	}
	return gorgonia.Nodes{d}, nil
}

// String returns the op's surrogate and shape.
func (op *MarginLoss) String() string {
	return fmt.Sprintf("MarginLoss{%v, %dx%d}", op.phi, op.Rows(), op.classes)
}

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

var _ gorgonia.SDOp = (*MarginLossGrad)(nil)

// MarginLossGrad is the derivative of MarginLoss: (S [n, C], dl [n]) -> dS [n, C],
//
//	dS[i,j]   = -dl_i phi'(S[i,c_i] - S[i,j])    j != c_i
//	dS[i,c_i] =  dl_i sum_{j != c_i} phi'(S[i,c_i] - S[i,j]).
//
// Every row of dS sums to zero up to rounding. The op cannot be differentiated again: see
// ErrSecondDerivative.
type MarginLossGrad struct {
	derivative
	loss *MarginLoss
}

func newMarginLossGrad(loss *MarginLoss) *MarginLossGrad {
	return &MarginLossGrad{derivative{pureOp{kind: "MarginLossGrad", arity: 2, digest: loss.digest}}, loss}
}

// Type is Matrix a -> Vector a -> Matrix a.
func (op *MarginLossGrad) Type() hm.Type {
	return hm.NewFnType(tensorOf(2), tensorOf(1), tensorOf(2))
}

// InferShape returns [n, C] for inputs [n, C] and [n].
func (op *MarginLossGrad) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	s := tensor.Shape{op.loss.Rows(), op.loss.classes}
	return inferShape(op, s, in, s, s[:1])
}

// Do returns dS for the values of S and dl.
func (op *MarginLossGrad) Do(values ...gorgonia.Value) (gorgonia.Value, error) {
	n, c := op.loss.Rows(), op.loss.classes
	return pullBack(op, values, [2]int{n * c, n}, tensor.Shape{n, c},
		func(s, w []float64) []float64 { return marginLossGrads(op.loss, s, w) },
		func(s, w []float32) []float32 { return marginLossGrads(op.loss, s, w) })
}

// String returns the op's surrogate and shape.
func (op *MarginLossGrad) String() string {
	return fmt.Sprintf("MarginLossGrad{%v, %dx%d}", op.loss.phi, op.loss.Rows(), op.loss.classes)
}

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
