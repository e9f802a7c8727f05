package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// groupRows is the number of rows whose entries in a column are the bits of one word. laneBytes is
// the size of a column's partial sums, an AVX-512 register. Package kernel has the same constants.
const (
	groupRows = 32
	laneBytes = 64
)

// groups emits the products of a matrix of ones with a single column.
func groups(a asm) {
	a.groupMul()
	a.groupAddTrans()
	a.groupFold()
}

// groupMul emits z = X w for groups of rows.
func (a asm) groupMul() {
	a.text("sparse.groupMul", "groupMul", fmt.Sprintf("func(groups int, starts *uint32, pairs *uint64, w, z *%s)", a.elem()),
		fmt.Sprintf("computes z = X w for groups of %d rows of ones and zeros:", groupRows),
		"",
		fmt.Sprintf("\tz[%d*g + r] = sum of w[p>>32] over the pairs p = pairs[e] of group g with bit r set,", groupRows),
		"\tstarts[g] <= e < starts[g+1]",
		"",
		"as a chain of additions from zero in the order of the pairs. groups > 0.")
	groups, starts, pairs := a.gp("groups"), a.gp("starts"), a.gp("pairs")
	w, z := a.gp("w"), a.gp("z")
	acc := a.vecs(groupRows / a.lanes())
	bits := a.rowBits()
	a.eachPair(groups, starts, pairs, func() {
		for _, s := range acc {
			a.zero(s)
		}
	}, func(p, column reg.GPVirtual) {
		term := a.vec()
		a.splat(operand.Mem{Base: w, Index: column, Scale: uint8(a.size)}, term)
		word := a.pairBits(p)
		for k, s := range acc {
			a.addWhere(p, word, k, bits, term, s)
		}
	}, func() {
		for k, s := range acc {
			a.mov(s, operand.Mem{Base: z, Disp: k * a.bytes()})
		}
		a.ADDQ(operand.U32(groupRows*a.size), z)
	})
}

// groupAddTrans emits g += X^T d for groups of rows.
func (a asm) groupAddTrans() {
	n := laneBytes / a.size
	a.text("sparse.groupAddTrans", "groupAddTrans", fmt.Sprintf("func(groups int, starts *uint32, pairs *uint64, d, sums *%s)", a.elem()),
		fmt.Sprintf("adds X^T d to sums for groups of %d rows of ones and zeros, with %d partial sums for every column:", groupRows, n),
		"",
		fmt.Sprintf("\tsums[%d*(p>>32) + r%%%d] += d[%d*g + r] for the bits r of the pairs p = pairs[e] of group g,", n, n, groupRows),
		"\tstarts[g] <= e < starts[g+1]",
		"",
		"in increasing r. groups > 0.")
	groups, starts, pairs := a.gp("groups"), a.gp("starts"), a.gp("pairs")
	d, sums := a.gp("d"), a.gp("sums")
	delta := a.vecs(groupRows / a.lanes())
	lanes := a.vecs(laneBytes / a.bytes())
	bits := a.rowBits()
	a.eachPair(groups, starts, pairs, func() {
		for k, v := range delta {
			a.mov(operand.Mem{Base: d, Disp: k * a.bytes()}, v)
		}
		a.ADDQ(operand.U32(groupRows*a.size), d)
	}, func(p, column reg.GPVirtual) {
		a.SHLQ(operand.Imm(6), column)
		a.ADDQ(sums, column)
		at := func(i int) operand.Mem { return operand.Mem{Base: column, Disp: i * a.bytes()} }
		for i, s := range lanes {
			a.mov(at(i), s)
		}
		word := a.pairBits(p)
		for k, v := range delta {
			a.addWhere(p, word, k, bits, v, lanes[k%len(lanes)])
		}
		for i, s := range lanes {
			a.mov(s, at(i))
		}
	}, func() {})
}

