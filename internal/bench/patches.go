package bench

import (
	"fmt"
	"math/rand/v2"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// Convolution has the sizes of a layer of convolutions: for each picture, the product of the
// filters [Filters, Patch] with the patches [Patch, Places].
type Convolution struct{ Filters, Patch, Places int }

// partBytes is the size of the patches that a product reads at a time, as in training.
const partBytes = 192 << 10

// Patches prepares the products of the patches of n pictures: for each layer Z = F C and
// F' = D C^T, and for each layer but the first C' = F^T D. The patches are packed beforehand.
func Patches[T plan.Float](d *cpu.Device, pictures int, layers []Convolution) (*Products, error) {
	k, err := kernel.New[T](d.Level())
	if err != nil {
		return nil, err
	}
	if pictures < 1 || len(layers) == 0 {
		return nil, fmt.Errorf("floor: %d pictures and %d layers, want at least 1", pictures, len(layers))
	}
	var parts []*patches[T]
	flops := 0.0
	for i, l := range layers {
		if min(l.Filters, l.Patch, l.Places) < 1 {
			return nil, fmt.Errorf("floor: convolutions of sizes %v, want positive sizes", l)
		}
		parts = append(parts, newPatches(k, d.Threads(), l, i == 0))
		products := 3.0
		if i == 0 {
			products = 2
		}
		flops += products * 2 * float64(pictures) * float64(l.Filters) * float64(l.Patch) * float64(l.Places)
	}
	run := func() {
		d.Parallel(func(worker int) {
			from, to := share(pictures, worker, d.Threads())
			for range to - from {
				for _, p := range parts {
					p.picture(worker)
				}
			}
		})
	}
	return &Products{run, flops}, nil
}

// patches holds the operands of a layer for a part of its places.
type patches[T plan.Float] struct {
	k       *kernel.Kernels[T]
	l       Convolution
	first   bool
	part    int                     // places of a part
	filters *kernel.PackedFloats[T] // F
	turned  *kernel.PackedFloats[T] // F^T
	rows    *kernel.PackedFloats[T] // C^T
	columns *kernel.Panels[T]       // C
	d       *kernel.Panels[T]       // D
	places  []T                     // D^T
	out     [][]T                   // by worker
	sums    [][]T                   // F', by worker
	scratch []*kernel.Scratch[T]
}

func newPatches[T plan.Float](k *kernel.Kernels[T], threads int, l Convolution, first bool) *patches[T] {
	const single = 4
	p := &patches[T]{k: k, l: l, first: first, part: min(l.Places, max(1, partBytes/single/l.Patch))}
	rng := rand.New(rand.NewPCG(5, 6))
	random := func(n int) []T {
		list := kernel.Alloc[T](n)
		for i := range list {
			list[i] = T(2*rng.Float64() - 1)
		}
		return list
	}
	packed := func(rows, cols int) *kernel.PackedFloats[T] {
		x := k.NewPackedFloats(rows, cols)
		for i := range rows {
			x.SetRow(i, random(cols))
		}
		return x
	}
	panels := func(rows, cols int) *kernel.Panels[T] {
		x := k.NewPanels(rows, cols)
		x.Resize(rows, cols)
		x.PackPanels(0, x.Count(), random(rows*cols), cols, false)
		return x
	}
	p.filters, p.turned, p.rows = packed(l.Filters, l.Patch), packed(l.Patch, l.Filters), packed(p.part, l.Patch)
	p.columns, p.d, p.places = panels(l.Patch, p.part), panels(l.Filters, p.part), random(p.part*l.Filters)
	for range threads {
		p.out = append(p.out, kernel.Alloc[T](max(l.Filters, l.Patch)*p.part))
		p.sums = append(p.sums, kernel.Alloc[T](l.Patch*l.Filters))
		p.scratch = append(p.scratch, k.NewScratch(max(kernel.RowBlock, p.part), l.Filters))
	}
	return p
}

// picture computes the products of one picture, part by part of its places.
func (p *patches[T]) picture(worker int) {
	out, s := p.out[worker], p.scratch[worker]
	for left := p.l.Places; left > 0; left -= p.part {
		p.k.Mul(out, p.part, p.filters, 0, p.l.Filters, p.columns, s)
		if !p.first {
			p.k.Mul(out, p.part, p.turned, 0, p.l.Patch, p.d, s)
		}
		p.k.AddMulTrans(p.sums[worker], p.l.Filters, p.rows, 0, p.part, p.places, p.l.Filters, p.l.Filters, s)
	}
}
