package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// narrowRows is the number of rows or columns that the products with a narrow side take at a time.
const narrowRows = 4

// narrow emits products for factors with few rows or columns. They read the matrices as they are,
// because packing would cost more than the product.
func narrow(a asm) {
	for _, rows := range []int{narrowRows, 1} {
		a.combineRows(rows)
		a.dots(rows)
	}
	a.addColumns()
}

// combineRows emits rows of C = A B or C += A B, where A may be transposed: each is a combination
// of the rows of B.
func (a asm) combineRows(rows int) {
	a.text(variant("narrow.combine", rows == 1), fmt.Sprintf("combine%d", rows),
		fmt.Sprintf("func(k, n int, x *%[1]s, down, right int, b *%[1]s, ldb int, c *%[1]s, ldc int, add bool)", a.elem()),
		fmt.Sprintf("computes C = X B, or C += X B if add, for %d rows of n columns:", rows),
		"",
		fmt.Sprintf("\tfor i in 0..%d, j in 0..n-1:", rows-1),
		"\t\tc[i*ldc+j] = (add ? c[i*ldc+j] : 0) + sum_l x[i*down+l*right] * b[l*ldb+j]   (l = 0..k-1)",
		"",
		"The sum is a chain of fused multiply-adds from zero in increasing l. k > 0, n > 0.")
	o := combination{rows: rows, x: a.gp("x"), down: a.gp("down"), right: a.gp("right"),
		b: a.gp("b"), ldb: a.gp("ldb"), c: a.gp("c"), ldc: a.gp("ldc"), at: a.GP64(), from: a.GP64(), left: a.GP64(), down3: a.GP64()}
	for range rows * a.combineVectors() {
		o.acc = append(o.acc, a.vec())
	}
	for _, r := range []reg.GPVirtual{o.down, o.right, o.ldb, o.ldc} {
		a.scale(r)
	}
	a.LEAQ(operand.Mem{Base: o.down, Index: o.down, Scale: 2}, o.down3)
	strip := func(name string, masks []mask) {
		a.combineStrip(name, o, masks)
		a.ADDQ(operand.U32(len(masks)*a.bytes()), o.b)
		a.ADDQ(operand.U32(len(masks)*a.bytes()), o.c)
	}
	n := a.gp("n")
	a.acrossColumns(n, a.lanes(), a.combineVectors(), strip)
	a.VZEROUPPER()
	a.RET()
}

// combination holds the registers of combineRows: the operands, and the registers that the strips
// share.
type combination struct {
	rows                           int
	x, down, right, b, ldb, c, ldc reg.GPVirtual
	at, from, left, down3          reg.GPVirtual
	acc                            []vec
}

// combineVectors returns the number of vectors of columns that combine takes at a time: with four
// rows 16 of 32 registers are sums, and 8 of 16 at AVX2.
func (t target) combineVectors() int {
	if t.avx512 {
		return 4
	}
	return 2
}

// acrossColumns emits strips over n columns: strips of vecs vectors of lanes columns, and for the
// rest a strip of masked vectors, or of a single masked vector if that suffices.
func (a asm) acrossColumns(n reg.GPVirtual, lanes, vecs int, strip func(name string, masks []mask)) {
	width := operand.U32(vecs * lanes)
	a.Label("strips")
	a.CMPQ(n, width)
	a.JL(operand.LabelRef("rest"))
	strip("whole", make([]mask, vecs))
	a.SUBQ(width, n)
	a.JMP(operand.LabelRef("strips"))
	a.Label("rest")
	a.CMPQ(n, operand.Imm(0))
	a.JE(operand.LabelRef("done"))
	a.CMPQ(n, operand.Imm(uint64(lanes)))
	a.JLE(operand.LabelRef("last"))
	masks := make([]mask, vecs)
	for p := range masks {
		masks[p] = a.from(n, p*lanes)
	}
	strip("part", masks)
	a.JMP(operand.LabelRef("done"))
	a.Label("last")
	strip("single", []mask{a.first(n)})
	a.Label("done")
}

