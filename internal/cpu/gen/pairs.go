package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pairs emits the passes over the pairs of two blocks of documents, of which e and f hold e^s.
func pairs(a asm) {
	a.pairShares()
	a.pairGrad("pairSharesGrad", "sharesGrad", "r[i,j] = f[j] / (e[i] + f[j])", func(e, f, _ vec) vec {
		return a.over(f, a.plus(e, f))
	})
	a.pairGrad("pairSlopesGrad", "slopesGrad", "r[i,j] = e[i] f[j] / (e[i] + f[j])^2", func(e, f, one vec) vec {
		q := a.over(one, a.plus(e, f))
		return a.times(a.times(e, q), a.times(f, q))
	})
}

// pairLanes is the number of columns that a step of a pass takes: 16 in float32, 8 in float64.
func (t target) pairLanes() int { return 64 / t.size }

// A grid is a loop over the pairs of rows and columns: row by row, pairLanes columns at a time.
type grid struct {
	asm        asm
	rows       reg.GPVirtual
	at, whole  reg.GPVirtual // bytes into the columns; the bytes of whole steps
	rest       reg.GPVirtual // columns after the whole steps
	restMasks  []mask        // of the vectors of the last step
	rowSources []reg.GPVirtual
}

// grid reads the arguments rows and cols. row are pointers that advance with the rows.
func (a asm) grid(row ...reg.GPVirtual) grid {
	g := grid{asm: a, rows: a.gp("rows"), at: a.GP64(), whole: a.gp("cols"), rest: a.GP64(), rowSources: row}
	a.MOVQ(g.whole, g.rest)
	a.ANDQ(operand.Imm(uint64(a.pairLanes()-1)), g.rest)
	a.SUBQ(g.rest, g.whole)
	a.scale(g.whole)
	for i := range a.pairLanes() / a.lanes() {
		g.restMasks = append(g.restMasks, a.from(g.rest, i*a.lanes()))
	}
	return g
}

// each emits the loop. pair gets the columns' place, the number of the vector in the step, and the
// mask; begin and end run before and after the columns of a row.
func (g grid) each(begin func(), pair func(at operand.Mem, k int, m mask), end func()) {
	a, vectors := g.asm, len(g.restMasks)
	step := func(masks []mask) {
		for k := range vectors {
			m := mask{}
			if masks != nil {
				m = masks[k]
			}
			pair(operand.Mem{Index: g.at, Scale: 1, Disp: k * a.bytes()}, k, m)
		}
	}
	a.Label("row")
	begin()
	a.XORQ(g.at, g.at)
	a.CMPQ(g.at, g.whole)
	a.JGE(operand.LabelRef("rest"))
	a.Label("columns")
	step(nil)
	a.ADDQ(operand.Imm(64), g.at)
	a.CMPQ(g.at, g.whole)
	a.JL(operand.LabelRef("columns"))
	a.Label("rest")
	a.TESTQ(g.rest, g.rest)
	a.JZ(operand.LabelRef("end"))
	step(g.restMasks)
	a.Label("end")
	end()
	for _, p := range g.rowSources {
		a.ADDQ(operand.Imm(uint64(a.size)), p)
	}
	a.DECQ(g.rows)
	a.JNZ(operand.LabelRef("row"))
}

// in returns a place of the columns of a pointer.
func in(p reg.GPVirtual, at operand.Mem) operand.Mem {
	at.Base = p
	return at
}

// pairShares emits the sum of the shares of the columns. Outside the mask f is 0, and so is the
// share.
func (a asm) pairShares() {
	a.text("pairs.shares", "pairShares", fmt.Sprintf("func(rows, cols int, e, f *%s) float64", a.elem()),
		"is the sum over i in 0..rows-1, j in 0..cols-1 of f[j] / (e[i] + f[j]), in float64. rows > 0.")
	e, f := a.gp("e"), a.gp("f")
	g := a.grid(e)
	sums := a.accumulators(a.pairLanes() * 8 / a.bytes())
	of := a.vec()
	g.each(func() { a.splat(operand.Mem{Base: e}, of) }, func(at operand.Mem, k int, m mask) {
		column := a.loadAt(in(f, at), m)
		wide := a.widened(a.over(column, a.plus(of, column)))
		for i, v := range wide {
			a.VADDPD(v, sums[k*len(wide)+i], sums[k*len(wide)+i])
		}
	}, func() {})
	a.Store(a.fold(sums), a.ReturnIndex(0))
	a.VZEROUPPER()
	a.RET()
}

// pairGrad emits a derivative. Outside the mask f is 0, and so is r.
func (a asm) pairGrad(name, field, formula string, r func(e, f, one vec) vec) {
	a.text("pairs."+field, name, fmt.Sprintf("func(rows, cols int, e, de, f, df *%[1]s, w %[1]s)", a.elem()),
		"computes for i in 0..rows-1, j in 0..cols-1, fused, in the order of the rows,",
		"",
		"\tde[i] = de[i] - w sum_j r[i,j]",
		"\tdf[j] = df[j] + w r[i,j],   "+formula,
		"",
		"rows > 0.")
	e, de, f, df := a.gp("e"), a.gp("de"), a.gp("f"), a.gp("df")
	g := a.grid(e, de)
	w, one, of := a.scalar("w"), a.num(1), a.vec()
	sums := make([]vec, len(g.restMasks))
	for k := range sums {
		sums[k] = a.vec()
	}
	g.each(func() {
		a.splat(operand.Mem{Base: e}, of)
		for _, s := range sums {
			a.zero(s)
		}
	}, func(at operand.Mem, k int, m mask) {
		v := r(of, a.loadAt(in(f, at), m), one)
		a.add(v, sums[k], sums[k])
		a.saveAt(a.fma(w, v, a.loadAt(in(df, at), m)), in(df, at), m)
	}, func() {
		sum, total := a.folded(sums), a.XMM()
		to := operand.Mem{Base: de}
		if a.size == 4 {
			a.VMOVSS(to, total)
			a.VFNMADD231SS(w.AsX(), sum, total)
			a.VMOVSS(total, to)
		} else {
			a.VMOVSD(to, total)
			a.VFNMADD231SD(w.AsX(), sum, total)
			a.VMOVSD(total, to)
		}
	})
	a.VZEROUPPER()
	a.RET()
}

// folded returns the sum of the elements of one or two vectors of pairLanes elements: it adds the
// upper half of the elements to the lower half until a single one remains.
func (a asm) folded(v []vec) reg.VecVirtual {
	half, high := a.YMM(), a.XMM()
	if a.avx512 {
		a.VEXTRACTF64X4(operand.Imm(1), v[0], half)
		a.add(v[0].AsY(), half, half)
	} else {
		a.add(v[0], v[1], half)
	}
	a.VEXTRACTF128(operand.Imm(1), half, high)
	sum := half.AsX()
	a.add(high, sum, sum)
	if a.size == 4 {
		a.VPERMILPD(operand.Imm(1), sum, high)
		a.VADDPS(high, sum, sum)
		a.VMOVSHDUP(sum, high)
		a.VADDSS(high, sum, sum)
	} else {
		a.VPERMILPD(operand.Imm(1), sum, high)
		a.VADDSD(high, sum, sum)
	}
	return half.AsX().(reg.VecVirtual)
}
