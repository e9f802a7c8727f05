// Package floor measures the part of an iteration on the CPU that no method can leave out: the two
// products with the data matrix, and nothing else. The time of an iteration is compared with this
// floor, measured in turns with it on the same device, so that both meet the same machine.
package floor

import "time"

// Products are the two products with a data matrix X of n x d that every iteration needs:
//
//	Z = X W over all rows, then G = X^T D over all rows
//
// with W of d x h, Z and D of n x h. They run as in training: X is packed beforehand; each run
// packs or quantizes W and D. Each worker adds up a G of its own over a share of the rows, and the
// sums are added at the end.
type Products struct {
	run   func()
	flops float64
}

// Run computes both products once and returns the time that they took.
func (p *Products) Run() time.Duration {
	start := time.Now()
	p.run()
	return time.Since(start)
}

// FLOPs returns the number of floating-point operations of a run: 2 for a multiply-add.
func (p *Products) FLOPs() float64 { return p.flops }

// denseFLOPs returns the operations of both products with dense data.
func denseFLOPs(rows, cols, width int) float64 {
	return 4 * float64(rows) * float64(cols) * float64(width)
}

// share returns the part of 0 to n-1 that a worker takes.
func share(n, worker, workers int) (from, to int) {
	return n * worker / workers, n * (worker + 1) / workers
}
