package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// byteRows is the number of rows of a panel of 8-bit data, and of an AVX-512 tile: with three
// digits 24 of 32 registers are sums.
const byteRows = 8

// quad is the number of inner indices that VPDPBUSD takes at a time.
const quad = 4

// base is the base of the digits, which are -127 to 127. Package kernel has the same constant.
const base = 254

// ahead is the distance at which digits are prefetched from the level-2 cache, in steps of four
// inner indices. A panel of digits is larger than the level-1 cache.
const ahead = 8

// A dot emits sums of four products of unsigned and signed 8-bit integers that are added to 32-bit
// sums without saturation: VPDPBUSD in one of its encodings.
type dot struct {
	asm    asm
	suffix string
	vex    bool // AVX-VNNI, which the assembler lacks: the bytes are written out
}

// tilesOfBytes emits the products of 8-bit data with digits. The 256-bit tiles have both encodings,
// because a machine may know only one of them.
func tilesOfBytes(a asm) {
	switch {
	case a.size != 4:
	case a.avx512:
		dot{a, "AVX512VNNI", false}.tiles("avx512_vnni", "hasAVX512VNNI")
	default:
		dot{a, "AVXVNNI", true}.tiles("avx_vnni", "hasAVXVNNI")
		dot{a, "AVX512VL", false}.tiles("avx512_vnni", "hasAVX512VNNI | hasAVX512VL")
	}
}

func (d dot) tiles(instruction, needs string) {
	d.asm.dispatch.addTiles(byteTiles{d.asm.target, d.suffix, instruction, needs, d.tileRows(), d.asm.lanes()})
	for _, digits := range []int{3, 2} {
		d.mulBytes(digits)
		d.addBytes(digits)
	}
}

// tileRows returns the height of a tile: 24 sums of 32 registers, or 12 of 16.
func (d dot) tileRows() int {
	if d.asm.avx512 {
		return byteRows
	}
	return byteRows / 2
}

// begin begins a function.
func (d dot) begin(name, signature string, doc ...string) {
	d.asm.Function(name + d.suffix)
	d.asm.Attributes(attr.NOSPLIT)
	d.asm.document(name+d.suffix, doc)
	d.asm.Pragma("noescape")
	d.asm.SignatureExpr(signature)
}

// mulBytes emits Z = X B or Z += X B for rows of a panel.
func (d dot) mulBytes(digits int) {
	rows, lanes := d.tileRows(), d.asm.lanes()
	d.begin(fmt.Sprintf("mulBytes%d", digits), "func(k int, x *uint8, q *int8, unit *float64, c *float32, ldc int, add bool)",
		fmt.Sprintf("computes C = X B, or C += X B if add, for a tile of %d x %d and B in %d digits:", rows, lanes, digits),
		"",
		fmt.Sprintf("\tfor i in 0..%d, j in 0..%d:", rows-1, lanes-1),
		fmt.Sprintf("\t\tI_s = sum_l x[l/4*%d + i*4 + l%%4] * q[((l/4*%d + s)*%d + j)*4 + l%%4]   (l = 0..4k-1)",
			4*byteRows, digits, lanes),
		fmt.Sprintf("\t\tc[i*ldc+j] = (add ? c[i*ldc+j] : 0) + unit[j] * %s", horner(digits)),
		"",
		"The I_s are exact, and so is their combination in float64. The product with unit and the conversion to float32",
		"are rounded. k > 0.")
	k, x, q := d.asm.gp("k"), d.asm.gp("x"), d.asm.gp("q")
	c, ldc := d.asm.output(rows)
	acc := d.dots(k, x, q, digits)
	unit := d.asm.gp("unit")
	results := make([]vec, rows)
	bases := d.bases()
	for i := range results {
		results[i] = d.combined(acc[i*digits:][:digits], bases, unit)
	}
	d.asm.store(results, 1, c, ldc)
}

