package bench

import (
	"math/rand/v2"
	"sync"
	"time"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// densePass is what a linear model's iteration costs where sparse rows are stored with their zeros: both products by vector kernels on
// all threads, z = X w as a dot product for each row, then g = X^T d as a sum of the rows.
type densePass[T plan.Float] struct {
	k    *kernel.Kernels[T]
	cols int
	x    []T // row by row
	w, d []T
	z    []T
	sums [][]T // g by thread
}

// newDensePass is the pass as a reference.
func newDensePass[T plan.Float](s setting, rows, cols int) (reference, error) {
	p, err := densePassOf[T](s, rows, cols)
	if err != nil {
		return reference{}, err
	}
	return reference{name: "a dense pass over the same rows in " + s.Dtype, run: p.run}, nil
}

// densePassOf prepares the pass over random numbers.
func densePassOf[T plan.Float](s setting, rows, cols int) (*densePass[T], error) {
	k, err := kernel.New[T](s.device.Level())
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(4, tableSeed))
	random := func(n int) []T {
		list := kernel.Alloc[T](n)
		for i := range list {
			list[i] = T(rng.Float64())
		}
		return list
	}
	p := &densePass[T]{k: k, cols: cols, x: random(rows * cols), w: random(cols), d: random(rows), z: make([]T, rows)}
	for range s.device.Threads() {
		p.sums = append(p.sums, kernel.Alloc[T](cols))
	}
	return p, nil
}

func (p *densePass[T]) run() (time.Duration, error) {
	began := time.Now()
	p.share(func(_, i int, row []T) { p.z[i] = T(p.k.Dot(row, p.w)) })
	for _, g := range p.sums {
		clear(g)
	}
	p.share(func(t, i int, row []T) { p.k.Axpy(p.sums[t], p.d[i], row) })
	for _, g := range p.sums[1:] {
		p.k.Axpy(p.sums[0], 1, g)
	}
	return time.Since(began), nil
}

// share visits the rows, a range of them on each thread.
func (p *densePass[T]) share(visit func(t, i int, row []T)) {
	threads := len(p.sums)
	var group sync.WaitGroup
	for t := range threads {
		group.Go(func() {
			for i := len(p.z) * t / threads; i < len(p.z)*(t+1)/threads; i++ {
				visit(t, i, p.x[i*p.cols:(i+1)*p.cols])
			}
		})
	}
	group.Wait()
}