// groupFold emits the sums of the columns' partial sums, four columns at a time.
func (a asm) groupFold() {
	n := laneBytes / a.size
	a.text("sparse.groupFold", "groupFold", fmt.Sprintf("func(columns int, sums *%s, from, to *float64)", a.elem()),
		fmt.Sprintf("adds up the %d partial sums of every column in float64, every fourth in turn:", n),
		"",
		"\tto[c] = from[c] + ((t[0] + t[1]) + (t[2] + t[3])),",
		fmt.Sprintf("\tt[j] = sums[%d*c + j] + sums[%d*c + j+4] + ...", n, n))
	columns, sums, from, to := a.gp("columns"), a.gp("sums"), a.gp("from"), a.gp("to")
	const together = 4
	// quarters returns t of the c-th column from sums on.
	quarters := func(c int) reg.VecVirtual {
		load, t := a.pick(a.VCVTPS2PD, a.VMOVUPD), a.YMM()
		for j := 0; j < n; j += 4 {
			at := operand.Mem{Base: sums, Disp: c*laneBytes + j*a.size}
			if j == 0 {
				load(at, t)
				continue
			}
			v := a.YMM()
			load(at, v)
			a.VADDPD(v, t, t)
		}
		return t
	}
	a.SUBQ(operand.Imm(together), columns)
	a.JL(operand.LabelRef("rest"))
	a.Label("columns")
	var pairs [together / 2]reg.VecVirtual
	for k := range pairs {
		even, odd := quarters(2*k), quarters(2*k+1)
		a.VHADDPD(odd, even, even)
		pairs[k] = even
	}
	low := a.YMM()
	a.VPERM2F128(operand.Imm(0x20), pairs[1], pairs[0], low)
	a.VPERM2F128(operand.Imm(0x31), pairs[1], pairs[0], pairs[0])
	a.VADDPD(pairs[0], low, low)
	a.VADDPD(operand.Mem{Base: from}, low, low)
	a.VMOVUPD(low, operand.Mem{Base: to})
	a.ADDQ(operand.U32(together*laneBytes), sums)
	a.ADDQ(operand.Imm(together*8), from)
	a.ADDQ(operand.Imm(together*8), to)
	a.SUBQ(operand.Imm(together), columns)
	a.JGE(operand.LabelRef("columns"))
	a.Label("rest")
	a.ADDQ(operand.Imm(together), columns)
	a.JZ(operand.LabelRef("done"))
	a.Label("column")
	t, high := quarters(0), a.XMM()
	a.VHADDPD(t, t, t)
	a.VEXTRACTF128(operand.Imm(1), t, high)
	a.VADDSD(high, t.AsX(), high)
	a.VADDSD(operand.Mem{Base: from}, high, high)
	a.VMOVSD(high, operand.Mem{Base: to})
	a.ADDQ(operand.Imm(laneBytes), sums)
	a.ADDQ(operand.Imm(8), from)
	a.ADDQ(operand.Imm(8), to)
	a.DECQ(columns)
	a.JNZ(operand.LabelRef("column"))
	a.Label("done")
	a.VZEROUPPER()
	a.RET()
}

// vecs returns n new registers.
func (a asm) vecs(n int) []vec {
	list := make([]vec, n)
	for i := range list {
		list[i] = a.vec()
	}
	return list
}

// eachPair emits the loop over groups and, in each group, over its pairs p with their columns.
func (a asm) eachPair(groups, starts, pairs reg.GPVirtual, begin func(), body func(p, column reg.GPVirtual), end func()) {
	p, stop, column := a.GP64(), a.GP64(), a.GP64()
	a.MOVL(operand.Mem{Base: starts}, p.As32())
	a.LEAQ(operand.Mem{Base: pairs, Index: p, Scale: 8}, p)
	a.Label("group")
	a.MOVL(operand.Mem{Base: starts, Disp: 4}, stop.As32())
	a.LEAQ(operand.Mem{Base: pairs, Index: stop, Scale: 8}, stop)
	a.ADDQ(operand.Imm(4), starts)
	begin()
	a.CMPQ(p, stop)
	a.JE(operand.LabelRef("end"))
	a.Label("pair")
	a.MOVL(operand.Mem{Base: p, Disp: 4}, column.As32())
	body(p, column)
	a.ADDQ(operand.Imm(8), p)
	a.CMPQ(p, stop)
	a.JNE(operand.LabelRef("pair"))
	a.Label("end")
	end()
	a.DECQ(groups)
	a.JNZ(operand.LabelRef("group"))
	a.VZEROUPPER()
	a.RET()
}

// pairBits broadcasts the word of a pair at AVX2, which has no opmasks.
func (a asm) pairBits(p reg.GPVirtual) vec {
	if a.avx512 {
		return nil
	}
	return a.to(a.pick(a.VPBROADCASTD, a.VPBROADCASTQ), operand.Mem{Base: p})
}

// addWhere adds v to s in the rows of the k-th vector of the group whose bits are set in the pair
// at p.
func (a asm) addWhere(p reg.GPVirtual, word vec, k int, bits []operand.Op, v, s vec) {
	if a.avx512 {
		m, at := a.K(), operand.Mem{Base: p, Disp: k * a.lanes() / 8}
		if a.lanes() == 16 {
			a.KMOVW(at, m)
		} else {
			a.KMOVB(at, m)
		}
		a.pick(a.VADDPS, a.VADDPD)(v, s, m, s)
		return
	}
	m := a.to(three(a.VPAND), bits[k], word)
	a.pick(a.VPCMPEQD, a.VPCMPEQQ)(bits[k], m, m)
	a.VANDPS(v, m, m)
	a.add(m, s, s)
}

// rowBits returns the bits of the rows of a group, vector after vector: in registers if there are
// enough.
func (a asm) rowBits() []operand.Op {
	if a.avx512 {
		return nil
	}
	table := a.rowBitsTable("rowbits", groupRows)
	list := make([]operand.Op, groupRows/a.lanes())
	for k := range list {
		list[k] = table.Offset(k * a.bytes())
		if len(list) <= 4 {
			list[k] = a.to(a.pick(a.VMOVUPS, a.VMOVUPD), list[k])
		}
	}
	return list
}

// rowBitsTable returns a table of 1 << r for each row r of a group, with zeros up to a number of
// elements.
func (a asm) rowBitsTable(name string, elements int) operand.Mem {
	return a.table(fmt.Sprintf("%s%d", name, 8*a.size), func() {
		for r := range elements {
			a.appendWord(1 << r & (1<<groupRows - 1))
		}
	})
}

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
