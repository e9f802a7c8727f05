package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/trainer/problem"
)

const (
	// vectorChunk is the number of elements of one kernel call: few enough that all operands stay in
	// the level-1 or level-2 cache and that many cores share a vector evenly, and enough that the call
	// costs little. Each chunk has sums of its own.
	vectorChunk = 4096
	// chunksPerThread is the number of chunks for which an additional thread pays: about 5
	// microseconds of work.
	chunksPerThread = 4
)

// passes are the device's passes over vectors, one pass at a time. Each thread takes a range of
// chunks. The chunks' sums are added in their order, so that results do not depend on the number of
// threads or their speed.
type passes[T plan.Float] struct {
	k       *kernel.Kernels[T]
	device  *Device
	pool    *pool
	threads int

	pass    pass[T] // the current pass
	workers int
	sums    [][2]float64 // of the chunks
	list    list[T]
}

// Zeros implements problem.Memory.
func (p *passes[T]) Zeros(n int) []T { return anyMemory[T](p.device, n) }

// newPasses panics if the machine does not support the device's kernels. New has checked this.
func newPasses[T plan.Float](d *Device) *passes[T] {
	k, err := kernel.New[T](d.level)
	if err != nil {
		panic(err)
	}
	return &passes[T]{k: k, device: d, pool: d.pool, threads: d.threads, list: list[T]{k: k}}
}

// operation names a pass.
type operation int

const (
	combining operation = iota // x = a y + b z
	scaling                    // x = a y
	multiplying
	subtracting
	reaching
	descending
	adapting
)

// pass is an operation with its operands, vectors and numbers. Operands that the operation does not
// use are nil or 0. A pass is a struct and not a closure, so that it allocates nothing.
type pass[T plan.Float] struct {
	operation  operation
	x, y, z, w []T
	a, b       T
	p          problem.Elementwise[T]
}

// Combine implements problem.Passes.
func (v *passes[T]) Combine(dst []T, a T, x []T, b T, y []T) {
	if b == 0 {
		v.do(pass[T]{operation: scaling, x: dst, a: a, y: x})
		return
	}
	v.do(pass[T]{operation: combining, x: dst, a: a, y: x, b: b, z: y})
}

// Dot implements problem.Passes.
func (v *passes[T]) Dot(x, y []T) float64 {
	sum, _ := v.do(pass[T]{operation: multiplying, x: x, y: y})
	return sum
}

// SquaredDistance implements problem.Passes.
func (v *passes[T]) SquaredDistance(x, y []T) float64 {
	sum, _ := v.do(pass[T]{operation: subtracting, x: x, y: y})
	return sum
}

// SquaredTrial implements problem.Passes.
func (v *passes[T]) SquaredTrial(x, d, velocity []T, e, b T) float64 {
	sum, _ := v.do(pass[T]{operation: reaching, x: x, y: d, z: velocity, a: e, b: b})
	return sum
}

// Descend implements problem.Passes.
func (v *passes[T]) Descend(x, d, velocity []T, e, b T, p problem.Elementwise[T]) (moved, size float64) {
	return v.do(pass[T]{operation: descending, x: x, y: d, z: velocity, a: e, b: b, p: p})
}

// Adam implements problem.Passes.
func (v *passes[T]) Adam(x, d, m1, m2 []T, rate, root T, p problem.Elementwise[T]) (size float64) {
	size, _ = v.do(pass[T]{operation: adapting, x: x, y: d, z: m1, w: m2, a: rate, b: root, p: p})
	return size
}

// do runs a pass and returns its sums.
func (v *passes[T]) do(p pass[T]) (first, second float64) {
	chunks := chunksOf(len(p.x))
	if chunks <= 1 {
		return p.on(v.k, 0, len(p.x))
	}
	if len(v.sums) < chunks {
		v.sums = make([][2]float64, chunks)
	}
	v.pass, v.workers = p, max(1, min(v.threads, chunks/chunksPerThread))
	v.pool.run(v.workers, v)
	v.pass = pass[T]{} // lets the garbage collector free the vectors
	for _, s := range v.sums[:chunks] {
		first += s[0]
		second += s[1]
	}
	return first, second
}

// work implements job.
func (v *passes[T]) work(worker int) {
	n := len(v.pass.x)
	chunks := chunksOf(n)
	for c := chunks * worker / v.workers; c < chunks*(worker+1)/v.workers; c++ {
		v.sums[c][0], v.sums[c][1] = v.pass.on(v.k, c*vectorChunk, min((c+1)*vectorChunk, n))
	}
}

// on runs the pass on elements lo to hi-1.
func (p *pass[T]) on(k *kernel.Kernels[T], lo, hi int) (first, second float64) {
	x, y := p.x[lo:hi], p.y[lo:hi]
	var z []T
	if p.z != nil {
		z = p.z[lo:hi]
	}
	switch p.operation {
	case combining:
		k.Combine(x, p.a, y, p.b, z)
	case scaling:
		k.Scale(x, p.a, y)
	case multiplying:
		first = k.Dot(x, y)
	case subtracting:
		first = k.SquaredDistance(x, y)
	case reaching:
		first = k.SquaredTrialNorm(x, y, z, p.a, p.b)
	case descending:
		first, second = k.Descend(x, y, z, p.a, p.b, p.p)
	case adapting:
		first = k.Adam(x, y, z, p.w[lo:hi], p.a, p.b, p.p)
	}
	return first, second
}

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
