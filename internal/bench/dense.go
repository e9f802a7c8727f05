package bench

import (
	"fmt"
	"math/rand/v2"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// Dense prepares the products with a dense matrix of random numbers, on the device's workers and
// with the device's kernels. If W has at most cpu.NarrowWidth columns, the products read X without
// packing, as the device's products do.
func Dense[T plan.Float](d *cpu.Device, rows, cols, width int) (*Products, error) {
	if rows < 1 || cols < 1 || width < 1 {
		return nil, fmt.Errorf("floor: products of %d x %d by %d columns, want positive sizes", rows, cols, width)
	}
	k, err := kernel.New[T](d.Level())
	if err != nil {
		return nil, err
	}
	return &Products{newDense(k, d, rows, cols, width).run, denseFLOPs(rows, cols, width)}, nil
}

// dense holds the operands.
type dense[T plan.Float] struct {
	k       *kernel.Kernels[T]
	device  *cpu.Device
	x       kernel.Strided[T]       // X without packing, for a narrow W
	packed  *kernel.PackedFloats[T] // X packed, for a wide W
	width   int
	w       []T
	panels  *kernel.Panels[T]
	z, d    []T   // rows x width
	sums    [][]T // G by worker
	scratch []*kernel.Scratch[T]
}

func newDense[T plan.Float](k *kernel.Kernels[T], device *cpu.Device, rows, cols, width int) *dense[T] {
	rng := rand.New(rand.NewPCG(1, 2))
	fill := func(list []T) []T {
		for i := range list {
			list[i] = T(2*rng.Float64() - 1)
		}
		return list
	}
	random := func(n int) []T { return fill(kernel.Alloc[T](n)) }
	p := &dense[T]{k: k, device: device, x: kernel.Dense[T](nil, rows, cols, cols), width: width,
		w: random(cols * width), z: random(rows * width), d: random(rows * width)}
	for range device.Threads() {
		p.sums = append(p.sums, kernel.Alloc[T](cols*width))
	}
	if width <= cpu.NarrowWidth {
		p.x.Data = random(rows * cols)
		return p
	}
	p.packed, p.panels = k.NewPackedFloats(rows, cols), k.NewPanels(cols, width)
	p.panels.Resize(cols, width)
	row := make([]T, cols)
	for i := range rows {
		p.packed.SetRow(i, fill(row))
	}
	for range device.Threads() {
		p.scratch = append(p.scratch, k.NewScratch(kernel.RowBlock, width))
	}
	return p
}

func (p *dense[T]) run() {
	for _, phase := range []func(worker int){p.pack, p.forward, p.backward, p.join} {
		p.device.Parallel(phase)
	}
}

// pack packs a worker's share of W. A narrow W is stored transposed and needs no packing.
func (p *dense[T]) pack(worker int) {
	if p.packed == nil {
		return
	}
	from, to := share(p.panels.Count(), worker, p.device.Threads())
	p.panels.PackPanels(from, to, p.w, p.width, false)
}

// forward computes a worker's rows of Z.
func (p *dense[T]) forward(worker int) {
	p.eachBlock(worker, func(lo, hi int) {
		if p.packed != nil {
			p.k.Mul(p.z[lo*p.width:], p.width, p.packed, lo, hi, p.panels, p.scratch[worker])
			return
		}
		w := kernel.Dense(p.w, p.width, p.x.Cols, p.x.Cols)
		p.k.Dots(kernel.Dense(p.z[lo*p.width:], hi-lo, p.width, p.width), p.rows(lo, hi), w)
	})
}

// backward computes a worker's part of G.
func (p *dense[T]) backward(worker int) {
	clear(p.sums[worker])
	p.eachBlock(worker, func(lo, hi int) {
		d, g := p.d[lo*p.width:], p.sums[worker]
		if p.packed != nil {
			p.k.AddMulTrans(g, p.width, p.packed, lo, hi, d, p.width, p.width, p.scratch[worker])
			return
		}
		transposed := kernel.Dense(d, hi-lo, p.width, p.width).T()
		p.k.CombineRows(kernel.Dense(g, p.width, p.x.Cols, p.x.Cols), transposed, p.rows(lo, hi), true)
	})
}

// rows returns rows lo to hi-1 of X without packing.
func (p *dense[T]) rows(lo, hi int) kernel.Strided[T] {
	return kernel.Dense(p.x.Data[lo*p.x.RowStride:], hi-lo, p.x.Cols, p.x.RowStride)
}

// join adds a worker's share of all parts of G to the first part.
func (p *dense[T]) join(worker int) {
	from, to := share(len(p.sums[0]), worker, p.device.Threads())
	for _, g := range p.sums[1:] {
		p.k.Axpy(p.sums[0][from:to], 1, g[from:to])
	}
}

// eachBlock calls do for a worker's blocks of rows.
func (p *dense[T]) eachBlock(worker int, do func(lo, hi int)) {
	eachBlock(p.x.Rows, worker, p.device.Threads(), do)
}

// eachBlock calls do for a worker's share of the blocks of rows.
func eachBlock(rows, worker, workers int, do func(lo, hi int)) {
	from, to := share((rows+kernel.RowBlock-1)/kernel.RowBlock, worker, workers)
	for i := from; i < to; i++ {
		do(i*kernel.RowBlock, min((i+1)*kernel.RowBlock, rows))
	}
}
