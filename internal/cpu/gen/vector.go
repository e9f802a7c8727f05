package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A vec is a register that holds a vector. Operations return new registers, so that code reads as
// expressions; the assembler assigns the registers.
type vec = reg.VecVirtual

// constants are the tables of a file by name: words that kernels broadcast, and others.
type constants map[string]operand.Mem

// table returns the table of a name, in read-only memory. appendData adds its data at the first
// use.
func (a asm) table(name string, appendData func()) operand.Mem {
	t, ok := a.constants[name]
	if !ok {
		t = a.StaticGlobal(name)
		a.DataAttributes(attr.RODATA | attr.NOPTR)
		appendData()
		a.constants[name] = t
	}
	return t
}

// word broadcasts a bit pattern.
func (a asm) word(bits uint64) vec {
	v := a.vec()
	a.splat(a.table(fmt.Sprintf("word%d_%x", 8*a.size, bits), func() { a.appendWord(bits) }), v)
	return v
}

// appendWord adds the bits of an element to a table.
func (a asm) appendWord(bits uint64) {
	if a.size == 4 {
		a.AppendDatum(operand.U32(bits))
	} else {
		a.AppendDatum(operand.U64(bits))
	}
}

// num broadcasts a number, rounded to the element type.
func (a asm) num(x float64) vec { return a.word(a.bitsOf(x)) }

func (a asm) bitsOf(x float64) uint64 {
	if a.size == 4 {
		return uint64(math.Float32bits(float32(x)))
	}
	return math.Float64bits(x)
}

// mantissa returns the number of explicit bits of the significand.
func (t target) mantissa() int {
	if t.size == 4 {
		return 23
	}
	return 52
}

// sign returns the sign bit.
func (t target) sign() uint64 { return 1 << (8*t.size - 1) }

// bias returns the bias of the exponent.
func (t target) bias() int {
	if t.size == 4 {
		return 127
	}
	return 1023
}

// to returns a new register that an instruction wrote.
func (a asm) to(f instruction, ops ...operand.Op) vec {
	v := a.vec()
	f(append(ops, v)...)
	return v
}

func (a asm) plus(x, y vec) vec  { return a.to(a.pick(a.VADDPS, a.VADDPD), y, x) }
func (a asm) minus(x, y vec) vec { return a.to(a.pick(a.VSUBPS, a.VSUBPD), y, x) }
func (a asm) times(x, y vec) vec { return a.to(a.pick(a.VMULPS, a.VMULPD), y, x) }
func (a asm) over(x, y vec) vec  { return a.to(a.pick(a.VDIVPS, a.VDIVPD), y, x) }

// atLeast returns max(x, y), and x for NaN in x.
func (a asm) atLeast(x, y vec) vec { return a.to(a.pick(a.VMAXPS, a.VMAXPD), x, y) }

// atMost returns min(x, y), and x for NaN in x.
func (a asm) atMost(x, y vec) vec { return a.to(a.pick(a.VMINPS, a.VMINPD), x, y) }

// fma returns x y + z, rounded once.
func (a asm) fma(x, y, z vec) vec {
	v := a.copy(z)
	a.pick(a.VFMADD231PS, a.VFMADD231PD)(y, x, v)
	return v
}

// fnma returns z - x y, rounded once.
func (a asm) fnma(x, y, z vec) vec {
	v := a.copy(z)
	a.pick(a.VFNMADD231PS, a.VFNMADD231PD)(y, x, v)
	return v
}

func (a asm) copy(x vec) vec { return a.to(a.pick(a.VMOVAPS, a.VMOVAPD), x) }

// horner returns c[0] + c[1] x + c[2] x^2 + ..., a chain of fused multiply-adds.
func (a asm) horner(x vec, c []float64) vec {
	p := a.num(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		a.pick(a.VFMADD213PS, a.VFMADD213PD)(a.num(c[i]), x, p)
	}
	return p
}

