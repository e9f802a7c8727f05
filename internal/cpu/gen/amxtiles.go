package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The tiles of AMX: 16 rows of 64 bytes. TDPBUSD adds 16 rows of 64 unsigned bytes times 64 x 16
// signed bytes to 16 x 16 sums.
const (
	amxRows  = 16
	amxDepth = 64
	amxLanes = 16
	amxBytes = amxRows * amxDepth
	amxPair  = 2 * amxRows // rows of two tiles, whose sums the kernels compute together
	amxTiles = 8
)

// The general registers of a strip. The bytes of the tile instructions name them, so the emitter
// assigns them itself.
var (
	sumsTo    = reg.RAX // memory for the sums of a pair of tiles
	digitsAt  = reg.RBX
	steps     = reg.RCX
	rowsLeft  = reg.RDX
	firstX    = reg.RSI
	secondX   = reg.RDI
	line      = reg.R8 // 64: the distance of rows of X
	digitRow  = reg.R9 // the distance of rows of digits and of sums
	aheadX    = reg.R10
	aheadC    = reg.R11
	toC       = reg.R12
	stepC     = reg.R13
	waiting   = reg.R14 // rows whose sums are complete and not joined
	waitingAt = reg.R15
)

// The vector and mask registers of a strip.
var (
	columns        = reg.K1
	biases         = reg.Z27
	leading        = reg.Z28
	middle         = reg.Z29
	unitA, unitB   = reg.Z30, reg.Z31
	joinedA, termA = reg.Z0, reg.Z1
	joinedB, termB = reg.Z2, reg.Z3
)

// strip emits a product of 8-bit data with one panel of digits, for any number of rows of the
// result.
//
// The kernel computes two tiles of rows at a time. With three digits, the sums take six tiles, and
// one tile each holds data and digits: seven loads for six products. The complete sums go to
// memory. The kernel joins their digits, row by row, between the tile instructions of the next
// pair, because the tile unit leaves the other units idle.
type strip struct {
	amx
	digits  int
	forward bool        // Z = X W; otherwise G += X^T D
	after   *activation // what follows a forward product; nil: nothing
	labels  *int
	current operand.Mem // X of this pair of tiles, in the frame
}

// amxStrips emits the products of 8-bit data with digits on tiles.
func amxStrips(a asm) {
	if !a.avx512 || a.size != 4 {
		return
	}
	a.dispatch.strips = true
	for _, digits := range []int{3, 2} {
		for _, forward := range []bool{true, false} {
			strip{amx: amx{a}, digits: digits, forward: forward, labels: new(int)}.emit()
		}
		for _, after := range activations(a) {
			strip{amx: amx{a}, digits: digits, forward: true, after: &after, labels: new(int)}.emit()
		}
		pieces{strip{amx: amx{a}, digits: digits, labels: new(int)}}.emit()
	}
}

func (s strip) emit() {
	s.begin()
	s.current = s.AllocLocal(8)
	s.setup()
	s.Label("pair")
	s.MOVQ(s.current, firstX)
	s.MOVQ(s.param("panel"), secondX)
	s.ADDQ(firstX, secondX)
	s.MOVQ(s.param("q"), digitsAt)
	s.MOVQ(s.param("k"), steps)
	for tile := range 2 * s.digits {
		s.clear(tile)
	}
	s.CMPQ(rowsLeft, operand.Imm(amxRows))
	s.JLE(operand.LabelRef("single"))
	s.sums("double", 2)
	s.JMP(operand.LabelRef("stored"))
	s.Label("single")
	s.sums("lone", 1)
	s.Label("stored")
	s.MOVQ(sumsTo, waitingAt)
	s.MOVQ(operand.U32(amxPair), waiting)
	s.CMPQ(rowsLeft, waiting)
	s.CMOVQLT(rowsLeft, waiting)
	s.MOVQ(s.param("panel"), secondX)
	s.ADDQ(secondX, secondX)
	s.ADDQ(secondX, s.current)
	s.SUBQ(operand.Imm(amxPair), rowsLeft)
	s.JG(operand.LabelRef("pair"))
	s.drain()
	s.release()
	s.VZEROUPPER()
	s.RET()
}

