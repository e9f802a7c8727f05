package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sumLanes is the number of partial sums of a reduction: four AVX-512 or eight AVX2 registers of
// float64, enough to hide the latency of addition. Package kernel has the same constant.
const sumLanes = 32

// reductions emits the sums over vectors, in float64 for either element type.
func reductions(a asm) {
	a.reduction("sum", "x[i]", []string{"x"}, func(v []vec, sum vec) {
		a.VADDPD(v[0], sum, sum)
	})
	a.reduction("dot", "x[i] y[i]", []string{"x", "y"}, func(v []vec, sum vec) {
		a.VFMADD231PD(v[0], v[1], sum)
	})
	a.reduction("distance2", "(x[i] - y[i])^2", []string{"x", "y"}, func(v []vec, sum vec) {
		d := a.vec()
		a.VSUBPD(v[1], v[0], d)
		a.VFMADD231PD(d, d, sum)
	})
}

// reduction emits a sum of terms of the elements of some vectors. Partial sum l takes the elements
// i with i mod 32 = l. Then halves are added: 16 + 16, 8 + 8, ... 1 + 1.
func (a asm) reduction(name, formula string, vectors []string, term func(v []vec, sum vec)) {
	a.text("passes."+name, name, fmt.Sprintf("func(n int, %s *%s) float64", strings.Join(vectors, ", "), a.elem()),
		fmt.Sprintf("is the sum of %s over i in 0..n-1, in float64.", formula))
	n := a.gp("n")
	var from []reg.GPVirtual
	for _, v := range vectors {
		from = append(from, a.gp(v))
	}
	add := func(at int, m mask, sum vec) {
		var v []vec
		for _, p := range from {
			v = append(v, a.wide(p, at, m))
		}
		term(v, sum)
	}
	lanes := a.bytes() / 8
	sums := a.accumulators(sumLanes / lanes)
	a.blocks(n, sumLanes, from, func() {
		for i, s := range sums {
			add(i*lanes*a.size, mask{}, s)
		}
	}, func() {
		for i, s := range sums {
			add(i*lanes*a.size, a.from(n, i*lanes), s)
		}
	})
	a.Store(a.fold(sums), a.ReturnIndex(0))
	a.VZEROUPPER()
	a.RET()
}

// wide reads a vector of float64, at bytes after p. Elements outside the mask are zero and not
// read.
func (a asm) wide(p reg.GPVirtual, at int, m mask) vec {
	from := operand.Mem{Base: p, Disp: at}
	switch {
	case m.all() && a.size == 4:
		return a.to(a.VCVTPS2PD, from)
	case m.all():
		return a.to(a.VMOVUPD, from)
	case a.avx512 && a.size == 4:
		return a.to(three(a.VCVTPS2PD_Z), from, m.opmask)
	case a.avx512:
		return a.to(three(a.VMOVUPD_Z), from, m.opmask)
	case a.size == 4:
		v := a.vec()
		a.VMASKMOVPS(from, m.lanes.AsX(), v.AsX())
		return a.to(a.VCVTPS2PD, v.AsX())
	}
	return a.to(three(a.VMASKMOVPD), from, m.lanes)
}

// fold adds the upper half of the partial sums to the lower half until a single sum remains.
func (a asm) fold(sums []vec) reg.Register {
	for n := len(sums) / 2; n > 0; n /= 2 {
		for i := range n {
			a.VADDPD(sums[n+i], sums[i], sums[i])
		}
	}
	s := sums[0]
	high := a.XMM()
	if a.avx512 {
		upper := a.YMM()
		a.VEXTRACTF64X4(operand.Imm(1), s, upper)
		a.VADDPD(upper, s.AsY(), s.AsY())
	}
	a.VEXTRACTF128(operand.Imm(1), s.AsY(), high)
	a.VADDPD(high, s.AsX(), s.AsX())
	a.VPERMILPD(operand.Imm(1), s.AsX(), high)
	a.VADDSD(high, s.AsX(), s.AsX())
	return s.AsX()
}
