package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sparseRows emits the products of compressed sparse rows with matrices, four vectors of columns at
// a time and one.
func sparseRows(a asm) {
	a.set("sparse.lanes", a.lanes())
	for _, vecs := range []int{4, 1} {
		a.rowsMul(vecs)
		a.rowsAddTrans(vecs)
	}
}

const rowsSignature = "func(rows int, starts *int, columns *int32, values *%[1]s, step int, %[2]s *%[1]s, ld%[2]s int, %[3]s *%[1]s, ld%[3]s int, n int)"

// rowsMul emits Z = X W.
func (a asm) rowsMul(vecs int) {
	a.text(variant("sparse.rowsMul", vecs == 1), fmt.Sprintf("rowsMul%d", vecs), fmt.Sprintf(rowsSignature, a.elem(), "w", "z"),
		fmt.Sprintf("computes %s of Z = X W for rows of entries (c, x):", a.taken(vecs)),
		"",
		"\tz[i*ldz+j] = sum of x w[c*ldw+j] over the entries e of row i,",
		"\tc = columns[e], x = values[e*step], starts[i] <= e < starts[i+1]",
		"",
		"as a chain of fused multiply-adds from zero in the order of the entries. rows > 0.")
	r := a.rows()
	w, ldw, z, ldz := a.gp("w"), a.gp("ldw"), a.gp("z"), a.gp("ldz")
	a.scale(ldw)
	a.scale(ldz)
	m := a.tail(vecs)
	acc := a.vecs(vecs)
	a.eachRow(r, func() {
		for _, s := range acc {
			a.zero(s)
		}
	}, func(x vec, column reg.GPVirtual) {
		a.IMULQ(ldw, column)
		a.ADDQ(w, column)
		if vecs == 1 {
			a.fmaInto(a.load(column, m), x, acc[0])
			return
		}
		for k, s := range acc {
			a.fmaInto(operand.Mem{Base: column, Disp: k * a.bytes()}, x, s)
		}
	}, func() {
		if vecs == 1 {
			a.save(acc[0], z, m)
		} else {
			for k, s := range acc {
				a.mov(s, operand.Mem{Base: z, Disp: k * a.bytes()})
			}
		}
		a.ADDQ(ldz, z)
	})
}

// rowsAddTrans emits G += X^T D.
func (a asm) rowsAddTrans(vecs int) {
	a.text(variant("sparse.rowsAddTrans", vecs == 1), fmt.Sprintf("rowsAddTrans%d", vecs), fmt.Sprintf(rowsSignature, a.elem(), "d", "sums"),
		fmt.Sprintf("adds %s of X^T D to sums for rows of entries (c, x):", a.taken(vecs)),
		"",
		"\tsums[c*ldsums+j] += x d[i*ldd+j] for the entries e of row i,",
		"\tc = columns[e], x = values[e*step], starts[i] <= e < starts[i+1]",
		"",
		"fused, in the order of the rows. The vectors of sums are whole: elements beyond n change. rows > 0.")
	r := a.rows()
	d, ldd, sums, ld := a.gp("d"), a.gp("ldd"), a.gp("sums"), a.gp("ldsums")
	a.scale(ldd)
	a.scale(ld)
	m := a.tail(vecs)
	delta := a.vecs(vecs)
	a.eachRow(r, func() {
		if vecs == 1 {
			a.mov(a.load(d, m), delta[0])
		} else {
			for k, v := range delta {
				a.mov(operand.Mem{Base: d, Disp: k * a.bytes()}, v)
			}
		}
		a.ADDQ(ldd, d)
	}, func(x vec, column reg.GPVirtual) {
		a.IMULQ(ld, column)
		a.ADDQ(sums, column)
		for k, v := range delta {
			at := operand.Mem{Base: column, Disp: k * a.bytes()}
			s := a.to(a.pick(a.VMOVUPS, a.VMOVUPD), at)
			a.fmaInto(v, x, s)
			a.mov(s, at)
		}
	}, func() {})
}

// taken returns, for the documentation, the columns that a kernel takes.
func (a asm) taken(vecs int) string {
	if vecs == 1 {
		return fmt.Sprintf("columns j < n <= %d", a.lanes())
	}
	return fmt.Sprintf("columns j < %d", vecs*a.lanes())
}

// tail returns the mask of the columns before the argument n, for kernels of one vector.
func (a asm) tail(vecs int) mask {
	if vecs > 1 {
		return mask{}
	}
	return a.first(a.gp("n"))
}

// entries holds the arguments that say where the entries of a matrix are.
type entries struct{ rows, starts, columns, values, step reg.GPVirtual }

func (a asm) rows() entries {
	e := entries{a.gp("rows"), a.gp("starts"), a.gp("columns"), a.gp("values"), a.gp("step")}
	a.scale(e.step)
	return e
}

// eachRow emits the loop over rows and, in each row, over its entries. The body gets the value of
// the entry, broadcast, and the column in a register that it may change.
func (a asm) eachRow(e entries, begin func(), body func(x vec, column reg.GPVirtual), end func()) {
	at, stop, value, column := a.GP64(), a.GP64(), a.GP64(), a.GP64()
	a.Label("row")
	a.MOVQ(operand.Mem{Base: e.starts}, at)
	a.MOVQ(operand.Mem{Base: e.starts, Disp: 8}, stop)
	a.ADDQ(operand.Imm(8), e.starts)
	a.MOVQ(e.step, value)
	a.IMULQ(at, value)
	a.ADDQ(e.values, value)
	begin()
	a.CMPQ(at, stop)
	a.JE(operand.LabelRef("end"))
	a.Label("entry")
	a.MOVLQSX(operand.Mem{Base: e.columns, Index: at, Scale: 4}, column)
	x := a.vec()
	a.splat(operand.Mem{Base: value}, x)
	body(x, column)
	a.INCQ(at)
	a.ADDQ(e.step, value)
	a.CMPQ(at, stop)
	a.JNE(operand.LabelRef("entry"))
	a.Label("end")
	end()
	a.DECQ(e.rows)
	a.JNZ(operand.LabelRef("row"))
	a.VZEROUPPER()
	a.RET()
}
