package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowSets emits the passes over the rows of a set, which has a bit for every row, 32 rows a word.
func rowSets(a asm) {
	a.sumWhere()
	a.setWhere("set", "=", func(v vec, out operand.Mem, m mask) { a.saveAt(v, out, m) })
	a.setWhere("add", "+=", func(v vec, out operand.Mem, m mask) { a.saveAt(a.plus(a.loadAt(out, m), v), out, m) })
}

// sumWhere emits the sum over the rows of a set, in the order of reduction.
func (a asm) sumWhere() {
	a.text("sets.sum", "sumWhere", fmt.Sprintf("func(n int, x *%s, set *uint16) float64", a.elem()),
		"is the sum of x[i] over the i in 0..n-1 whose bits are set, in float64.")
	n, x, set := a.gp("n"), a.gp("x"), a.gp("set")
	lanes := a.bytes() / 8
	sums := a.accumulators(sumLanes / lanes)
	a.eachWord(n, set, []reg.GPVirtual{x}, func(in, first func(lanes, k int) mask) {
		for i, s := range sums {
			a.VADDPD(a.wide(x, i*lanes*a.size, a.both(in(lanes, i), first(lanes, i))), s, s)
		}
	})
	a.Store(a.fold(sums), a.ReturnIndex(0))
	a.VZEROUPPER()
	a.RET()
}

// setWhere emits a pass that writes a number to the rows of a set, or adds it.
func (a asm) setWhere(name, assign string, write func(v vec, out operand.Mem, m mask)) {
	a.text("sets."+name, name+"Where", fmt.Sprintf("func(n int, out *%s, set *uint16, v %s)", a.elem(), a.elem()),
		fmt.Sprintf("computes out[i] %s v for the i in 0..n-1 whose bits are set.", assign))
	n, out, set, v := a.gp("n"), a.gp("out"), a.gp("set"), a.scalar("v")
	a.eachWord(n, set, []reg.GPVirtual{out}, func(in, first func(lanes, k int) mask) {
		for k := range groupRows / a.lanes() {
			write(v, operand.Mem{Base: out, Disp: k * a.bytes()}, a.both(in(a.lanes(), k), first(a.lanes(), k)))
		}
	})
	a.VZEROUPPER()
	a.RET()
}

// eachWord emits the loop over the words of a set, and the part of a word at the end. The body gets
// two masks of the k-th lanes elements of a word: in, the elements of the set, perhaps beyond the
// last row; and first, the elements before the last row.
func (a asm) eachWord(n, set reg.GPVirtual, pointers []reg.GPVirtual, body func(in, first func(lanes, k int) mask)) {
	in := func() func(lanes, k int) mask {
		var word vec
		if !a.avx512 {
			word = a.vec()
			a.VPBROADCASTD(operand.Mem{Base: set}, word)
		}
		return func(lanes, k int) mask { return a.setBits(set, word, lanes, k) }
	}
	a.blocks(n, groupRows, pointers, func() {
		body(in(), func(int, int) mask { return mask{} })
		a.ADDQ(operand.Imm(groupRows/8), set)
	}, func() {
		body(in(), func(lanes, k int) mask { return a.from(n, k*lanes) })
	})
}

// both returns the mask of the elements in m and in first. It may overwrite m.
func (a asm) both(m, first mask) mask {
	switch {
	case first.all():
	case a.avx512:
		a.KANDW(m.opmask, first.opmask, m.opmask)
	default:
		a.VPAND(m.lanes, first.lanes, m.lanes)
	}
	return m
}

// chooseWhere returns yes in the mask, else no.
func (a asm) chooseWhere(m mask, yes, no vec) vec {
	if a.avx512 {
		return a.to(a.pick(a.VBLENDMPS, a.VBLENDMPD), yes, no, m.opmask)
	}
	return a.to(a.pick(four(a.VBLENDVPS), four(a.VBLENDVPD)), m.lanes, yes, no)
}

// setBits returns the mask of the k-th lanes elements by the bits of the word.
func (a asm) setBits(set reg.GPVirtual, word vec, lanes, k int) mask {
	if a.avx512 {
		m, at := a.K(), operand.Mem{Base: set, Disp: k * lanes / 8}
		if lanes == 16 {
			a.KMOVW(at, m)
		} else {
			a.KMOVB(at, m)
		}
		return mask{opmask: m}
	}
	row := a.setBitsTable().Offset(k * lanes * a.size)
	m := a.vec()
	a.VMOVUPS(row, m)
	bit := a.to(three(a.VPAND), m, word)
	a.pick(a.VPCMPEQD, a.VPCMPEQQ)(m, bit, m)
	return mask{lanes: m}
}

// setBitsTable returns a table of 1 << r for each row r of a word, with as many more elements as a
// vector that begins with the last rows reads.
func (a asm) setBitsTable() operand.Mem {
	return a.rowBitsTable("setbits", groupRows+a.bytes()/a.size)
}
