package bench

import (
	"fmt"
	"math/rand/v2"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
)

// Digits prepares the products with 8-bit data as the device computes them: every run quantizes W
// and D. The run does not add up the workers' parts of G. FLOPs counts the arithmetic of float32
// products.
func Digits(d *cpu.Device, rows, cols, width int) (*Products, error) {
	count := d.Products(cols).Digits()
	if rows < 1 || cols < 1 || width < 1 || count == 0 {
		return nil, fmt.Errorf("floor: products of %d x %d by %d columns in %v, want positive sizes and digits",
			rows, cols, width, d.Products(cols))
	}
	k, err := kernel.NewByteKernels(d.Level())
	if err != nil {
		return nil, err
	}
	return &Products{newDigits(k, d, rows, cols, width, count).run, denseFLOPs(rows, cols, width)}, nil
}

// digits holds the operands.
type digits struct {
	k       *kernel.ByteKernels
	device  *cpu.Device
	x       *kernel.PackedBytes
	width   int
	w, z, d []float32
	factor  *kernel.Digits   // of W
	sums    [][]float32      // G by worker
	block   []*kernel.Digits // digits of a block of D, by worker
	scratch []*kernel.ByteScratch
}

func newDigits(k *kernel.ByteKernels, d *cpu.Device, rows, cols, width, count int) *digits {
	rng := rand.New(rand.NewPCG(3, 4))
	p := &digits{k: k, device: d, x: d.NewBytes(rows, cols, 1), width: width, w: make([]float32, cols*width),
		z: kernel.Alloc[float32](rows * width), d: make([]float32, rows*width), factor: k.NewDigits(cols, width, count)}
	values := make([]uint8, kernel.RowBlock*cols)
	for i := range values {
		values[i] = uint8(rng.Uint32())
	}
	for i := range rows {
		p.x.SetRows(i, [][]uint8{values[i%kernel.RowBlock*cols:][:cols]})
	}
	for _, list := range [][]float32{p.w, p.d} {
		for i := range list {
			list[i] = 2*rng.Float32() - 1
		}
	}
	for range d.Threads() {
		p.sums = append(p.sums, kernel.Alloc[float32](cols*width))
		p.block = append(p.block, k.NewDigits(kernel.RowBlock, width, count))
		p.scratch = append(p.scratch, k.NewByteScratch())
	}
	return p
}

func (p *digits) run() {
	p.device.Parallel(p.quantize)
	p.device.Parallel(p.products)
}

// quantize computes a worker's share of the digits of W.
func (p *digits) quantize(worker int) {
	from, to := share(p.factor.Panels(), worker, p.device.Threads())
	p.factor.Quantize(from, to, p.w, p.width, p.x.ByteScale())
}

// products computes a worker's rows of Z and its part of G.
func (p *digits) products(worker int) {
	rows, _ := p.x.Dims()
	clear(p.sums[worker])
	block, scratch := p.block[worker], p.scratch[worker]
	eachBlock(rows, worker, p.device.Threads(), func(lo, hi int) {
		p.k.Mul(p.z[lo*p.width:], p.width, p.x, lo, hi, p.factor, scratch)
		block.Resize(hi-lo, p.width)
		block.Quantize(0, block.Panels(), p.d[lo*p.width:], p.width, p.x.ByteScale())
		p.k.AddMulTrans(p.sums[worker], p.width, p.x, lo, hi, block, scratch)
	})
}
