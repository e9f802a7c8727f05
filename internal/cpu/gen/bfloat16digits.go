package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
)

// bfloat16Digits emits the kernels that split numbers into digits of bfloat16, for the tiles of
// AMX.
func bfloat16Digits(a asm) {
	if a.size != 4 || !a.avx512 {
		return
	}
	for _, n := range []int{3, 2} {
		a.split(n)
	}
}

// split emits the digits of the rows of a tile: of two rows at a time, in the order that TDPBF16PS
// reads. A row and the next fill the lower and the upper halves of the words of a vector.
func (a asm) split(count int) {
	lanes := a.lanes()
	name := fmt.Sprintf("split%d%s", count, a.suffix())
	a.Function(name)
	a.Attributes(attr.NOSPLIT)
	a.document(name, []string{
		fmt.Sprintf("writes %d digits of bfloat16 of n columns of 2*pairs rows, and zeros for columns up to %d:", count, lanes),
		"",
		"\tr = b[i*ldb+j]",
		fmt.Sprintf("\td_p = bfloat16(r),   r = r - d_p   (p = 0..%d)", count-1),
		fmt.Sprintf("\tq[p*%d + i/2*%d + 2*j + i%%2] = d_p", amxBytes/2, 2*lanes),
		"",
		"rounded to nearest, ties to even. Infinities, NaNs and numbers that round to an infinity are d_0, and their other",
		"digits are 0. 0 < pairs <= 16, n > 0.",
	})
	a.Pragma("noescape")
	a.SignatureExpr("func(pairs, n int, b *float32, ldb int, q *uint16)")
	pairs, b, ldb, q := a.gp("pairs"), a.gp("b"), a.gp("ldb"), a.gp("q")
	a.scale(ldb)
	valid := a.first(a.gp("n"))
	upper, half, one := a.word(0xffff0000), a.word(0x7fff), a.word(1)
	special := a.K()
	const kinds = 0x99 // infinities and NaNs
	// digit returns the first digit of the numbers r in the upper halves of words, and leaves the
	// remainders in r. Other remainders are finite, so that only the first digit may be special.
	digit := func(r vec, first bool) vec {
		d := a.intPlus(a.intPlus(a.and(a.shiftRight(r, 16), one), half), r)
		if first {
			a.VFPCLASSPSZ(operand.Imm(kinds), r, special)
			a.VADDPS(r, r, special, d)
		}
		d = a.and(d, upper)
		a.VSUBPS(d, r, r)
		if first {
			a.VFPCLASSPSZ(operand.Imm(kinds), d, special)
			a.VPXORD(r, r, special, r)
		}
		return d
	}
	a.Label("loop")
	even := a.load(b, valid)
	a.ADDQ(ldb, b)
	odd := a.load(b, valid)
	a.ADDQ(ldb, b)
	for p := range count {
		words := a.or(a.shiftRight(digit(even, p == 0), 16), digit(odd, p == 0))
		a.mov(words, operand.Mem{Base: q, Disp: p * amxBytes})
	}
	a.ADDQ(operand.Imm(uint64(a.bytes())), q)
	a.DECQ(pairs)
	a.JNZ(operand.LabelRef("loop"))
	a.VZEROUPPER()
	a.RET()
}
