package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The inner indices of TDPBF16PS, and the steps of a sum in a tile. A sum of 160 products is then
// added in float32: longer sums in a tile are less accurate than float32.
const (
	bfloat16Depth = 32
	bfloat16Steps = 5
)

// amxBFloat16 emits the products of two factors in digits of bfloat16 on tiles.
func amxBFloat16(a asm) {
	if !a.avx512 || a.size != 4 {
		return
	}
	for _, digits := range []int{3, 2} {
		pieces{strip{amx: amx{a}, digits: digits, labels: new(int)}}.emit()
	}
}

// pieces emits a product of two factors in digits of bfloat16 with one panel of the second factor.
//
// The kernel computes two tiles of rows at a time. Two tiles hold the sums, and one tile each holds
// a digit: with three digits, nine loads for twelve products.
type pieces struct{ strip }

func (s pieces) emit() {
	stepsLeft, to := reg.R9, reg.R10 // of the sum in a tile; rows of C that receive it
	s.asm.Function(fmt.Sprintf("bfloat16Strip%dAMX", s.digits))
	s.asm.Attributes(attr.NOSPLIT)
	s.asm.document(fmt.Sprintf("bfloat16Strip%dAMX", s.digits), []string{
		fmt.Sprintf("computes C += X B for rows of X in panels of %d numbers, and %d columns of B, both in %d digits:", amxRows, amxLanes, s.digits),
		"",
		"\tfor i in 0..rows-1, j in the bits of columns:",
		fmt.Sprintf("\t\tX_p[i,l] = x[i/16*panel/2 + (l/32*%d + p)*512 + i%%16*32 + l%%32]", s.digits),
		fmt.Sprintf("\t\tB_q[l,j] = b[(l/32*%d + q)*512 + l%%32/2*32 + j*2 + l%%2]", s.digits),
		fmt.Sprintf("\t\tc[i*ldc+j] += sum_l sum_(p+q<%d) X_p[i,l] B_q[l,j]   (l = 160 b .. 160 b + 159), for each b", s.digits),
		"",
		"The sums of TDPBF16PS take the products of 32 inner indices in the order of decreasing p, then q. They are added to c",
		"in float32. panel is in bytes. k is the number of groups of 32 inner indices. sums has room for 512 numbers. k > 0, rows > 0.",
	})
	s.asm.Pragma("noescape")
	s.asm.SignatureExpr("func(k, rows int, x *uint16, panel int, b *uint16, c *float32, ldc, columns int, sums *float32)")
	s.current = s.asm.AllocLocal(8)

	s.asm.LEAQ(s.shapes(), sumsTo)
	s.configure(sumsTo)
	s.asm.MOVQ(s.param("columns"), sumsTo)
	s.asm.KMOVW(sumsTo.As32(), columns)
	s.asm.MOVQ(s.param("rows"), rowsLeft)
	s.asm.MOVQ(s.param("x"), firstX)
	s.asm.MOVQ(firstX, s.current)
	s.asm.MOVQ(s.param("c"), toC)
	s.asm.MOVQ(s.param("ldc"), stepC)
	s.asm.SHLQ(operand.Imm(2), stepC)
	s.asm.MOVQ(operand.U32(amxDepth), line)
	s.asm.MOVQ(s.param("sums"), sumsTo)

	s.asm.Label("pair")
	s.asm.MOVQ(s.current, firstX)
	s.asm.MOVQ(s.param("panel"), secondX)
	s.asm.ADDQ(firstX, secondX)
	s.asm.MOVQ(s.param("b"), digitsAt)
	s.asm.MOVQ(s.param("k"), steps)
	s.asm.Label("block")
	s.clear(0)
	s.clear(1)
	s.asm.MOVQ(operand.U32(bfloat16Steps), stepsLeft)
	s.asm.CMPQ(steps, stepsLeft)
	s.asm.CMOVQLT(steps, stepsLeft)
	s.asm.SUBQ(stepsLeft, steps)
	s.asm.CMPQ(rowsLeft, operand.Imm(amxRows))
	s.asm.JLE(operand.LabelRef("lone"))
	s.step("double", 2, stepsLeft)
	s.asm.JMP(operand.LabelRef("summed"))
	s.step("lone", 1, stepsLeft)
	s.asm.Label("summed")
	s.save(0, sumsTo, line, 0)
	s.save(1, sumsTo, line, amxBytes)
	s.asm.MOVQ(sumsTo, waitingAt)
	s.asm.MOVQ(toC, to)
	s.asm.MOVQ(operand.U32(amxPair), waiting)
	s.asm.CMPQ(rowsLeft, waiting)
	s.asm.CMOVQLT(rowsLeft, waiting)
	s.asm.Label("add")
	s.asm.VMOVUPS(operand.Mem{Base: waitingAt}, joinedA)
	s.asm.VMOVUPS_Z(operand.Mem{Base: to}, columns, termA)
	s.asm.VADDPS(joinedA, termA, joinedA)
	s.asm.VMOVUPS(joinedA, columns, operand.Mem{Base: to})
	s.asm.ADDQ(stepC, to)
	s.asm.ADDQ(line, waitingAt)
	s.asm.DECQ(waiting)
	s.asm.JNZ(operand.LabelRef("add"))
	s.asm.TESTQ(steps, steps)
	s.asm.JNZ(operand.LabelRef("block"))

	s.asm.MOVQ(stepC, to)
	s.asm.SHLQ(operand.Imm(5), to) // a pair of tiles has 32 rows
	s.asm.ADDQ(to, toC)
	s.asm.MOVQ(s.param("panel"), secondX)
	s.asm.ADDQ(secondX, secondX)
	s.asm.ADDQ(secondX, s.current)
	s.asm.SUBQ(operand.Imm(amxPair), rowsLeft)
	s.asm.JG(operand.LabelRef("pair"))
	s.release()
	s.asm.VZEROUPPER()
	s.asm.RET()
}

// step emits the loop over 32 inner indices at a time, for one or two tiles of rows.
func (s pieces) step(name string, tiles int, left reg.GPPhysical) {
	const first, second = 2, 5 // the tiles of B and X
	s.asm.Label(name)
	for q := range s.digits {
		s.load(first+q, digitsAt, line, q*amxBytes)
	}
	for tile, x := range []reg.GPPhysical{firstX, secondX}[:tiles] {
		for p := range s.digits {
			s.load(second+p, x, line, p*amxBytes)
		}
		for p := s.digits - 1; p >= 0; p-- {
			for q := s.digits - 1 - p; q >= 0; q-- {
				s.dotBFloat16(tile, second+p, first+q)
			}
		}
		s.asm.ADDQ(operand.U32(amxBytes*s.digits), x)
	}
	s.asm.ADDQ(operand.U32(amxBytes*s.digits), digitsAt)
	s.asm.DECQ(left)
	s.asm.JNZ(operand.LabelRef(name))
}
