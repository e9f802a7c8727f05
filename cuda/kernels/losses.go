package kernels

import (
	"fmt"

	"ppal/cuda/driver"
	"ppal/internal/plan"
)

// Phi is a surrogate of the error, a function of the margin.
type Phi uint8

// The surrogates: constraints.Phi.
const (
	PhiSigmoid  Phi = iota // 1/(1+e^y)
	PhiLogistic            // log(1+e^-y)
	PhiHinge               // max(0, 1-y)
)

var phiNames = [...]string{"sigmoid", "logistic", "hinge"}

// PhiOf is the kernels' form of a surrogate, known by its name.
func PhiOf(s plan.Surrogate) (Phi, error) {
	for i, name := range phiNames {
		if s.String() == name {
			return Phi(i), nil
		}
	}
	return 0, fmt.Errorf("kernels: no surrogate %s on the GPU: take one of sigmoid, logistic, hinge", s.String())
}

// LossKind says what a row's loss is made of.
type LossKind uint8

// The kinds.
const (
	Margins LossKind = iota // sum_{j != c} phi(S[i,c] - S[i,j]), c = Labels[i]: plan.MarginLoss
	Signs                   // phi(y S[i,0]), y = Labels[i]: plan.SignedLoss
)

// Loss is the losses of rows by their scores S. Margins, values and derivatives are computed in float64.
type Loss struct {
	Kind   LossKind
	Phi    Phi
	Labels driver.Pointer // of Margins int32, of Signs int8, one for each row
	Scores Operand
}

// add gives a loss's arguments: phi, labels, scores, rows, columns.
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

// name is that of a loss's kernel.
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

// LossValues sets out[i] (rows x 1) to the losses: plan.MarginLoss, plan.SignedLoss.
func (s *Set) LossValues(q Queue, l Loss, out Operand) error {
	if l.Scores.Rows == 0 {
		return nil
	}
	c := l.pass(s, "signed_loss", "margin_loss")
	c.out(s, out)
	return s.launch(q, c)
}

// LossGrad sets out to the derivative of the losses times d[i] (rows x 1): plan.MarginLossGrad, plan.SignedLossGrad. With add it is
// added to what is there.
func (s *Set) LossGrad(q Queue, l Loss, d, out Operand, add bool) error {
	return s.lossGrad(q, l, d, nil, 0, out, add)
}

// LossGradMeans is LossGrad for d = M^T w, which is not written: plan.GroupMeansGrad and the derivative of the losses in one pass. table
// is where the spread's table is.
func (s *Set) LossGradMeans(q Queue, l Loss, w *Spread, table driver.Pointer, out Operand, add bool) error {
	return s.lossGrad(q, l, Operand{}, w, table, out, add)
}

func (s *Set) lossGrad(q Queue, l Loss, d Operand, w *Spread, table driver.Pointer, out Operand, add bool) error {
	if l.Scores.Rows == 0 {
		return nil
	}
	c := l.pass(s, "signed_loss_grad", "margin_loss_grad")
	c.in(s, d)
	w.add(c, s, table)
	c.sum(s, out, add)
	return s.launch(q, c)
}

// rowwise are the blocks of a pass that has a thread for a row.
func rowwise(rows int) (grid, block [3]int) {
	return [3]int{min(ceil(rows, 128), 4096), 1, 1}, [3]int{128, 1, 1}
}
