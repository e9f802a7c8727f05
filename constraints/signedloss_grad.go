package constraints

import (
	"fmt"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

var _ gorgonia.SDOp = (*SignedLossGrad)(nil)

// SignedLossGrad is the derivative of SignedLoss: (s, dl [n]) -> ds, with the shape of s,
//
//	ds_i = dl_i y_i phi'(y_i s_i).
//
// The op cannot be differentiated again: see ErrSecondDerivative.
type SignedLossGrad struct {
	pureOp
	loss *SignedLoss
}

func newSignedLossGrad(loss *SignedLoss) *SignedLossGrad {
	return &SignedLossGrad{pureOp{kind: "SignedLossGrad", arity: 2, digest: loss.digest}, loss}
}

// Loss returns the op whose derivative this op is.
func (op *SignedLossGrad) Loss() *SignedLoss { return op.loss }

// Type is s -> Vector a -> s, with s a Matrix a or a Vector a.
func (op *SignedLossGrad) Type() hm.Type {
	return hm.NewFnType(tensorOf(op.loss.dims), tensorOf(1), tensorOf(op.loss.dims))
}

// InferShape returns the scores' shape for inputs with the scores' shape and [n].
func (op *SignedLossGrad) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	s := op.loss.scoresShape()
	return inferShape(op, s, in, s, s[:1])
}

// Do returns ds for the values of s and dl.
func (op *SignedLossGrad) Do(values ...gorgonia.Value) (gorgonia.Value, error) {
	n := op.loss.Rows()
	in, err := inputs(op, values, n, n)
	if err != nil {
		return nil, err
	}
	switch s := in[0].(type) {
	case []float64:
		if dl, ok := in[1].([]float64); ok {
			return newTensor(signedLossGrads(op.loss, s, dl), op.loss.scoresShape()...), nil
		}
	case []float32:
		if dl, ok := in[1].([]float32); ok {
			return newTensor(signedLossGrads(op.loss, s, dl), op.loss.scoresShape()...), nil
		}
	}
	return nil, fmt.Errorf("constraints: %v: inputs have different element types %T and %T", op, in[0], in[1])
}

// DiffWRT reports both inputs as differentiable, so that Gorgonia calls SymDiff, which refuses.
func (op *SignedLossGrad) DiffWRT(int) []bool { return []bool{true, true} }

// SymDiff returns ErrSecondDerivative.
func (op *SignedLossGrad) SymDiff(gorgonia.Nodes, *gorgonia.Node, *gorgonia.Node) (gorgonia.Nodes, error) {
	return nil, fmt.Errorf("%w: %v", ErrSecondDerivative, op)
}

// String returns the op's surrogate and number of rows.
func (op *SignedLossGrad) String() string {
	return fmt.Sprintf("SignedLossGrad{%v, %d}", op.loss.phi, op.loss.Rows())
}

func signedLossGrads[T float](op *SignedLoss, scores, dl []T) []T {
	out := make([]T, len(scores))
	for i, y := range op.labels {
		out[i] = T(float64(dl[i]) * float64(y) * op.phi.Deriv(float64(y)*float64(scores[i])))
	}
	return out
}
