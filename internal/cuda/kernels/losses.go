package kernels

import (
	"fmt"

	"ppal/internal/cuda/driver"
	"ppal/trainer/graph/describe"
)

// Phi is a surrogate of the 0-1 loss, a function of the margin.
type Phi uint8

// The surrogates: constraints.Phi.
const (
	PhiSigmoid  Phi = iota // 1/(1+e^y)
	PhiLogistic            // log(1+e^-y)
	PhiHinge               // max(0, 1-y)
)

var phiNames = [...]string{"sigmoid", "logistic", "hinge"}

// PhiOf returns the Phi of a plan's surrogate.
func PhiOf(s describe.Surrogate) (Phi, error) {
	for i, name := range phiNames {
		if s.String() == name {
			return Phi(i), nil
		}
	}
	return 0, fmt.Errorf("kernels: the GPU does not support the surrogate %s (supported: sigmoid, logistic, hinge)", s.String())
}

// LossKind is the formula of a row's loss.
type LossKind uint8

// The kinds.
const (
	Margins LossKind = iota // sum_{j != c} phi(S[i,c] - S[i,j]), c = Labels[i]: plan.MarginLoss
	Signs                   // phi(y S[i,0]), y = Labels[i]: plan.SignedLoss
)

// Loss describes the losses of rows with scores S. Margins, values and derivatives are computed in
// float64.
type Loss struct {
	Kind   LossKind
	Phi    Phi
	Labels driver.Pointer // one for each row: int32 for Margins, int8 for Signs
	Scores Operand
}

// add adds the arguments: phi, labels, scores, rows, columns.
func (l Loss) add(c *call, s *Set) {
	c.ints(int(l.Phi))
	size := 4
	if l.Kind == Signs {
		size = 1
	}
	c.reading(l.Labels, size*l.Scores.Rows)
	c.in(s, l.Scores)
	c.ints(l.Scores.Rows, l.Scores.Cols)
}

// name returns the kernel for the kind of loss.
func (l Loss) name(signed, margins string) string {
	if l.Kind == Signs {
		return signed
	}
	return margins
}

// pass begins a launch over the rows.
func (l Loss) pass(s *Set, signed, margins string) *call {
	c := &call{name: l.name(signed, margins)}
	c.grid, c.block = rowwise(l.Scores.Rows)
	l.add(c, s)
	return c
}

// LossValues sets out (rows x 1) to the losses: plan.MarginLoss, plan.SignedLoss.
func (s *Set) LossValues(q Queue, l Loss, out Operand) error {
	if l.Scores.Rows == 0 {
		return nil
	}
	c := l.pass(s, "signed_loss", "margin_loss")
	c.out(s, out)
	return s.launch(q, c)
}

// LossGrad sets out to the derivative of the losses times d (rows x 1): plan.MarginLossGrad,
// plan.SignedLossGrad. add accumulates into out.
func (s *Set) LossGrad(q Queue, l Loss, d, out Operand, add bool) error {
	return s.lossGrad(q, l, d, nil, 0, out, add)
}

// LossGradMeans is LossGrad for d = M^T w, without writing d: plan.GroupMeansGrad fused with the
// derivative of the losses. table is the address of w's table.
func (s *Set) LossGradMeans(q Queue, l Loss, w *MeansGrad, table driver.Pointer, out Operand, add bool) error {
	return s.lossGrad(q, l, Operand{}, w, table, out, add)
}

func (s *Set) lossGrad(q Queue, l Loss, d Operand, w *MeansGrad, table driver.Pointer, out Operand, add bool) error {
	if l.Scores.Rows == 0 {
		return nil
	}
	c := l.pass(s, "signed_loss_grad", "margin_loss_grad")
	c.in(s, d)
	w.add(c, s, table)
	c.sum(s, out, add)
	return s.launch(q, c)
}

// rowwise returns the blocks of a pass with a thread for each row.
func rowwise(rows int) (grid, block [3]int) {
	return [3]int{min(ceil(rows, 128), 4096), 1, 1}, [3]int{128, 1, 1}
}