// addBytes emits G += X^T D for columns of a panel of X^T.
func (d dot) addBytes(digits int) {
	rows, lanes := d.tileRows(), d.asm.lanes()
	d.begin(fmt.Sprintf("addBytes%d", digits), "func(k int, x *uint8, q *int8, units, c *float32, ldc int)",
		fmt.Sprintf("computes C += X^T D for a tile of %d x %d and D in %d digits, with I_s as in mulBytes%d:", rows, lanes, digits, digits),
		"",
		fmt.Sprintf("\tfor i in 0..%d, j in 0..%d:", rows-1, lanes-1),
		fmt.Sprintf("\t\tc[i*ldc+j] += %s * units[j] * units[%d+j]", horner(digits), lanes),
		"",
		"in float32, which holds the I_s exactly: 0 < k <= 129.")
	k, x, q := d.asm.gp("k"), d.asm.gp("x"), d.asm.gp("q")
	acc := d.dots(k, x, q, digits)
	units, c, ldc := d.asm.gp("units"), d.asm.gp("c"), d.asm.gp("ldc")
	d.asm.scale(ldc)
	second := d.asm.vec()
	d.asm.mov(operand.Mem{Base: units, Disp: d.asm.bytes()}, second)
	middle, leading := d.asm.num(base), d.asm.num(base)
	if digits == 3 {
		leading = d.asm.num(base * base)
	}
	for i := range rows {
		s := acc[i*digits:][:digits]
		for _, v := range s {
			d.asm.VCVTDQ2PS(v, v)
		}
		if digits == 3 {
			d.asm.VFMADD213PS(s[2], middle, s[1])
		}
		d.asm.VFMADD213PS(s[1], leading, s[0])
		d.asm.VMULPS(operand.Mem{Base: units}, s[0], s[0])
		d.asm.VFMADD213PS(operand.Mem{Base: c}, second, s[0])
		d.asm.mov(s[0], operand.Mem{Base: c})
		if i < rows-1 {
			d.asm.ADDQ(ldc, c)
		}
	}
	d.asm.VZEROUPPER()
	d.asm.RET()
}

// horner returns the formula that combines the sums of the digits.
func horner(digits int) string {
	if digits == 3 {
		return fmt.Sprintf("(I_0 * %d^2 + I_1 * %d + I_2)", base, base)
	}
	return fmt.Sprintf("(I_0 * %d + I_1)", base)
}

// dots emits the loop over the inner indices, four at a time, and returns the sums, those of a
// row's digits together. It chooses its registers itself, because the bytes of an instruction that
// is written out name them.
func (d dot) dots(k, x, q reg.GPVirtual, digits int) []operand.Op {
	rows := d.tileRows()
	register := func(i int) reg.Register {
		size := reg.S256
		if d.asm.avx512 {
			size = reg.S512
		}
		return reg.Vector.Lookup(reg.Index(i), size)
	}
	acc := make([]operand.Op, rows*digits)
	for i := range acc {
		acc[i] = register(i)
		if d.asm.avx512 {
			d.asm.VPXORD(acc[i], acc[i], acc[i])
		} else {
			d.asm.VXORPS(acc[i], acc[i], acc[i])
		}
	}
	factors, broadcast := len(acc), len(acc)+digits
	d.asm.Label("loop")
	for s := range digits {
		d.asm.mov(operand.Mem{Base: q, Disp: s * d.asm.bytes()}, register(factors+s))
		d.asm.PREFETCHT0(operand.Mem{Base: q, Disp: (s + ahead*digits) * d.asm.bytes()})
	}
	for i := range rows {
		d.asm.VPBROADCASTD(operand.Mem{Base: x, Disp: 4 * i}, register(broadcast))
		for s := range digits {
			d.dot(factors+s, broadcast, i*digits+s, register)
		}
	}
	d.asm.ADDQ(operand.Imm(4*byteRows), x)
	d.asm.ADDQ(operand.U32(digits*d.asm.bytes()), q)
	d.asm.DECQ(k)
	d.asm.JNZ(operand.LabelRef("loop"))
	return acc
}

