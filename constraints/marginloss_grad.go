package constraints

import (
	"fmt"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

var _ gorgonia.SDOp = (*MarginLossGrad)(nil)

// MarginLossGrad is the derivative of MarginLoss: (S [n, C], dl [n]) -> dS [n, C],
//
//	dS[i,j]   = -dl_i phi'(S[i,c_i] - S[i,j])    j != c_i
//	dS[i,c_i] =  dl_i sum_{j != c_i} phi'(S[i,c_i] - S[i,j]).
//
// Every row of dS sums to zero up to rounding. The op cannot be differentiated again: see
// ErrSecondDerivative.
type MarginLossGrad struct {
	pureOp
	loss *MarginLoss
}

func newMarginLossGrad(loss *MarginLoss) *MarginLossGrad {
	return &MarginLossGrad{pureOp{kind: "MarginLossGrad", arity: 2, digest: loss.digest}, loss}
}

// Loss returns the op whose derivative this op is.
func (op *MarginLossGrad) Loss() *MarginLoss { return op.loss }

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
	in, err := inputs(op, values, n*c, n)
	if err != nil {
		return nil, err
	}
	switch s := in[0].(type) {
	case []float64:
		if dl, ok := in[1].([]float64); ok {
			return newTensor(marginLossGrads(op.loss, s, dl), n, c), nil
		}
	case []float32:
		if dl, ok := in[1].([]float32); ok {
			return newTensor(marginLossGrads(op.loss, s, dl), n, c), nil
		}
	}
	return nil, fmt.Errorf("constraints: %v: inputs have different element types %T and %T", op, in[0], in[1])
}

// DiffWRT reports both inputs as differentiable, so that Gorgonia calls SymDiff, which refuses.
func (op *MarginLossGrad) DiffWRT(int) []bool { return []bool{true, true} }

// SymDiff returns ErrSecondDerivative.
func (op *MarginLossGrad) SymDiff(gorgonia.Nodes, *gorgonia.Node, *gorgonia.Node) (gorgonia.Nodes, error) {
	return nil, fmt.Errorf("%w: %v", ErrSecondDerivative, op)
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
