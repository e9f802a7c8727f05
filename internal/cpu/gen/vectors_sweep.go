package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vectors emits the passes over the iterate and the vectors beside it: steps that move and measure
// at once.
func vectors(a asm) {
	a.combine()
	a.scaledCopy()
	a.accumulate()
	a.rounded()
	for _, momentum := range []bool{true, false} {
		a.trialNorm(momentum)
		a.descend(momentum)
	}
	a.adam()
}

// sweepLanes is the number of elements that a sweep takes at a time, and the number of partial sums
// of each of its reductions. It is smaller than for a reduction alone, so that two reductions leave
// AVX2 registers for the step.
const sweepLanes = 16

// A place is one vector of a sweep's elements.
type place struct {
	index int // of the vector among those of a step
	mask  mask
}

// sweep emits a loop over n elements, sweepLanes at a time, and then a masked part for the rest.
// The body gets the place of each vector; sweep advances the pointers.
func (a asm) sweep(n reg.GPVirtual, pointers []reg.GPVirtual, body func(at place)) {
	vectors := sweepLanes / a.lanes()
	a.blocks(n, sweepLanes, pointers, func() {
		for i := range vectors {
			body(place{index: i})
		}
	}, func() {
		for i := range vectors {
			body(place{i, a.from(n, i*a.lanes())})
		}
	})
}

func (a asm) address(p reg.GPVirtual, at place) operand.Mem {
	return operand.Mem{Base: p, Disp: at.index * a.bytes()}
}

// read and write are load and save for a vector of a sweep.

func (a asm) read(p reg.GPVirtual, at place) vec { return a.loadAt(a.address(p, at), at.mask) }

func (a asm) write(v vec, p reg.GPVirtual, at place) { a.saveAt(v, a.address(p, at), at.mask) }

// only zeroes the elements outside the mask.
func (a asm) only(v vec, m mask) vec {
	switch {
	case m.all():
		return v
	case a.avx512:
		return a.to(a.pick(three(a.VMOVAPS_Z), three(a.VMOVAPD_Z)), v, m.opmask)
	}
	return a.and(v, m.lanes)
}

// held returns an argument in every element: in a register at AVX-512, which has 32 registers, else
// read from memory at each use.
func (a asm) held(arg string) func() vec {
	if !a.avx512 {
		return func() vec { return a.scalar(arg) }
	}
	v := a.scalar(arg)
	return func() vec { return v }
}

// A tally is a reduction of a sweep, in float64.
type tally struct {
	asm  asm
	sums []vec
}

func (a asm) tally() tally { return tally{a, a.accumulators(sweepLanes * 8 / a.bytes())} }

// square adds the squares of the wide parts of a vector.
func (t tally) square(wide []vec, at place) {
	for i, v := range wide {
		t.asm.VFMADD231PD(v, v, t.sums[at.index*len(wide)+i])
	}
}

// store writes the sum to a result.
func (t tally) store(result int) { t.asm.Store(t.asm.fold(t.sums), t.asm.ReturnIndex(result)) }

// widened returns a vector in float64: itself, or two halves.
func (a asm) widened(v vec) []vec {
	if a.size == 8 {
		return []vec{v}
	}
	if a.avx512 {
		high := a.YMM()
		a.VEXTRACTF64X4(operand.Imm(1), v, high)
		return []vec{a.to(a.VCVTPS2PD, v.AsY()), a.to(a.VCVTPS2PD, high)}
	}
	high := a.XMM()
	a.VEXTRACTF128(operand.Imm(1), v, high)
	return []vec{a.to(a.VCVTPS2PD, v.AsX()), a.to(a.VCVTPS2PD, high)}
}

// apart returns x - y in float64.
func (a asm) apart(x, y []vec) []vec {
	d := make([]vec, len(x))
	for i := range x {
		d[i] = a.vec()
		a.VSUBPD(y[i], x[i], d[i])
	}
	return d
}