// dot emits VPDPBUSD of registers with those numbers.
func (d dot) dot(signed, unsigned, sum int, register func(i int) reg.Register) {
	if !d.vex {
		d.asm.VPDPBUSD(register(signed), register(unsigned), register(sum))
		return
	}
	d.asm.Comment(fmt.Sprintf("VPDPBUSD Y%d, Y%d, Y%d", signed, unsigned, sum))
	for i, b := range vexDot(signed, unsigned, sum) {
		code := &ir.Instruction{Opcode: "BYTE", Operands: []operand.Op{operand.U8(b)}}
		if i == 0 {
			code.Inputs = []operand.Op{register(signed), register(unsigned), register(sum)}
			code.Outputs = []operand.Op{register(sum)}
		}
		d.asm.Instruction(code)
	}
}

// vexDot encodes {vex} VPDPBUSD of 256 bits: VEX.256.66.0F38.W0 50 /r, with sum in ModRM.reg,
// unsigned in VEX.vvvv and signed in ModRM.rm (Intel's manual, volume 2).
func vexDot(signed, unsigned, sum int) [5]byte {
	const map0F38, w0L256p66, registers = 0x02, 0x05, 0xc0
	absent := func(register int, bit uint) byte { return byte(^register>>3&1) << bit }
	return [5]byte{
		0xc4,
		absent(sum, 7) | 1<<6 | absent(signed, 5) | map0F38,
		byte(^unsigned&15)<<3 | w0L256p66,
		0x50,
		registers | byte(sum&7)<<3 | byte(signed&7),
	}
}

// bases returns a vector of the digits' base in float64. It stays in memory: the 256-bit tile of
// three digits has no register for it.
func (d dot) bases() operand.Mem {
	return d.asm.table("base64", func() {
		for range 8 {
			d.asm.AppendDatum(operand.F64(base))
		}
	})
}

// combined returns a row's unit (I_0 base^(K-1) + ... + I_(K-1)), rounded to float32. It computes
// the lower columns in the registers of the sums.
func (d dot) combined(sums []operand.Op, bases operand.Mem, unit reg.GPVirtual) vec {
	var upper, lower []operand.Op
	for _, sum := range sums {
		wide := d.asm.vec()
		d.upperHalf(sum.(reg.VecPhysical), wide)
		upper = append(upper, wide)
	}
	high, result := d.asm.vec(), d.asm.vec()
	d.join(upper, bases, operand.Mem{Base: unit, Disp: d.asm.bytes()}, high)
	for _, sum := range sums {
		v := sum.(reg.VecPhysical)
		d.asm.VCVTDQ2PD(d.lowerPart(v), v)
		lower = append(lower, v)
	}
	low := sums[0].(reg.VecPhysical)
	d.join(lower, bases, operand.Mem{Base: unit}, low)
	if d.asm.avx512 {
		d.asm.VINSERTF64X4(operand.Imm(1), high.AsY(), low, result)
	} else {
		d.asm.VINSERTF128(operand.Imm(1), high.AsX(), low, result)
	}
	return result
}

// join combines numbers in float64, and writes them in float32 to the lower half of a register.
func (d dot) join(numbers []operand.Op, bases, unit operand.Mem, to reg.Vec) {
	total := numbers[0]
	for _, v := range numbers[1:] {
		d.asm.VFMADD132PD(bases, v, total)
	}
	d.asm.VMULPD(unit, total, total)
	if d.asm.avx512 {
		d.asm.VCVTPD2PS(total, d.lowerPart(to))
	} else {
		d.asm.VCVTPD2PSY(total, d.lowerPart(to))
	}
}

// upperHalf widens the upper half of 32-bit integers to float64.
func (d dot) upperHalf(v reg.VecPhysical, wide vec) {
	if d.asm.avx512 {
		d.asm.VEXTRACTI64X4(operand.Imm(1), v, wide.AsY())
	} else {
		d.asm.VEXTRACTI128(operand.Imm(1), v, wide.AsX())
	}
	d.asm.VCVTDQ2PD(d.lowerPart(wide), wide)
}

// lowerPart returns the lower half of a vector register.
func (d dot) lowerPart(v reg.Vec) reg.Register {
	if d.asm.avx512 {
		return v.AsY()
	}
	return v.AsX()
}
