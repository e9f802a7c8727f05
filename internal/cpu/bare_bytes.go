package cpu

import (
	"math/rand/v2"

	"ppal/internal/cpu/kernel"
)

// bareSlices prepares both products with 8-bit data as Bare has them: X is packed beforehand, W and D are cut into slices by every run.
func bareSlices(d *Device, rows, cols, width int) (*Bare, error) {
	k := d.bytes
	count := d.digits()
	rng := rand.New(rand.NewPCG(3, 4))
	b := &byteBare{k: k, pool: d.pool, x: k.NewPackedBytes(rows, cols, 1), width: width, w: make([]float32, cols*width),
		z: kernel.Alloc[float32](rows * width), d: make([]float32, rows*width), factor: k.NewDigits(cols, width, count)}
	values := make([]uint8, kernel.RowBlock*cols)
	for i := range values {
		values[i] = uint8(rng.Uint32())
	}
	for i := range rows {
		b.x.SetRows(i, [][]uint8{values[i%kernel.RowBlock*cols:][:cols]})
	}
	for _, list := range [][]float32{b.w, b.d} {
		for i := range list {
			list[i] = 2*rng.Float32() - 1
		}
	}
	for range d.threads {
		b.sums = append(b.sums, kernel.Alloc[float32](cols*width))
		b.cut, b.scratch = append(b.cut, k.NewDigits(kernel.RowBlock, width, count)), append(b.scratch, k.NewByteScratch())
	}
	return &Bare{run: b.run, flops: 4 * float64(rows) * float64(cols) * float64(width)}, nil
}

// byteBare holds the operands.
type byteBare struct {
	k       *kernel.ByteKernels
	pool    *pool
	x       *kernel.PackedBytes
	width   int
	w, z, d []float32
	factor  *kernel.Digits
	sums    [][]float32 // G by thread, not added up
	cut     []*kernel.Digits
	scratch []*kernel.ByteScratch
}

// The phases of a run.
type (
	byteBareCut      struct{ *byteBare }
	byteBareProducts struct{ *byteBare }
)

func (b *byteBare) run() {
	b.pool.run(b.pool.threads, byteBareCut{b})
	b.pool.run(b.pool.threads, byteBareProducts{b})
}

func (b byteBareCut) work(worker int) {
	from, to := share(b.factor.Panels(), worker, b.pool.threads)
	b.factor.Quantize(from, to, b.w, b.width, b.x.ByteScale())
}

func (b byteBareProducts) work(worker int) {
	rows, _ := b.x.Dims()
	clear(b.sums[worker])
	from, to := share(blocks(rows), worker, b.pool.threads)
	cut, scratch := b.cut[worker], b.scratch[worker]
	for lo := from * kernel.RowBlock; lo < min(to*kernel.RowBlock, rows); lo += kernel.RowBlock {
		hi := min(lo+kernel.RowBlock, rows)
		b.k.Mul(b.z[lo*b.width:], b.width, b.x, lo, hi, b.factor, scratch)
		cut.Resize(hi-lo, b.width)
		cut.Quantize(0, cut.Panels(), b.d[lo*b.width:], b.width, b.x.ByteScale())
		b.k.AddMulTrans(b.sums[worker], b.width, b.x, lo, hi, cut, scratch)
	}
}