func (s strip) begin() {
	name, unit := fmt.Sprintf("mulStrip%dAMX", s.digits), "unit *float64"
	doc := []string{
		fmt.Sprintf("computes C = X B for rows of X in panels of %d, and a panel of %d columns of B in %d digits:", amxRows, amxLanes, s.digits),
		"",
		"\tfor i in 0..rows-1, j in the bits of columns:",
		"\t\tI_s = sum_l x[i/16*panel + (l/64*16 + i%16)*64 + l%64]",
		fmt.Sprintf("\t\t\t* q[((l/4*%d + s)*16 + j)*4 + l%%4]   (l = 0..64k-1)", s.digits),
	}
	if s.forward {
		doc = append(doc, fmt.Sprintf("\t\tc[i*ldc+j] = unit[j] * %s", horner(s.digits)), "",
			"The I_s are exact, and so is their combination in float64. The product with unit and the conversion to float32",
			"are rounded.")
		if s.after != nil {
			name = fmt.Sprintf("mulStrip%d%sAMX", s.digits, s.after.name)
			unit += ", bias *float32"
			doc[0] = strings.Replace(doc[0], "C = X B", "C = f(X B + bias)", 1)
			doc[5] = fmt.Sprintf("\t\tz = unit[j] * %s + bias[j]", horner(s.digits))
			doc = slices.Insert(doc, 6, "\t\tc[i*ldc+j] = "+s.after.formula)
		}
	} else {
		name, unit = fmt.Sprintf("addStrip%dAMX", s.digits), "unit *float32"
		doc[0] = fmt.Sprintf("computes C += X B for rows of X in panels of %d, and a panel of %d columns of B in %d digits:", amxRows, amxLanes, s.digits)
		doc = append(doc, fmt.Sprintf("\t\tc[i*ldc+j] += %s * unit[j] * unit[%d+j]", horner(s.digits), amxLanes), "",
			"in float32, which holds the I_s exactly: k is at most 8.")
	}
	doc = append(doc, fmt.Sprintf("The function asks for the lines of X from x[ahead] on. sums has room for %d numbers. k > 0, rows > 0.",
		s.sumsBytes()/4))
	s.Function(name)
	s.Attributes(attr.NOSPLIT)
	s.document(name, doc)
	s.Pragma("noescape")
	s.SignatureExpr("func(k, rows int, x *uint8, panel int, q *int8, " + unit + ", c *float32, ldc, columns, ahead int, sums *int32)")
}

// sumsBytes is the size of the sums of two tiles of rows.
func (s strip) sumsBytes() int { return 2 * s.digits * amxRows * amxLanes * 4 }

