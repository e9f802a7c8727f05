package cpu

import (
	"fmt"
	"math/rand/v2"
	"time"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// Bare are the two products with the data matrix that an iteration cannot do without, and nothing else:
//
//	Z = X W over all rows, then G = X^T D over all rows
//
// with X of rows x cols and W of cols x width, random numbers all. They run as in training: X is packed beforehand, or read as it is where
// the width is at most eight, W and D are packed by every run, each thread adds up a G of its own over its share of the rows and the sums are added at the end. It is the floor that
// an iteration's time is compared with, in turns, so that both meet the same machine.
type Bare struct {
	run   func()
	flops float64
}

// BareProducts prepares the products of a shape on the device's threads, with its kernels.
func BareProducts[T plan.Float](d *Device, rows, cols, width int) (*Bare, error) {
	if rows < 1 || cols < 1 || width < 1 {
		return nil, fmt.Errorf("cpu: bare products of %d x %d by %d columns, want positive sizes", rows, cols, width)
	}
	k, err := kernel.New[T](d.level)
	if err != nil {
		return nil, err
	}
	b := newBare(k, d.pool, rows, cols, width)
	return &Bare{run: b.run, flops: 4 * float64(rows) * float64(cols) * float64(width)}, nil
}

// Run does both products once and says how long they took.
func (b *Bare) Run() time.Duration {
	start := time.Now()
	b.run()
	return time.Since(start)
}

// FLOPs is the arithmetic of a run: 2 for a multiply-add.
func (b *Bare) FLOPs() float64 { return b.flops }

// bare holds the operands of a type.
type bare[T plan.Float] struct {
	k       *kernel.Kernels[T]
	pool    *pool
	x       kernel.Strided[T]       // as it is: for a narrow W
	packed  *kernel.PackedFloats[T] // else
	width   int
	w       []T
	panels  *kernel.Panels[T]
	z, d    []T   // rows x width
	sums    [][]T // G by thread
	scratch []*kernel.Scratch[T]
}

func newBare[T plan.Float](k *kernel.Kernels[T], p *pool, rows, cols, width int) *bare[T] {
	rng := rand.New(rand.NewPCG(1, 2))
	fill := func(list []T) []T {
		for i := range list {
			list[i] = T(2*rng.Float64() - 1)
		}
		return list
	}
	random := func(n int) []T { return fill(kernel.Alloc[T](n)) }
	b := &bare[T]{k: k, pool: p, x: kernel.Dense[T](nil, rows, cols, cols), width: width, w: random(cols * width),
		z: random(rows * width), d: random(rows * width)}
	for range p.threads {
		b.sums = append(b.sums, kernel.Alloc[T](cols*width))
	}
	if width <= narrowData {
		b.x.Data = random(rows * cols)
		return b
	}
	b.packed, b.panels = k.NewPackedFloats(rows, cols), k.NewPanels(cols, width)
	b.panels.Resize(cols, width)
	row := make([]T, cols)
	for i := range rows {
		b.packed.SetRow(i, fill(row))
	}
	for range p.threads {
		b.scratch = append(b.scratch, k.NewScratch(kernel.RowBlock, width))
	}
	return b
}

// The phases of a run.
type (
	barePack[T plan.Float]    struct{ *bare[T] }
	bareForward[T plan.Float] struct{ *bare[T] }
	bareSums[T plan.Float]    struct{ *bare[T] }
	bareJoin[T plan.Float]    struct{ *bare[T] }
)

func (b *bare[T]) run() {
	for _, j := range []job{barePack[T]{b}, bareForward[T]{b}, bareSums[T]{b}, bareJoin[T]{b}} {
		b.pool.run(b.pool.threads, j)
	}
}

func (b barePack[T]) work(worker int) {
	if b.packed == nil {
		return // W has the columns of a row in each of its rows: nothing to pack
	}
	from, to := share(b.panels.Count(), worker, b.pool.threads)
	b.panels.PackPanels(from, to, b.w, b.width, false)
}

func (b bareForward[T]) work(worker int) {
	b.eachBlock(worker, func(lo, hi int) {
		if b.packed != nil {
			b.k.Mul(b.z[lo*b.width:], b.width, b.packed, lo, hi, b.panels, b.scratch[worker])
			return
		}
		w := kernel.Dense(b.w, b.width, b.x.Cols, b.x.Cols)
		b.k.Dots(kernel.Dense(b.z[lo*b.width:], hi-lo, b.width, b.width), b.rows(lo, hi), w)
	})
}

func (b bareSums[T]) work(worker int) {
	clear(b.sums[worker])
	b.eachBlock(worker, func(lo, hi int) {
		d, g := b.d[lo*b.width:], b.sums[worker]
		if b.packed != nil {
			b.k.AddMulTrans(g, b.width, b.packed, lo, hi, d, b.width, b.width, b.scratch[worker])
			return
		}
		b.k.CombineRows(kernel.Dense(g, b.width, b.x.Cols, b.x.Cols), kernel.Dense(d, hi-lo, b.width, b.width).T(), b.rows(lo, hi), true)
	})
}

// rows are rows lo to hi-1 of X as it is.
func (b *bare[T]) rows(lo, hi int) kernel.Strided[T] {
	return kernel.Dense(b.x.Data[lo*b.x.RowStride:], hi-lo, b.x.Cols, b.x.RowStride)
}

func (b bareJoin[T]) work(worker int) {
	from, to := share(len(b.sums[0]), worker, b.pool.threads)
	for _, g := range b.sums[1:] {
		b.k.Axpy(b.sums[0][from:to], 1, g[from:to])
	}
}

// eachBlock runs do for a worker's range of the blocks of rows.
func (b *bare[T]) eachBlock(worker int, do func(lo, hi int)) {
	from, to := share(blocks(b.x.Rows), worker, b.pool.threads)
	for i := from; i < to; i++ {
		do(i*kernel.RowBlock, min((i+1)*kernel.RowBlock, b.x.Rows))
	}
}
