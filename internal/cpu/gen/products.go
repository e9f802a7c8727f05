package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// panelRows is the number of rows of a panel of the data matrix: the rows of an AVX-512 tile, twice
// the rows of an AVX2 tile. Package kernel has the same constant.
const panelRows = 12

// tileRows returns the height of a tile. With two vectors of columns an AVX-512 tile takes 24 of 32
// registers and an AVX2 tile 12 of 16. Three more hold a row of the second factor and a broadcast
// element of the first.
func (t target) tileRows() int {
	if t.avx512 {
		return panelRows
	}
	return panelRows / 2
}

// products emits the tiles of both products, two vectors and one vector wide.
func products(a asm) {
	a.set("products.rows", a.tileRows())
	a.set("products.cols", 2*a.lanes())
	a.set("products.narrowCols", a.lanes())
	for _, vecs := range []int{2, 1} {
		a.tile(vecs)
		a.tileTrans(vecs)
	}
	a.packPanel()
}

// packPanel emits the copy of columns of a second factor to a panel.
func (a asm) packPanel() {
	cols := 2 * a.lanes()
	a.text("products.packPanel", "packPanel", fmt.Sprintf("func(k int, b *%[1]s, ldb int, panel *%[1]s)", a.elem()),
		fmt.Sprintf("copies k rows of %d columns, panel[l*%d+j] = b[l*ldb+j]. k > 0.", cols, cols))
	k, b, ldb, panel := a.gp("k"), a.gp("b"), a.gp("ldb"), a.gp("panel")
	a.scale(ldb)
	a.Label("loop")
	for j := range 2 {
		at := j * a.bytes()
		a.mov(a.loadAt(operand.Mem{Base: b, Disp: at}, mask{}), operand.Mem{Base: panel, Disp: at})
	}
	a.ADDQ(ldb, b)
	a.ADDQ(operand.U32(2*a.bytes()), panel)
	a.DECQ(k)
	a.JNZ(operand.LabelRef("loop"))
	a.VZEROUPPER()
	a.RET()
}

// tile emits C = X B or C += X B for tileRows rows of a panel of X.
func (a asm) tile(vecs int) {
	rows, cols := a.tileRows(), vecs*a.lanes()
	a.text(variant("products.tile", vecs == 1), fmt.Sprintf("tile%d", vecs),
		fmt.Sprintf("func(k int, x, b, c *%s, ldc int, add bool)", a.elem()),
		fmt.Sprintf("computes C = X B, or C += X B if add, for a tile of %d x %d:", rows, cols),
		"",
		fmt.Sprintf("\tfor i in 0..%d, j in 0..%d:", rows-1, cols-1),
		fmt.Sprintf("\t\tc[i*ldc+j] = (add ? c[i*ldc+j] : 0) + sum_l x[l*%d+i] * b[l*%d+j]   (l = 0..k-1)", panelRows, cols),
		"",
		"The sum is a chain of fused multiply-adds from zero in increasing l. k > 0.")
	k, x, b := a.gp("k"), a.gp("x"), a.gp("b")
	c, ldc := a.output(rows)
	acc := a.accumulators(rows * vecs)
	a.Label("loop")
	a.rankOne(acc, vecs, x, a.size, b)
	a.ADDQ(operand.Imm(uint64(panelRows*a.size)), x)
	a.ADDQ(operand.Imm(uint64(cols*a.size)), b)
	a.DECQ(k)
	a.JNZ(operand.LabelRef("loop"))
	a.store(acc, vecs, c, ldc)
}

