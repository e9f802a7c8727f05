package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sumVectors is the number of float64 vectors that accumulate and rounded take at a time.
const sumVectors = 4

// accumulate emits a term of a sum of vectors in float64.
func (a asm) accumulate() {
	a.text("sweeps.accumulate", "accumulate", fmt.Sprintf("func(n int, sums *float64, s float64, x *%s)", a.elem()),
		"computes sums[i] = sums[i] + s x[i] in float64, fused, for i in 0..n-1.")
	n, sums, x, s := a.gp("n"), a.gp("sums"), a.gp("x"), a.vec()
	at, err := a.Param("s").Resolve()
	if err != nil {
		panic(err)
	}
	a.VBROADCASTSD(at.Addr, s)
	a.overSums(n, x, sums, func(i int, m mask) {
		lanes := a.bytes() / 8
		to := operand.Mem{Base: sums, Disp: i * a.bytes()}
		v, sum := a.wide(x, i*lanes*a.size, m), a.doubles(to, m)
		a.VFMADD231PD(v, s, sum)
		a.saveDoubles(sum, to, m)
	})
}

// rounded emits the end of a sum of vectors in float64.
func (a asm) rounded() {
	a.text("sweeps.round", "round", fmt.Sprintf("func(n int, dst *%s, sums *float64)", a.elem()),
		"computes dst[i] = sums[i], rounded, for i in 0..n-1.")
	n, dst, sums := a.gp("n"), a.gp("dst"), a.gp("sums")
	a.overSums(n, dst, sums, func(i int, m mask) {
		sum := a.doubles(operand.Mem{Base: sums, Disp: i * a.bytes()}, m)
		to := operand.Mem{Base: dst, Disp: i * a.bytes() * a.size / 8}
		switch {
		case a.size == 8:
			a.saveAt(sum, to, m)
		case a.avx512:
			half := a.YMM()
			a.VCVTPD2PS(sum, half)
			if m.all() {
				a.VMOVUPS(half, to)
			} else {
				a.VMOVUPS(half, m.opmask, to)
			}
		default:
			half := a.XMM()
			a.VCVTPD2PSY(sum, half)
			if m.all() {
				a.VMOVUPS(half, to)
			} else {
				a.VMASKMOVPS(half, m.lanes.AsX(), to)
			}
		}
	})
}

// overSums emits a loop over n elements at elements and n float64 at sums, sumVectors vectors of
// float64 at a time, and then a masked part for the rest. overSums advances both pointers.
func (a asm) overSums(n, elements, sums reg.GPVirtual, body func(i int, m mask)) {
	lanes := a.bytes() / 8
	a.blocks(n, sumVectors*lanes, []reg.GPVirtual{elements}, func() {
		for i := range sumVectors {
			body(i, mask{})
		}
		a.ADDQ(operand.U32(sumVectors*a.bytes()), sums)
	}, func() {
		for i := range sumVectors {
			body(i, a.from(n, i*lanes))
		}
	})
	a.VZEROUPPER()
	a.RET()
}