// round returns the nearest integer, ties to even.
func (a asm) round(x vec) vec {
	if a.avx512 {
		return a.to(a.pick(a.VRNDSCALEPS, a.VRNDSCALEPD), operand.Imm(0), x)
	}
	return a.to(a.pick(three(a.VROUNDPS), three(a.VROUNDPD)), operand.Imm(0), x)
}

// Bitwise operations.

func (a asm) and(x, y vec) vec { return a.bitwise(a.VPANDD, a.VANDPS, x, y) }
func (a asm) or(x, y vec) vec  { return a.bitwise(a.VPORD, a.VORPS, x, y) }

func (a asm) bitwise(avx512, avx2 instruction, x, y vec) vec {
	if a.avx512 {
		return a.to(avx512, y, x)
	}
	return a.to(avx2, y, x)
}

// Operations on the elements as integers.

func (a asm) intPlus(x, y vec) vec { return a.to(a.pick(a.VPADDD, a.VPADDQ), y, x) }

func (a asm) shiftLeft(x vec, n int) vec {
	return a.to(a.pick(a.VPSLLD, a.VPSLLQ), operand.Imm(uint64(n)), x)
}

func (a asm) shiftRight(x vec, n int) vec {
	return a.to(a.pick(a.VPSRLD, a.VPSRLQ), operand.Imm(uint64(n)), x)
}

// Comparisons in the encoding of the instructions: ordered and quiet, so false if an operand is
// NaN.
const (
	equalTo     = 0x00
	lessThan    = 0x11
	greaterThan = 0x1e
)

// choose returns yes where x compares to y in this way, and no elsewhere.
func (a asm) choose(x vec, comparison int, y, yes, no vec) vec {
	if a.avx512 {
		k := a.K()
		a.pick(a.VCMPPS, a.VCMPPD)(operand.Imm(uint64(comparison)), y, x, k)
		return a.to(a.pick(a.VBLENDMPS, a.VBLENDMPD), yes, no, k)
	}
	m := a.to(a.pick(a.VCMPPS, a.VCMPPD), operand.Imm(uint64(comparison)), y, x)
	return a.to(a.pick(four(a.VBLENDVPS), four(a.VBLENDVPD)), m, yes, no)
}

// negligible returns the exponent of the power of two below which the magnitude of a derivative
// counts as zero. Package kernel has the same numbers, and the reason.
func (t target) negligible() int {
	if t.size == 4 {
		return -100
	}
	return -960
}

// significant returns x, and zero for a negligible x.
func (a asm) significant(x vec) vec {
	return a.choose(a.magnitude(x), lessThan, a.num(math.Ldexp(1, a.negligible())), a.num(0), x)
}

// saveDerivative writes x y or, if add, adds it to out, fused. A negligible result is zero.
func (a asm) saveDerivative(x, y vec, out operand.Mem, add bool, m mask) {
	var d vec
	if add {
		d = a.fma(x, y, a.loadAt(out, m))
	} else {
		d = a.times(x, y)
	}
	a.saveAt(a.significant(d), out, m)
}

// powerOfTwo returns 2^n for integers n that are normal exponents. Adding 1.5 2^p puts n into the
// low bits of the significand of p bits.
func (a asm) powerOfTwo(n vec) vec {
	shifted := a.plus(n, a.num(1.5*float64(uint64(1)<<a.mantissa())))
	return a.intPlus(a.shiftLeft(shifted, a.mantissa()), a.num(1))
}

// scaled returns x 2^n for integers n, rounded once.
func (a asm) scaled(x, n vec) vec {
	if a.avx512 {
		return a.to(a.pick(a.VSCALEFPS, a.VSCALEFPD), n, x)
	}
	half := a.round(a.times(n, a.num(0.5)))
	return a.times(a.times(x, a.powerOfTwo(half)), a.powerOfTwo(a.minus(n, half)))
}
