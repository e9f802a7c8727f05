package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// sumBlock is the number of elements of a sum of vectors that a thread accumulates at a time: few
// enough that the float64 accumulators stay in the level-1 cache.
const sumBlock = 1024

// list is a pass over a list of vectors: their dot products with few vectors, or their sum. Each
// thread takes a range of chunks.
type list[T plan.Float] struct {
	k       *kernel.Kernels[T]
	workers int

	xs           [][]T // the factors of the dot products, or the vector that the sum is written to
	vectors      [][]T
	coefficients []float64 // of the sum; nil for dot products

	sum  [1][]T      // the xs of a sum
	dots []float64   // of the chunks: len(xs) len(vectors) for each chunk
	sums [][]float64 // the accumulators of each worker
}

// Dots implements problem.Passes. Each result has the bits of Dot. A chunk of the ys stays in the
// level-1 cache for all xs.
func (v *passes[T]) Dots(dst []float64, xs, ys [][]T) {
	clear(dst)
	if len(dst) == 0 {
		return
	}
	l, chunks := &v.list, chunksOf(len(xs[0]))
	if need := chunks * len(dst); len(l.dots) < need {
		l.dots = make([]float64, need)
	}
	v.over(xs, ys, nil)
	for c := range chunks {
		for i, dot := range l.dots[c*len(dst) : (c+1)*len(dst)] {
			dst[i] += dot
		}
	}
}

// Sum implements problem.Passes.
func (v *passes[T]) Sum(dst []T, coefficients []float64, xs [][]T) {
	if len(xs) == 0 {
		clear(dst)
		return
	}
	v.list.sum[0] = dst
	v.over(v.list.sum[:], xs, coefficients)
}

// over runs the pass over a list.
func (v *passes[T]) over(xs, vectors [][]T, coefficients []float64) {
	l, chunks := &v.list, chunksOf(len(xs[0]))
	l.xs, l.vectors, l.coefficients = xs, vectors, coefficients
	l.workers = max(1, min(v.threads, chunks, chunks*len(vectors)/chunksPerThread))
	for coefficients != nil && len(l.sums) < l.workers {
		l.sums = append(l.sums, make([]float64, sumBlock))
	}
	v.pool.run(l.workers, l)
	l.xs, l.sum[0], l.vectors, l.coefficients = nil, nil, nil, nil // lets the garbage collector free the vectors
}

// work implements job.
func (l *list[T]) work(worker int) {
	n, count := len(l.xs[0]), len(l.vectors)
	chunks := chunksOf(n)
	for c := chunks * worker / l.workers; c < chunks*(worker+1)/l.workers; c++ {
		lo, hi := c*vectorChunk, min((c+1)*vectorChunk, n)
		if l.coefficients == nil {
			for j, y := range l.vectors {
				for i, x := range l.xs {
					l.dots[(c*len(l.xs)+i)*count+j] = l.k.Dot(x[lo:hi], y[lo:hi])
				}
			}
			continue
		}
		for ; lo < hi; lo += sumBlock {
			l.add(l.sums[worker], lo, min(lo+sumBlock, hi))
		}
	}
}

// add writes the elements lo to hi-1 of the sum.
func (l *list[T]) add(sums []float64, lo, hi int) {
	sums = sums[:hi-lo]
	clear(sums)
	for i, y := range l.vectors {
		l.k.Accumulate(sums, l.coefficients[i], y[lo:hi])
	}
	l.k.Round(l.xs[0][lo:hi], sums)
}

// chunksOf returns the number of chunks of n elements.
func chunksOf(n int) int { return (n + vectorChunk - 1) / vectorChunk }