// param returns the memory of an argument.
func (s strip) param(name string) operand.Mem {
	b, err := s.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// setup configures the tiles and loads the registers that keep their value.
func (s strip) setup() {
	s.LEAQ(s.shapes(), sumsTo)
	s.configure(sumsTo)
	s.MOVQ(s.param("columns"), sumsTo)
	s.KMOVW(sumsTo.As32(), columns)
	s.MOVQ(s.param("unit"), sumsTo)
	s.VMOVUPS(operand.Mem{Base: sumsTo}, unitA)
	s.VMOVUPS(operand.Mem{Base: sumsTo, Disp: 64}, unitB)
	if s.forward {
		s.VBROADCASTSD(s.table("base64", func() { s.AppendDatum(operand.F64(base)) }), middle)
	} else {
		s.VBROADCASTSS(s.table("base32", func() { s.AppendDatum(operand.F32(base)) }), middle)
		if s.digits == 3 {
			s.VBROADCASTSS(s.table("square32", func() { s.AppendDatum(operand.F32(base * base)) }), leading)
		} else {
			s.VBROADCASTSS(s.table("base32", nil), leading)
		}
	}
	if s.after != nil {
		s.MOVQ(s.param("bias"), sumsTo)
		s.VMOVUPS_Z(operand.Mem{Base: sumsTo}, columns, biases)
	}
	s.MOVQ(s.param("rows"), rowsLeft)
	s.MOVQ(s.param("x"), firstX)
	s.MOVQ(firstX, s.current)
	s.MOVQ(s.param("ahead"), aheadX)
	s.ADDQ(firstX, aheadX)
	s.MOVQ(s.param("c"), toC)
	s.MOVQ(s.param("ldc"), stepC)
	s.SHLQ(operand.Imm(2), stepC)
	if s.forward { // the next panel's line of the same row
		s.LEAQ(operand.Mem{Base: toC, Disp: 64}, aheadC)
	} else { // the row that the pair after adds to
		s.MOVQ(stepC, aheadC)
		s.SHLQ(operand.Imm(5), aheadC)
		s.ADDQ(toC, aheadC)
	}
	s.MOVQ(operand.U32(amxDepth), line)
	s.MOVQ(operand.U32(s.digits*amxLanes*4), digitRow)
	s.MOVQ(s.param("sums"), sumsTo)
	s.XORQ(waiting, waiting)
}

// shapes returns the configuration of the tiles: palette 1, all tiles of full size.
func (s strip) shapes() operand.Mem {
	return s.table("shapes", func() {
		s.AppendDatum(operand.U64(1))
		s.AppendDatum(operand.U64(0))
		for range amxTiles / 4 {
			s.AppendDatum(operand.U64(amxDepth * 0x0001000100010001))
		}
		s.AppendDatum(operand.U64(0))
		s.AppendDatum(operand.U64(0))
		s.AppendDatum(operand.U64(amxRows * 0x0101010101010101))
		s.AppendDatum(operand.U64(0))
	})
}

// sums emits the loop over the inner indices for one or two tiles of rows, and stores the sums. It
// joins all waiting rows.
func (s strip) sums(name string, tiles int) {
	s.Label(name)
	s.PREFETCHT1(operand.Mem{Base: aheadX})
	s.PREFETCHT1(operand.Mem{Base: aheadX, Disp: 64})
	s.ADDQ(operand.Imm(128), aheadX)
	if s.digits == 3 {
		s.threeDigits(tiles)
	} else {
		s.twoDigits(tiles)
	}
	s.ADDQ(operand.U32(amxBytes), firstX)
	s.ADDQ(operand.U32(amxBytes), secondX)
	s.ADDQ(operand.U32(amxBytes*s.digits), digitsAt)
	s.DECQ(steps)
	s.JNZ(operand.LabelRef(name))
	s.drain()
	for tile := range tiles * s.digits {
		s.save(tile, sumsTo, digitRow, tile/s.digits*s.sumsBytes()/2+tile%s.digits*64)
	}
}

// threeDigits emits the products of a step. The second tile of rows takes the digits in reverse
// order, so that its first product uses the digits that are already loaded.
func (s strip) threeDigits(tiles int) {
	const data, digits = 6, 7
	product := func(sum int) { s.dot(sum, data, digits); s.join() }
	s.load(data, firstX, line, 0)
	for d := range 3 {
		s.load(digits, digitsAt, digitRow, 64*d)
		product(d)
	}
	if tiles == 1 {
		return
	}
	s.load(data, secondX, line, 0)
	product(5)
	for d := 1; d >= 0; d-- {
		s.load(digits, digitsAt, digitRow, 64*d)
		product(3 + d)
	}
}

// twoDigits emits the products of a step, with a tile for each factor.
func (s strip) twoDigits(tiles int) {
	const data, digits = 4, 6
	product := func(tile, d int) { s.dot(2*tile+d, data+tile, digits+d); s.join() }
	s.load(data, firstX, line, 0)
	s.load(digits, digitsAt, digitRow, 0)
	product(0, 0)
	if tiles == 2 {
		s.load(data+1, secondX, line, 0)
		product(1, 0)
	}
	s.load(digits+1, digitsAt, digitRow, 64)
	for tile := range tiles {
		product(tile, 1)
	}
}

// drain joins all waiting rows.
func (s strip) drain() {
	loop, done := s.label("drain"), s.label("drained")
	s.TESTQ(waiting, waiting)
	s.JZ(operand.LabelRef(done))
	s.Label(loop)
	s.joinRow()
	s.JNZ(operand.LabelRef(loop))
	s.Label(done)
}

// join joins one row, if a row waits.
func (s strip) join() {
	skip := s.label("joined")
	s.TESTQ(waiting, waiting)
	s.JZ(operand.LabelRef(skip))
	s.joinRow()
	s.Label(skip)
}

// label returns a new label.
func (s strip) label(name string) string {
	*s.labels++
	return fmt.Sprintf("%s%d", name, *s.labels)
}

// joinRow combines the digits of the sums of a row, and writes or adds the result. It leaves the
// zero flag set if no further row waits.
func (s strip) joinRow() {
	if s.forward {
		s.joinForward()
	} else {
		s.joinBackward()
	}
	s.prefetchWrite(aheadC)
	s.VMOVUPS(joinedA, columns, operand.Mem{Base: toC})
	s.ADDQ(stepC, toC)
	s.ADDQ(stepC, aheadC)
	s.ADDQ(digitRow, waitingAt)
	s.DECQ(waiting)
}

// joinForward computes unit (I_0 base^(K-1) + ... + I_(K-1)) in float64, in two halves, and rounds
// to float32.
func (s strip) joinForward() {
	for half, to := range []reg.VecPhysical{joinedA, joinedB} {
		term := []reg.VecPhysical{termA, termB}[half]
		at := operand.Mem{Base: waitingAt, Disp: 32 * half}
		s.VCVTDQ2PD(at, to)
		for d := 1; d < s.digits; d++ {
			s.VCVTDQ2PD(at.Offset(64*d), term)
			s.VFMADD213PD(term, middle, to)
		}
		s.VMULPD([]reg.VecPhysical{unitA, unitB}[half], to, to)
		s.VCVTPD2PS(to, to.AsY())
	}
	s.VINSERTF64X4(operand.Imm(1), joinedB.AsY(), joinedA, joinedA)
	if s.after != nil {
		z := s.vec()
		s.VADDPS(biases, joinedA, z)
		s.VMOVAPS(s.after.of(z), joinedA)
	}
}

// joinBackward adds (I_0 base^(K-1) + ... + I_(K-1)) unit in float32, in the order of addBytes.
func (s strip) joinBackward() {
	at := operand.Mem{Base: waitingAt}
	s.VCVTDQ2PS(at, joinedA)
	s.VCVTDQ2PS(at.Offset(64), joinedB)
	if s.digits == 3 {
		s.VCVTDQ2PS(at.Offset(128), termA)
		s.VFMADD213PS(termA, middle, joinedB)
	}
	s.VFMADD213PS(joinedB, leading, joinedA)
	s.VMULPS(unitA, joinedA, joinedA)
	s.VMOVUPS_Z(operand.Mem{Base: toC}, columns, termB)
	s.VFMADD213PS(termB, unitB, joinedA)
}
