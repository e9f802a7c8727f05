package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A mask selects the first elements of a vector. The zero mask selects all.
type mask struct {
	opmask reg.OpmaskVirtual // AVX-512
	lanes  vec               // AVX2: sign bits
}

func (m mask) all() bool { return m.opmask == nil && m.lanes == nil }

// each emits a loop over n elements, a vector at a time, and then a masked vector for the rest. The
// body uses load and save for its pointers, which each advances.
func (a asm) each(n reg.GPVirtual, pointers []reg.GPVirtual, body func(m mask)) {
	a.blocks(n, a.lanes(), pointers, func() { body(mask{}) }, func() { body(a.first(n)) })
	a.VZEROUPPER()
}

// blocks emits a loop over n elements, size at a time, and then a part of at most size elements for
// the rest. It advances the pointers.
func (a asm) blocks(n reg.GPVirtual, size int, pointers []reg.GPVirtual, whole, part func()) {
	a.SUBQ(operand.Imm(uint64(size)), n)
	a.JL(operand.LabelRef("tail"))
	a.Label("loop")
	whole()
	for _, p := range pointers {
		a.ADDQ(operand.U32(size*a.size), p)
	}
	a.SUBQ(operand.Imm(uint64(size)), n)
	a.JGE(operand.LabelRef("loop"))
	a.Label("tail")
	a.ADDQ(operand.Imm(uint64(size)), n)
	a.JZ(operand.LabelRef("done"))
	part()
	a.Label("done")
}

// first returns the mask of the first n elements, n at most the number of lanes.
func (a asm) first(n reg.GPVirtual) mask { return a.from(n, 0) }

// from returns the mask of the elements of a vector that come before n. skip is the index of the
// first element of the vector.
func (a asm) from(n reg.GPVirtual, skip int) mask {
	if a.avx512 {
		return mask{opmask: a.opmask(n, skip)}
	}
	at := a.maskAt(n)
	at.Disp += skip * a.size
	m := a.vec()
	a.mov(at, m)
	return mask{lanes: m}
}

// opmask returns a register with a bit for each of the elements from skip on that come before n.
func (a asm) opmask(n reg.GPVirtual, skip int) reg.OpmaskVirtual {
	bits, k := a.GP64(), a.K()
	a.MOVQ(n, reg.RCX)
	a.MOVQ(operand.U32(1), bits)
	a.SHLQ(reg.CL, bits)
	a.DECQ(bits)
	if skip > 0 {
		a.SHRQ(operand.Imm(uint64(skip)), bits)
	}
	a.KMOVW(bits.As32(), k)
	return k
}

// maskWords is half the length of a table of 4-byte words, ones followed by zeros. It suffices for
// 32 elements of 8 bytes.
const maskWords = 64

// maskAt returns the place in the table from which on n elements are ones.
func (a asm) maskAt(n reg.GPVirtual) operand.Mem {
	table := a.table("masks", func() {
		for i := range 2 * maskWords {
			var word operand.U32
			if i < maskWords {
				word = 1<<32 - 1
			}
			a.AppendDatum(word)
		}
	})
	at, size := a.GP64(), a.GP64()
	a.LEAQ(table.Offset(4*maskWords), at)
	a.MOVQ(n, size)
	a.scale(size)
	a.SUBQ(size, at)
	return operand.Mem{Base: at}
}

// load reads a vector. Elements outside the mask are zero and not read.
func (a asm) load(p reg.GPVirtual, m mask) vec { return a.loadAt(operand.Mem{Base: p}, m) }

func (a asm) loadAt(from operand.Mem, m mask) vec {
	switch {
	case m.all():
		return a.to(a.pick(a.VMOVUPS, a.VMOVUPD), from)
	case a.avx512:
		return a.to(a.pick(three(a.VMOVUPS_Z), three(a.VMOVUPD_Z)), from, m.opmask)
	}
	return a.to(a.pick(three(a.VMASKMOVPS), three(a.VMASKMOVPD)), from, m.lanes)
}

// save writes a vector. Elements outside the mask are not written.
func (a asm) save(v vec, p reg.GPVirtual, m mask) { a.saveAt(v, operand.Mem{Base: p}, m) }

func (a asm) saveAt(v vec, to operand.Mem, m mask) {
	switch {
	case m.all():
		a.mov(v, to)
	case a.avx512:
		a.pick(a.VMOVUPS, a.VMOVUPD)(v, m.opmask, to)
	default:
		a.pick(three(a.VMASKMOVPS), three(a.VMASKMOVPD))(v, m.lanes, to)
	}
}
