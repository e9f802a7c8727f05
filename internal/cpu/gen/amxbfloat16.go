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

// pieces emits a product of two factors in digits of bfloat16 with one panel of the second factor.
//
// The kernel computes two tiles of rows at a time. Two tiles hold the sums, and one tile each holds
// a digit: with three digits, nine loads for twelve products.
type pieces struct{ strip }

func (s pieces) emit() {
	stepsLeft, to := reg.R9, reg.R10 // of the sum in a tile; rows of C that receive it
	s.Function(fmt.Sprintf("bfloat16Strip%dAMX", s.digits))
	s.Attributes(attr.NOSPLIT)
	s.document(fmt.Sprintf("bfloat16Strip%dAMX", s.digits), []string{
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
	s.Pragma("noescape")
	s.SignatureExpr("func(k, rows int, x *uint16, panel int, b *uint16, c *float32, ldc, columns int, sums *float32)")
	s.current = s.AllocLocal(8)

	s.LEAQ(s.shapes(), sumsTo)
	s.configure(sumsTo)
	s.MOVQ(s.param("columns"), sumsTo)
	s.KMOVW(sumsTo.As32(), columns)
	s.MOVQ(s.param("rows"), rowsLeft)
	s.MOVQ(s.param("x"), firstX)
	s.MOVQ(firstX, s.current)
	s.MOVQ(s.param("c"), toC)
	s.MOVQ(s.param("ldc"), stepC)
	s.SHLQ(operand.Imm(2), stepC)
	s.MOVQ(operand.U32(amxDepth), line)
	s.MOVQ(s.param("sums"), sumsTo)

	s.Label("pair")
	s.MOVQ(s.current, firstX)
	s.MOVQ(s.param("panel"), secondX)
	s.ADDQ(firstX, secondX)
	s.MOVQ(s.param("b"), digitsAt)
	s.MOVQ(s.param("k"), steps)
	s.Label("block")
	s.clear(0)
	s.clear(1)
	s.MOVQ(operand.U32(bfloat16Steps), stepsLeft)
	s.CMPQ(steps, stepsLeft)
	s.CMOVQLT(steps, stepsLeft)
	s.SUBQ(stepsLeft, steps)
	s.CMPQ(rowsLeft, operand.Imm(amxRows))
	s.JLE(operand.LabelRef("lone"))
	s.step("double", 2, stepsLeft)
	s.JMP(operand.LabelRef("summed"))
	s.step("lone", 1, stepsLeft)
	s.Label("summed")
	s.save(0, sumsTo, line, 0)
	s.save(1, sumsTo, line, amxBytes)
	s.MOVQ(sumsTo, waitingAt)
	s.MOVQ(toC, to)
	s.MOVQ(operand.U32(amxPair), waiting)
	s.CMPQ(rowsLeft, waiting)
	s.CMOVQLT(rowsLeft, waiting)
	s.Label("add")
	s.VMOVUPS(operand.Mem{Base: waitingAt}, joinedA)
	s.VMOVUPS_Z(operand.Mem{Base: to}, columns, termA)
	s.VADDPS(joinedA, termA, joinedA)
	s.VMOVUPS(joinedA, columns, operand.Mem{Base: to})
	s.ADDQ(stepC, to)
	s.ADDQ(line, waitingAt)
	s.DECQ(waiting)
	s.JNZ(operand.LabelRef("add"))
	s.TESTQ(steps, steps)
	s.JNZ(operand.LabelRef("block"))

	s.MOVQ(stepC, to)
	s.SHLQ(operand.Imm(5), to) // a pair of tiles has 32 rows
	s.ADDQ(to, toC)
	s.MOVQ(s.param("panel"), secondX)
	s.ADDQ(secondX, secondX)
	s.ADDQ(secondX, s.current)
	s.SUBQ(operand.Imm(amxPair), rowsLeft)
	s.JG(operand.LabelRef("pair"))
	s.release()
	s.VZEROUPPER()
	s.RET()
}

// step emits the loop over 32 inner indices at a time, for one or two tiles of rows.
func (s pieces) step(name string, tiles int, left reg.GPPhysical) {
	const first, second = 2, 5 // the tiles of B and X
	s.Label(name)
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
		s.ADDQ(operand.U32(amxBytes*s.digits), x)
	}
	s.ADDQ(operand.U32(amxBytes*s.digits), digitsAt)
	s.DECQ(left)
	s.JNZ(operand.LabelRef(name))
}
