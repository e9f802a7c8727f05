package session

import (
	"time"

	"ppal/trainer/problem"
)

// certifyTimer is a Pipeline that can estimate the wall time of Certify before the training. A
// session with a time limit ends the training earlier by that time.
type certifyTimer interface {
	certifyTime() (time.Duration, error)
}

var _ certifyTimer = (*assembly)(nil)

// certifyPasses is the number of forward and backward passes in float64 that Certify takes, for
// each row: the values, the gradients with two multipliers in one pass, and the scores for the
// measures.
const certifyPasses = 3

// certifyTime implements certifyTimer. It times a forward and a backward pass of one block of
// training rows in float64, and multiplies by the number of blocks of all splits and by
// certifyPasses. The first of two passes does not count, because it touches new memory.
func (a *assembly) certifyTime() (time.Duration, error) {
	x := a.iterate()
	b, err := a.builder.exactBlocks(a.data.splits[0], x)
	if err != nil {
		return 0, err
	}
	if b.rows == 0 {
		return 0, nil
	}
	direction := make([]float64, b.rows*b.outputs)
	var took time.Duration
	for range 2 {
		began := time.Now()
		if err := b.pass(x, direction); err != nil {
			return 0, err
		}
		took = time.Since(began)
	}
	rows := 0
	for _, s := range a.data.splits {
		rows += s.len()
	}
	return time.Duration(float64(took) * certifyPasses * float64(rows) / float64(b.rows*a.devices.processes())), nil
}

// pass computes the scores of the first block of own rows and pulls D back: a part of pullBack.
func (b *blocks) pass(x, d []float64) error {
	b.take(b.from)
	if err := b.block.Bind(0, b.picked); err != nil {
		return err
	}
	b.bound = b.from
	b.block.Space().Write(problem.Iterate, x)
	if _, err := b.block.Forward(nil); err != nil {
		return err
	}
	copy(b.direction.Data, d)
	if err := b.block.Bind(1, &b.direction); err != nil {
		return err
	}
	if b.gradient == problem.Iterate {
		b.gradient, b.part = b.block.Space().New(), make([]float64, len(x))
	}
	return b.block.Backward([]float64{1}, b.gradient)
}
