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
	}
}

func (s strip) emit() {
	s.begin()
	s.current = s.asm.AllocLocal(8)
	s.setup()
	s.asm.Label("pair")
	s.asm.MOVQ(s.current, firstX)
	s.asm.MOVQ(s.param("panel"), secondX)
	s.asm.ADDQ(firstX, secondX)
	s.asm.MOVQ(s.param("q"), digitsAt)
	s.asm.MOVQ(s.param("k"), steps)
	for tile := range 2 * s.digits {
		s.clear(tile)
	}
	s.asm.CMPQ(rowsLeft, operand.Imm(amxRows))
	s.asm.JLE(operand.LabelRef("single"))
	s.sums("double", 2)
	s.asm.JMP(operand.LabelRef("stored"))
	s.asm.Label("single")
	s.sums("lone", 1)
	s.asm.Label("stored")
	s.asm.MOVQ(sumsTo, waitingAt)
	s.asm.MOVQ(operand.U32(amxPair), waiting)
	s.asm.CMPQ(rowsLeft, waiting)
	s.asm.CMOVQLT(rowsLeft, waiting)
	s.asm.MOVQ(s.param("panel"), secondX)
	s.asm.ADDQ(secondX, secondX)
	s.asm.ADDQ(secondX, s.current)
	s.asm.SUBQ(operand.Imm(amxPair), rowsLeft)
	s.asm.JG(operand.LabelRef("pair"))
	s.drain()
	s.release()
	s.asm.VZEROUPPER()
	s.asm.RET()
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
	s.asm.Function(name)
	s.asm.Attributes(attr.NOSPLIT)
	s.asm.document(name, doc)
	s.asm.Pragma("noescape")
	s.asm.SignatureExpr("func(k, rows int, x *uint8, panel int, q *int8, " + unit + ", c *float32, ldc, columns, ahead int, sums *int32)")
}

// sumsBytes is the size of the sums of two tiles of rows.
func (s strip) sumsBytes() int { return 2 * s.digits * amxRows * amxLanes * 4 }