// combineStrip emits one strip of columns, of one vector for each mask.
func (a asm) combineStrip(name string, o combination, masks []mask) {
	vecs := len(masks)
	acc := o.acc[:o.rows*vecs]
	for _, v := range acc {
		a.zero(v)
	}
	a.MOVQ(o.x, o.at)
	a.MOVQ(o.b, o.from)
	a.Load(a.Param("k"), o.left)
	a.Label(name)
	row := make([]vec, vecs)
	for j, m := range masks {
		row[j] = a.loadAt(operand.Mem{Base: o.from, Disp: j * a.bytes()}, m)
	}
	elements := []operand.Mem{{Base: o.at}, {Base: o.at, Index: o.down, Scale: 1}, {Base: o.at, Index: o.down, Scale: 2}, {Base: o.at, Index: o.down3, Scale: 1}}
	for i := range o.rows {
		v := a.vec()
		a.splat(elements[i], v)
		for j := range row {
			a.fmaInto(row[j], v, acc[i*vecs+j])
		}
	}
	a.ADDQ(o.right, o.at)
	a.ADDQ(o.ldb, o.from)
	a.DECQ(o.left)
	a.JNZ(operand.LabelRef(name))

	to := o.at
	a.MOVQ(o.c, to)
	add := a.Load(a.Param("add"), a.GP8())
	a.TESTB(add, add)
	a.JZ(operand.LabelRef(name + "store"))
	for i := range o.rows {
		for j, m := range masks {
			v := acc[i*vecs+j]
			a.add(a.loadAt(operand.Mem{Base: to, Disp: j * a.bytes()}, m), v, v)
		}
		a.ADDQ(o.ldc, to)
	}
	a.MOVQ(o.c, to)
	a.Label(name + "store")
	for i := range o.rows {
		for j, m := range masks {
			a.saveAt(acc[i*vecs+j], operand.Mem{Base: to, Disp: j * a.bytes()}, m)
		}
		a.ADDQ(o.ldc, to)
	}
}

// dots emits C = A B^T for some rows of B: sums along the rows of both.
func (a asm) dots(cols int) {
	lanes := 64 / a.size
	a.text(variant("narrow.dots", cols == 1), fmt.Sprintf("dots%d", cols),
		fmt.Sprintf("func(m, k int, x *%[1]s, ldx int, b *%[1]s, ldb int, c *%[1]s, ldc int)", a.elem()),
		fmt.Sprintf("computes C = X B^T for m rows and %d columns:", cols),
		"",
		fmt.Sprintf("\tfor i in 0..m-1, j in 0..%d:", cols-1),
		"\t\tc[i*ldc+j] = sum_l x[i*ldx+l] * b[j*ldb+l]   (l = 0..k-1)",
		"",
		fmt.Sprintf("The sum has %d parts, one for every remainder of l by %d, chains of fused multiply-adds from zero in", lanes, lanes),
		"increasing l; then the upper half is added to the lower, until one is left. m > 0, k > 0.")
	m, x, ldx := a.gp("m"), a.gp("x"), a.gp("ldx")
	b, ldb, c, ldc := a.gp("b"), a.gp("ldb"), a.gp("c"), a.gp("ldc")
	for _, r := range []reg.GPVirtual{ldx, ldb, ldc} {
		a.scale(r)
	}
	ldb3 := a.GP64()
	a.LEAQ(operand.Mem{Base: ldb, Index: ldb, Scale: 2}, ldb3)
	parts := 64 / a.bytes()
	rest := a.gp("k")
	a.ANDQ(operand.Imm(uint64(lanes-1)), rest)
	masks := make([]mask, parts)
	for p := range masks {
		masks[p] = a.from(rest, p*a.lanes())
	}

	a.Label("row")
	acc := a.accumulators(cols * parts)
	at, from, left := a.GP64(), a.GP64(), a.gp("k")
	a.MOVQ(x, at)
	a.MOVQ(b, from)
	rows := []operand.Mem{{Base: from}, {Base: from, Index: ldb, Scale: 1}, {Base: from, Index: ldb, Scale: 2}, {Base: from, Index: ldb3, Scale: 1}}
	a.blocks(left, lanes, []reg.GPVirtual{at, from}, func() {
		a.dotTerms(at, rows[:cols], make([]mask, parts), acc)
	}, func() {
		a.dotTerms(at, rows[:cols], masks, acc)
	})
	for j := range cols {
		a.storeSum(acc[j*parts:(j+1)*parts], operand.Mem{Base: c, Disp: j * a.size})
	}
	a.ADDQ(ldx, x)
	a.ADDQ(ldc, c)
	a.DECQ(m)
	a.JNZ(operand.LabelRef("row"))
	a.VZEROUPPER()
	a.RET()
}

