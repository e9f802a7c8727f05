package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
)

// digitKernels emits the kernels that quantize columns of numbers to digits.
func digitKernels(a asm) {
	if a.size != 4 {
		return
	}
	a.columnMax()
	for _, n := range []int{3, 2} {
		a.quantize(n)
	}
}

// columnMax emits the search for the largest magnitudes of columns.
func (a asm) columnMax() {
	lanes := a.lanes()
	a.text("columnMax", "columnMax", "func(m, n int, b *float32, ldb int, most *uint32)",
		fmt.Sprintf("writes the bits of the largest magnitude of each of n columns, and 0 for those up to %d:", lanes),
		"",
		"\tmost[j] = max_i bits(|b[i*ldb+j]|)   (i = 0..m-1)",
		"",
		"As integers the bits have the order of the numbers: infinity comes after all finite numbers, NaNs after infinity.",
		"m > 0, n > 0.")
	m, n, b, ldb := a.gp("m"), a.gp("n"), a.gp("b"), a.gp("ldb")
	a.scale(ldb)
	valid, magnitude, most := a.first(n), a.word(a.sign()-1), a.vec()
	a.zero(most)
	a.Label("loop")
	a.VPMAXUD(a.and(a.load(b, valid), magnitude), most, most)
	a.ADDQ(ldb, b)
	a.DECQ(m)
	a.JNZ(operand.LabelRef("loop"))
	a.mov(most, operand.Mem{Base: a.gp("most")})
	a.VZEROUPPER()
	a.RET()
}

// quantize emits the digits of columns: of four rows at a time, in the order that the dot products
// of bytes read.
func (a asm) quantize(count int) {
	lanes := a.lanes()
	a.text(fmt.Sprintf("quantize[%d]", count-2), fmt.Sprintf("quantize%d", count), "func(groups, n int, b *float32, ldb int, factors *float32, q *int8)",
		fmt.Sprintf("writes %d digits of n columns of 4*groups rows, and zeros for columns up to %d:", count, lanes),
		"",
		"\tt = b[i*ldb+j] * factors[j]",
		fmt.Sprintf("\tq_0 = round(t * factors[%d+j]),   r = t * factors[%d+j] - q_0", lanes, lanes),
		fmt.Sprintf("\tq_s = round(%d r),   r = %d r - q_s   (s = 1..%d)", base, base, count-1),
		fmt.Sprintf("\tq[((i/4*%d + s)*%d + j)*4 + i%%4] = q_s", count, lanes),
		"",
		"with each r rounded once, ties to even. The digits are -127 to 127 where |t factors| is at most 127. groups > 0, n > 0.")
	groups, b, ldb, q := a.gp("groups"), a.gp("b"), a.gp("ldb"), a.gp("q")
	a.scale(ldb)
	valid := a.first(a.gp("n"))
	factors := a.gp("factors")
	first, second := a.load(factors, mask{}), a.loadAt(operand.Mem{Base: factors, Disp: a.bytes()}, mask{})
	c := digits{asm: a, base: a.num(base), round: a.num(1.5 * (1 << 23))}
	if a.avx512 {
		c.from = []vec{a.word(0xffffff00), a.word(0xffff0000), a.word(0xff000000)}
	} else {
		c.low = a.word(0xff)
	}
	a.Label("loop")
	words := make([]vec, count)
	for row := range 4 {
		t := a.times(a.load(b, valid), first)
		a.ADDQ(ldb, b)
		scale := second
		for s := range words {
			shifted := a.fma(t, scale, c.round)
			if s < count-1 {
				rest := a.minus(shifted, c.round)
				a.VFMSUB231PS(scale, t, rest)
				t, scale = rest, c.base
			}
			words[s] = c.append(words[s], shifted, row)
		}
	}
	for s, w := range words {
		a.mov(w, operand.Mem{Base: q, Disp: s * a.bytes()})
	}
	a.ADDQ(operand.U32(count*a.bytes()), q)
	a.DECQ(groups)
	a.JNZ(operand.LabelRef("loop"))
	a.VZEROUPPER()
	a.RET()
}

// digits are the constants of quantize.
type digits struct {
	asm   asm
	base  vec
	round vec   // 1.5 2^23: a number added to it is rounded to an integer, which the lowest byte holds
	from  []vec // AVX-512: ones from byte 1, 2, 3 on
	low   vec   // AVX2: ones in byte 0
}

// append puts the lowest byte of v's words into the given byte of words.
func (d digits) append(words, v vec, place int) vec {
	if place == 0 {
		if d.asm.avx512 {
			return v
		}
		return d.asm.and(v, d.low)
	}
	if d.asm.avx512 {
		const second = 0xd8 // where the third operand's bit is set the second's, else the first's
		d.asm.VPTERNLOGD(operand.Imm(second), d.from[place-1], d.asm.shiftLeft(v, 8*place), words)
		return words
	}
	if place < 3 {
		v = d.asm.and(v, d.low)
	}
	return d.asm.or(words, d.asm.shiftLeft(v, 8*place))
}

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