// param returns the memory of an argument.
func (s strip) param(name string) operand.Mem {
	b, err := s.asm.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// setup configures the tiles and loads the registers that keep their value.
func (s strip) setup() {
	s.asm.LEAQ(s.shapes(), sumsTo)
	s.configure(sumsTo)
	s.asm.MOVQ(s.param("columns"), sumsTo)
	s.asm.KMOVW(sumsTo.As32(), columns)
	s.asm.MOVQ(s.param("unit"), sumsTo)
	s.asm.VMOVUPS(operand.Mem{Base: sumsTo}, unitA)
	s.asm.VMOVUPS(operand.Mem{Base: sumsTo, Disp: 64}, unitB)
	if s.forward {
		s.asm.VBROADCASTSD(s.asm.table("base64", func() { s.asm.AppendDatum(operand.F64(base)) }), middle)
	} else {
		s.asm.VBROADCASTSS(s.asm.table("base32", func() { s.asm.AppendDatum(operand.F32(base)) }), middle)
		if s.digits == 3 {
			s.asm.VBROADCASTSS(s.asm.table("square32", func() { s.asm.AppendDatum(operand.F32(base * base)) }), leading)
		} else {
			s.asm.VBROADCASTSS(s.asm.table("base32", nil), leading)
		}
	}
	if s.after != nil {
		s.asm.MOVQ(s.param("bias"), sumsTo)
		s.asm.VMOVUPS_Z(operand.Mem{Base: sumsTo}, columns, biases)
	}
	s.asm.MOVQ(s.param("rows"), rowsLeft)
	s.asm.MOVQ(s.param("x"), firstX)
	s.asm.MOVQ(firstX, s.current)
	s.asm.MOVQ(s.param("ahead"), aheadX)
	s.asm.ADDQ(firstX, aheadX)
	s.asm.MOVQ(s.param("c"), toC)
	s.asm.MOVQ(s.param("ldc"), stepC)
	s.asm.SHLQ(operand.Imm(2), stepC)
	if s.forward { // the next panel's line of the same row
		s.asm.LEAQ(operand.Mem{Base: toC, Disp: 64}, aheadC)
	} else { // the row that the pair after adds to
		s.asm.MOVQ(stepC, aheadC)
		s.asm.SHLQ(operand.Imm(5), aheadC)
		s.asm.ADDQ(toC, aheadC)
	}
	s.asm.MOVQ(operand.U32(amxDepth), line)
	s.asm.MOVQ(operand.U32(s.digits*amxLanes*4), digitRow)
	s.asm.MOVQ(s.param("sums"), sumsTo)
	s.asm.XORQ(waiting, waiting)
}

// shapes returns the configuration of the tiles: palette 1, all tiles of full size.
func (s strip) shapes() operand.Mem {
	return s.asm.table("shapes", func() {
		s.asm.AppendDatum(operand.U64(1))
		s.asm.AppendDatum(operand.U64(0))
		for range amxTiles / 4 {
			s.asm.AppendDatum(operand.U64(amxDepth * 0x0001000100010001))
		}
		s.asm.AppendDatum(operand.U64(0))
		s.asm.AppendDatum(operand.U64(0))
		s.asm.AppendDatum(operand.U64(amxRows * 0x0101010101010101))
		s.asm.AppendDatum(operand.U64(0))
	})
}

// sums emits the loop over the inner indices for one or two tiles of rows, and stores the sums. It
// joins all waiting rows.
func (s strip) sums(name string, tiles int) {
	s.asm.Label(name)
	s.asm.PREFETCHT1(operand.Mem{Base: aheadX})
	s.asm.PREFETCHT1(operand.Mem{Base: aheadX, Disp: 64})
	s.asm.ADDQ(operand.Imm(128), aheadX)
	if s.digits == 3 {
		s.threeDigits(tiles)
	} else {
		s.twoDigits(tiles)
	}
	s.asm.ADDQ(operand.U32(amxBytes), firstX)
	s.asm.ADDQ(operand.U32(amxBytes), secondX)
	s.asm.ADDQ(operand.U32(amxBytes*s.digits), digitsAt)
	s.asm.DECQ(steps)
	s.asm.JNZ(operand.LabelRef(name))
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
	s.asm.TESTQ(waiting, waiting)
	s.asm.JZ(operand.LabelRef(done))
	s.asm.Label(loop)
	s.joinRow()
	s.asm.JNZ(operand.LabelRef(loop))
	s.asm.Label(done)
}

// join joins one row, if a row waits.
func (s strip) join() {
	skip := s.label("joined")
	s.asm.TESTQ(waiting, waiting)
	s.asm.JZ(operand.LabelRef(skip))
	s.joinRow()
	s.asm.Label(skip)
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
	s.asm.VMOVUPS(joinedA, columns, operand.Mem{Base: toC})
	s.asm.ADDQ(stepC, toC)
	s.asm.ADDQ(stepC, aheadC)
	s.asm.ADDQ(digitRow, waitingAt)
	s.asm.DECQ(waiting)
}

// joinForward computes unit (I_0 base^(K-1) + ... + I_(K-1)) in float64, in two halves, and rounds
// to float32.
func (s strip) joinForward() {
	for half, to := range []reg.VecPhysical{joinedA, joinedB} {
		term := []reg.VecPhysical{termA, termB}[half]
		at := operand.Mem{Base: waitingAt, Disp: 32 * half}
		s.asm.VCVTDQ2PD(at, to)
		for d := 1; d < s.digits; d++ {
			s.asm.VCVTDQ2PD(at.Offset(64*d), term)
			s.asm.VFMADD213PD(term, middle, to)
		}
		s.asm.VMULPD([]reg.VecPhysical{unitA, unitB}[half], to, to)
		s.asm.VCVTPD2PS(to, to.AsY())
	}
	s.asm.VINSERTF64X4(operand.Imm(1), joinedB.AsY(), joinedA, joinedA)
	if s.after != nil {
		z := s.asm.vec()
		s.asm.VADDPS(biases, joinedA, z)
		s.asm.VMOVAPS(s.after.of(z), joinedA)
	}
}

// joinBackward adds (I_0 base^(K-1) + ... + I_(K-1)) unit in float32, in the order of addBytes.
func (s strip) joinBackward() {
	at := operand.Mem{Base: waitingAt}
	s.asm.VCVTDQ2PS(at, joinedA)
	s.asm.VCVTDQ2PS(at.Offset(64), joinedB)
	if s.digits == 3 {
		s.asm.VCVTDQ2PS(at.Offset(128), termA)
		s.asm.VFMADD213PS(termA, middle, joinedB)
	}
	s.asm.VFMADD213PS(joinedB, leading, joinedA)
	s.asm.VMULPS(unitA, joinedA, joinedA)
	s.asm.VMOVUPS_Z(operand.Mem{Base: toC}, columns, termB)
	s.asm.VFMADD213PS(termB, unitB, joinedA)
}

// An activation is a function that a forward product applies to its result and a bias. The tile
// unit computes the next sums meanwhile, so that the function takes hardly any time of its own.
type activation struct {
	name, formula string
	of            func(z vec) vec
}

// amxActivated returns the emitter of the forward products of 8-bit data on tiles that one function
// follows, by the function's place in the list.
func amxActivated(function int) func(a asm) {
	return func(a asm) {
		if !a.avx512 || a.size != 4 {
			return
		}
		for _, digits := range []int{3, 2} {
			strip{amx: amx{a}, digits: digits, forward: true, after: &activations(a)[function], labels: new(int)}.emit()
		}
	}
}

// activations lists the functions, which have the instructions and so the bits of the passes
// biasSigmoid, biasTanh and biasReLU.
func activations(a asm) []activation {
	return []activation{
		{"Sigmoid", "1 / (1 + e^-z)", a.sigmoid},
		{"Tanh", "tanh(z)", a.tanh},
		{"ReLU", "z, or -0 where z is below 0", a.relu},
	}
}
