package bench

import "time"

// Products are the two products with a data matrix X of n x d that every iteration needs:
//
//	Z = X W over all rows, then G = X^T D over all rows
//
// with W of d x h, Z and D of n x h. They run as in training: X is packed beforehand; each run
// packs or quantizes W and D. Each worker adds up a separate G over its share of the rows, and the
// run adds these sums at the end.
type Products struct {
	run   func()
	flops float64
}

// Run computes both products once and returns the elapsed time.
func (p *Products) Run() time.Duration {
	start := time.Now()
	p.run()
	return time.Since(start)
}

// FLOPs returns the number of floating-point operations of a run. A multiply-add counts as 2.
func (p *Products) FLOPs() float64 { return p.flops }

// denseFLOPs returns the number of operations of both products with dense data.
func denseFLOPs(rows, cols, width int) float64 {
	return 4 * float64(rows) * float64(cols) * float64(width)
}

// share returns the part of 0..n-1 that a worker computes.
func share(n, worker, workers int) (from, to int) {
	return n * worker / workers, n * (worker + 1) / workers
}
