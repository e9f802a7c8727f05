package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// sumBlock is the number of elements of a sum of vectors that a thread accumulates at a time: few
// enough that the float64 accumulators stay in the level-1 cache.
const sumBlock = 1024

// list is a pass over a vector and a list of vectors: the dot products of x with the vectors, or
// the sum of the vectors. Each thread takes a range of chunks.
type list[T plan.Float] struct {
	k       *kernel.Kernels[T]
	workers int

	x            []T // the factor of the dot products, or the vector that the sum is written to
	vectors      [][]T
	coefficients []float64 // of the sum; nil for dot products

	dots []float64   // of the chunks: len(vectors) for each chunk
	sums [][]float64 // the accumulators of each worker
}

// Dots implements problem.Passes. dst[i] has the bits of Dot(x, ys[i]).
func (v *passes[T]) Dots(dst []float64, x []T, ys [][]T) {
	l, chunks := &v.list, chunksOf(len(x))
	if need := chunks * len(ys); len(l.dots) < need {
		l.dots = make([]float64, need)
	}
	v.over(x, ys, nil)
	clear(dst)
	for c := range chunks {
		for i, dot := range l.dots[c*len(ys) : (c+1)*len(ys)] {
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
	v.over(dst, xs, coefficients)
}

// over runs the pass over a list.
func (v *passes[T]) over(x []T, vectors [][]T, coefficients []float64) {
	l, chunks := &v.list, chunksOf(len(x))
	l.x, l.vectors, l.coefficients = x, vectors, coefficients
	l.workers = max(1, min(v.threads, chunks, chunks*len(vectors)/chunksPerThread))
	for coefficients != nil && len(l.sums) < l.workers {
		l.sums = append(l.sums, make([]float64, sumBlock))
	}
	v.pool.run(l.workers, l)
	l.x, l.vectors, l.coefficients = nil, nil, nil // lets the garbage collector free the vectors
}

// work implements job.
func (l *list[T]) work(worker int) {
	n := len(l.x)
	chunks := chunksOf(n)
	for c := chunks * worker / l.workers; c < chunks*(worker+1)/l.workers; c++ {
		lo, hi := c*vectorChunk, min((c+1)*vectorChunk, n)
		if l.coefficients == nil {
			for i, y := range l.vectors {
				l.dots[c*len(l.vectors)+i] = l.k.Dot(l.x[lo:hi], y[lo:hi])
			}
			continue
		}
		for ; lo < hi; lo += sumBlock {
			l.sum(l.sums[worker], lo, min(lo+sumBlock, hi))
		}
	}
}

// sum writes the elements lo to hi-1 of the sum.
func (l *list[T]) sum(sums []float64, lo, hi int) {
	sums = sums[:hi-lo]
	clear(sums)
	for i, y := range l.vectors {
		l.k.Accumulate(sums, l.coefficients[i], y[lo:hi])
	}
	l.k.Round(l.x[lo:hi], sums)
}

// chunksOf returns the number of chunks of n elements.
func chunksOf(n int) int { return (n + vectorChunk - 1) / vectorChunk }
