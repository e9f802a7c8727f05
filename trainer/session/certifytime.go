package session

import "time"

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
// certifyPasses.
func (a *assembly) certifyTime() (time.Duration, error) {
	x := a.iterate()
	b, err := a.builder.exactBlocks(a.splits[0], x)
	if err != nil {
		return 0, err
	}
	took, block, err := b.TimePass(x)
	if err != nil || block == 0 {
		return 0, err
	}
	rows := 0
	for _, s := range a.splits {
		rows += s.Len()
	}
	return time.Duration(float64(took) * certifyPasses * float64(rows) / float64(block*a.devices.Team.Size())), nil
}
