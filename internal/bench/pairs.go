package bench

import (
	"time"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// Pairs are the passes that an iteration on pairs of documents needs beside the products: the sums
// of the shares of all pairs, and their derivatives. Each query has the same number of relevant and
// of other documents, half of them in either group.
type Pairs[T plan.Float] struct {
	k                         *kernel.Kernels[T]
	device                    *cpu.Device
	queries, relevant, others int
	e, d                      []T
}

// NewPairs prepares the passes on the device's workers.
func NewPairs[T plan.Float](d *cpu.Device, queries, relevant, others int) (*Pairs[T], error) {
	k, err := kernel.New[T](d.Level())
	if err != nil {
		return nil, err
	}
	n := queries * (relevant + others)
	p := &Pairs[T]{k, d, queries, relevant, others, kernel.Alloc[T](n), kernel.Alloc[T](n)}
	for i := range p.e {
		p.e[i] = 1 + T(i%97)/97
	}
	return p, nil
}

// Run takes both passes once and returns the elapsed time.
func (p *Pairs[T]) Run() time.Duration {
	start := time.Now()
	p.device.Parallel(func(worker int) {
		from, to := share(p.queries, worker, p.device.Threads())
		size := p.relevant + p.others
		for q := from; q < to; q++ {
			e, d := p.e[q*size:][:size], p.d[q*size:][:size]
			clear(d)
			ends := [5]int{0, p.relevant / 2, p.relevant, p.relevant + p.others/2, size}
			for pass := range 2 {
				for k := range 4 {
					from, to := ends[k/2], ends[k/2+1]
					low, high := ends[2+k%2], ends[3+k%2]
					if pass == 0 {
						p.k.PairShares(e[from:to], e[low:high])
					} else {
						p.k.AddPairSlopes(e[from:to], d[from:to], e[low:high], d[low:high], 1)
					}
				}
			}
		}
	})
	return time.Since(start)
}