// tileTrans emits C = X^T B or C += X^T B for tileRows columns of X.
func (a asm) tileTrans(vecs int) {
	rows, cols := a.tileRows(), vecs*a.lanes()
	a.text(variant("products.tileTrans", vecs == 1), fmt.Sprintf("tileTrans%d", vecs),
		fmt.Sprintf("func(m int, x *%s, panel int, b, c *%s, ldc int, add bool)", a.elem(), a.elem()),
		fmt.Sprintf("computes C = X^T B, or C += X^T B if add, for a tile of %d x %d", rows, cols),
		fmt.Sprintf("over m rows of X, which lie in panels of %d rows that are panel elements apart:", panelRows),
		"",
		fmt.Sprintf("\tfor i in 0..%d, j in 0..%d:", rows-1, cols-1),
		"\t\tc[i*ldc+j] = (add ? c[i*ldc+j] : 0) +",
		fmt.Sprintf("\t\t\tsum_l x[l/%d*panel + i*%d + l%%%d] * b[l*%d+j]   (l = 0..m-1)", panelRows, panelRows, panelRows, cols),
		"",
		"The sum is a chain of fused multiply-adds from zero in increasing l. m > 0.")
	m, x, panel, b := a.gp("m"), a.gp("x"), a.gp("panel"), a.gp("b")
	c, ldc := a.output(rows)
	a.scale(panel)
	acc := a.accumulators(rows * vecs)
	full, k, row := a.GP64(), a.GP64(), a.GP64()
	a.MOVQ(operand.U32(panelRows), full)

	a.Label("panel")
	a.MOVQ(m, k)
	a.CMPQ(m, operand.Imm(panelRows))
	a.CMOVQGT(full, k)
	a.SUBQ(k, m)
	a.MOVQ(x, row)
	a.ADDQ(panel, x)
	for line := 0; line < rows*panelRows*a.size; line += 64 {
		a.PREFETCHT0(operand.Mem{Base: x, Disp: line})
	}
	a.Label("loop")
	a.rankOne(acc, vecs, row, panelRows*a.size, b)
	a.ADDQ(operand.Imm(uint64(a.size)), row)
	a.ADDQ(operand.Imm(uint64(cols*a.size)), b)
	a.DECQ(k)
	a.JNZ(operand.LabelRef("loop"))
	a.TESTQ(m, m)
	a.JNZ(operand.LabelRef("panel"))
	a.store(acc, vecs, c, ldc)
}

// rankOne adds a column of X, whose elements are stride bytes apart, times a row of B to the
// accumulators.
func (a asm) rankOne(acc []vec, vecs int, x reg.GPVirtual, stride int, b reg.GPVirtual) {
	row := make([]vec, vecs)
	for j := range row {
		row[j] = a.vec()
		a.mov(operand.Mem{Base: b, Disp: j * a.bytes()}, row[j])
	}
	for i := range len(acc) / vecs {
		v := a.vec()
		a.splat(operand.Mem{Base: x, Disp: i * stride}, v)
		for j := range row {
			a.fmaInto(row[j], v, acc[i*vecs+j])
		}
	}
}

// accumulators returns n registers of zeros.
func (a asm) accumulators(n int) []vec {
	acc := make([]vec, n)
	for i := range acc {
		acc[i] = a.vec()
		a.zero(acc[i])
	}
	return acc
}

// output loads the address and the row stride of the tile and prefetches its rows, which are needed
// at the end.
func (a asm) output(rows int) (c, ldc reg.GPVirtual) {
	c, ldc = a.gp("c"), a.gp("ldc")
	a.scale(ldc)
	p := a.GP64()
	a.MOVQ(c, p)
	for i := range rows {
		a.PREFETCHT0(operand.Mem{Base: p})
		a.PREFETCHT0(operand.Mem{Base: p, Disp: 64})
		if i < rows-1 {
			a.ADDQ(ldc, p)
		}
	}
	return c, ldc
}

// scale turns a number of elements into a number of bytes.
func (a asm) scale(r reg.GPVirtual) {
	if a.size == 4 {
		a.SHLQ(operand.Imm(2), r)
	} else {
		a.SHLQ(operand.Imm(3), r)
	}
}

// store adds the tile in memory to the accumulators if the argument add is set, and writes them.
func (a asm) store(acc []vec, vecs int, c, ldc reg.GPVirtual) {
	rows := len(acc) / vecs
	add := a.Load(a.Param("add"), a.GP8())
	a.TESTB(add, add)
	a.JZ(operand.LabelRef("store"))
	p := a.GP64()
	a.MOVQ(c, p)
	for i := range rows {
		for j := range vecs {
			v := acc[i*vecs+j]
			a.add(operand.Mem{Base: p, Disp: j * a.bytes()}, v, v)
		}
		if i < rows-1 {
			a.ADDQ(ldc, p)
		}
	}
	a.Label("store")
	for i := range rows {
		for j := range vecs {
			a.mov(acc[i*vecs+j], operand.Mem{Base: c, Disp: j * a.bytes()})
		}
		if i < rows-1 {
			a.ADDQ(ldc, c)
		}
	}
	a.VZEROUPPER()
	a.RET()
}