// dotTerms adds the products of the elements at at with the elements of each row to the partial
// sums of the row, one vector for each mask.
func (a asm) dotTerms(at reg.GPVirtual, rows []operand.Mem, masks []mask, acc []vec) {
	for p, m := range masks {
		v := a.loadAt(operand.Mem{Base: at, Disp: p * a.bytes()}, m)
		for j, row := range rows {
			row.Disp = p * a.bytes()
			if sum := acc[j*len(masks)+p]; m.all() {
				a.fmaInto(row, v, sum)
			} else {
				a.fmaInto(a.loadAt(row, m), v, sum)
			}
		}
	}
}

// storeSum adds the upper half of the partial sums to the lower half until a single sum remains,
// and writes it.
func (a asm) storeSum(parts []vec, to operand.Mem) {
	s := parts[0]
	if a.avx512 {
		upper := a.YMM()
		a.VEXTRACTF64X4(operand.Imm(1), s, upper)
		a.pick(a.VADDPS, a.VADDPD)(upper, s.AsY(), s.AsY())
	} else {
		a.add(parts[1], s, s)
	}
	half := a.XMM()
	a.VEXTRACTF128(operand.Imm(1), s.AsY(), half)
	a.pick(a.VADDPS, a.VADDPD)(half, s.AsX(), s.AsX())
	a.VPERMILPD(operand.Imm(1), s.AsX(), half)
	if a.size == 8 {
		a.VADDSD(half, s.AsX(), s.AsX())
		a.VMOVSD(s.AsX(), to)
		return
	}
	a.VADDPS(half, s.AsX(), s.AsX())
	a.VMOVSHDUP(s.AsX(), half)
	a.VADDSS(half, s.AsX(), s.AsX())
	a.VMOVSS(s.AsX(), to)
}

// addColumns emits the sums of columns in float64.
func (a asm) addColumns() {
	a.text("narrow.addColumns", "addColumns", fmt.Sprintf("func(m, n int, x *%s, ldx int, sums *float64)", a.elem()),
		"adds the rows of X to sums, row by row:",
		"",
		"\tfor i in 0..m-1, j in 0..n-1: sums[j] += x[i*ldx+j]",
		"",
		"m > 0, n > 0.")
	n, x, ldx, sums := a.gp("n"), a.gp("x"), a.gp("ldx"), a.gp("sums")
	a.scale(ldx)
	lanes := a.bytes() / 8
	strip := func(name string, masks []mask) {
		at, left := a.GP64(), a.gp("m")
		a.MOVQ(x, at)
		acc := make([]vec, len(masks))
		for j, m := range masks {
			acc[j] = a.doubles(operand.Mem{Base: sums, Disp: j * a.bytes()}, m)
		}
		a.Label(name)
		for j, s := range acc {
			a.VADDPD(a.wide(at, j*lanes*a.size, masks[j]), s, s)
		}
		a.ADDQ(ldx, at)
		a.DECQ(left)
		a.JNZ(operand.LabelRef(name))
		for j, s := range acc {
			a.saveDoubles(s, operand.Mem{Base: sums, Disp: j * a.bytes()}, masks[j])
		}
		a.ADDQ(operand.U32(len(masks)*lanes*a.size), x)
		a.ADDQ(operand.U32(len(masks)*a.bytes()), sums)
	}
	a.acrossColumns(n, lanes, 4, strip)
	a.VZEROUPPER()
	a.RET()
}

// doubles reads a vector of float64, for either element type.
func (a asm) doubles(from operand.Mem, m mask) vec {
	switch {
	case m.all():
		return a.to(a.VMOVUPD, from)
	case a.avx512:
		return a.to(three(a.VMOVUPD_Z), from, m.opmask)
	}
	return a.to(three(a.VMASKMOVPD), from, a.doublesLanes(m))
}

// saveDoubles writes a vector of float64.
func (a asm) saveDoubles(v vec, to operand.Mem, m mask) {
	switch {
	case m.all():
		a.VMOVUPD(v, to)
	case a.avx512:
		a.VMOVUPD(v, m.opmask, to)
	default:
		a.VMASKMOVPD(v, a.doublesLanes(m), to)
	}
}

// doublesLanes widens an AVX2 mask of elements to a mask of float64.
func (a asm) doublesLanes(m mask) vec {
	if a.size == 8 {
		return m.lanes
	}
	wide := a.vec()
	a.VPMOVSXDQ(m.lanes.AsX(), wide)
	return wide
}
