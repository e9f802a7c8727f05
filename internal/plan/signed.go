package plan

import (
	"fmt"

	"ppal/trainer/graph/describe"
)

// SignedLoss is Out[i] = phi(y S[i]), y = Labels[i] = -1 or +1, in float64.
type SignedLoss struct {
	nodes
	describe.Signs
	S, Out View
}

// SignedLossGrad is the derivative of SignedLoss times D[i]. Add adds the result to Out.
//
//	Out[i] = D[i] y phi'(y S[i]) (+ Out[i])
type SignedLossGrad struct {
	nodes
	describe.Signs
	S, D, Out View
	Add       bool
}

// Reads implements Step.
func (s *SignedLoss) Reads() []Operand { return []Operand{{s.S, ByRow}} }

// Writes implements Step.
func (s *SignedLoss) Writes() []Operand { return []Operand{{s.Out, ByRow}} }

// FLOPs implements Step.
func (s *SignedLoss) FLOPs() int64 { return 2 * int64(s.S.Len()) }

// Reads implements Step.
func (s *SignedLossGrad) Reads() []Operand {
	r := []Operand{{s.S, ByRow}, {s.D, ByRow}}
	if s.Add {
		r = append(r, s.Writes()...)
	}
	return r
}

// Writes implements Step.
func (s *SignedLossGrad) Writes() []Operand { return []Operand{{s.Out, ByRow}} }

// FLOPs implements Step.
func (s *SignedLossGrad) FLOPs() int64 { return 3 * int64(s.S.Len()) }

func (s *SignedLoss) String() string {
	return assign(s.Out, fmt.Sprintf("signedloss %v(%s)", s.Phi, operand(s.S)), false)
}

func (s *SignedLossGrad) String() string {
	return assign(s.Out, fmt.Sprintf("signedloss' %v(%s, %s)", s.Phi, operand(s.S), operand(s.D)), s.Add)
}

func signedLosses[T Float](s *SignedLoss, m *Memory[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		y := float64(s.Labels[i])
		m.Row(s.Out, i)[0] = T(s.Phi.Value(y * float64(m.Row(s.S, i)[0])))
	}
}

func signedLossGrads[T Float](s *SignedLossGrad, m *Memory[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		out, y := m.Row(s.Out, i), float64(s.Labels[i])
		d := float64(m.Row(s.D, i)[0]) * y * s.Phi.Deriv(y*float64(m.Row(s.S, i)[0]))
		if s.Add {
			d += float64(out[0])
		}
		out[0] = T(d)
	}
}
