package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The assembler and its library do not know the tile instructions of AMX. This file encodes them
// (Intel's manual, volume 2). TestTileEncodings compares the bytes with the GNU assembler's.

// The prefixes that the field pp of a VEX prefix stands for.
const (
	ppNone = 0
	pp66   = 1
	ppF3   = 2
	ppF2   = 3
)

// vex0F38 returns the three bytes of a VEX prefix of map 0F38 with W0 and L0. index and base are
// the numbers of the registers of a memory operand, vvvv the number of the further operand.
func vex0F38(index, base, vvvv, pp int) []byte {
	const escape, noR, map0F38 = 0xc4, 0x80, 0x02
	absent := func(register int, bit uint) byte { return byte(^register>>3&1) << bit }
	return []byte{escape, noR | absent(index, 6) | absent(base, 5) | map0F38, byte(^vvvv&15)<<3 | byte(pp)}
}

// tileMemory encodes an instruction with a tile and the memory at base + disp. The register index
// holds the distance between rows, in bytes. index is not RSP.
func tileMemory(pp, tile, base, index, disp int) []byte {
	const opcode, disp32, sib = 0x4b, 0x80, 4
	code := append(vex0F38(index, base, 0, pp), opcode, disp32|byte(tile)<<3|sib, byte(index&7)<<3|byte(base&7))
	return append(code, byte(disp), byte(disp>>8), byte(disp>>16), byte(disp>>24))
}

// encodeTileLoad encodes TILELOADD: the tile's rows from memory.
func encodeTileLoad(tile, base, index, disp int) []byte {
	return tileMemory(ppF2, tile, base, index, disp)
}

// encodeTileStore encodes TILESTORED: the tile's rows to memory.
func encodeTileStore(tile, base, index, disp int) []byte {
	return tileMemory(ppF3, tile, base, index, disp)
}

// encodeTileZero encodes TILEZERO.
func encodeTileZero(tile int) []byte {
	return append(vex0F38(0, 0, 0, ppF2), 0x49, 0xc0|byte(tile)<<3)
}

// encodeTileDot encodes TDPBUSD: sum += a b, for unsigned bytes a and signed bytes b.
func encodeTileDot(sum, a, b int) []byte {
	return append(vex0F38(0, 0, b, pp66), 0x5e, 0xc0|byte(sum)<<3|byte(a))
}

// encodeTileDotBFloat16 encodes TDPBF16PS: sum += a b, for bfloat16 numbers and sums in float32.
func encodeTileDotBFloat16(sum, a, b int) []byte {
	return append(vex0F38(0, 0, b, ppF3), 0x5c, 0xc0|byte(sum)<<3|byte(a))
}

// encodeTileConfig encodes LDTILECFG from the memory at a register other than RSP, RBP, R12, R13.
func encodeTileConfig(base int) []byte {
	return append(vex0F38(0, base, 0, ppNone), 0x49, byte(base&7))
}

// encodeTileRelease encodes TILERELEASE.
func encodeTileRelease() []byte { return append(vex0F38(0, 0, 0, ppNone), 0x49, 0xc0) }

// encodePrefetchWrite encodes PREFETCHW of the line at a register R8 to R15 except R12 and R13.
func encodePrefetchWrite(base int) []byte { return []byte{0x41, 0x0f, 0x0d, 0x08 | byte(base&7)} }

// amx emits instructions for tiles, as bytes, after a comment in the syntax of Go's assembler.
type amx struct{ asm asm }

func (a amx) code(code []byte, format string, args ...any) {
	a.asm.Comment(fmt.Sprintf(format, args...))
	for _, b := range code {
		a.asm.Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []operand.Op{operand.U8(b)}})
	}
}

// number returns a register's number in instructions.
func number(r reg.GPPhysical) int { return int(r.PhysicalIndex()) }

func (a amx) load(tile int, base, stride reg.GPPhysical, disp int) {
	a.code(encodeTileLoad(tile, number(base), number(stride), disp), "TILELOADD %d(%s)(%s*1), T%d", disp, base.Asm(), stride.Asm(), tile)
}

func (a amx) save(tile int, base, stride reg.GPPhysical, disp int) {
	a.code(encodeTileStore(tile, number(base), number(stride), disp), "TILESTORED T%d, %d(%s)(%s*1)", tile, disp, base.Asm(), stride.Asm())
}

func (a amx) clear(tile int) { a.code(encodeTileZero(tile), "TILEZERO T%d", tile) }

func (a amx) dot(sum, x, q int) {
	a.code(encodeTileDot(sum, x, q), "TDPBUSD T%d, T%d, T%d", q, x, sum)
}

func (a amx) dotBFloat16(sum, x, q int) {
	a.code(encodeTileDotBFloat16(sum, x, q), "TDPBF16PS T%d, T%d, T%d", q, x, sum)
}

func (a amx) configure(base reg.GPPhysical) {
	a.code(encodeTileConfig(number(base)), "LDTILECFG (%s)", base.Asm())
}

func (a amx) release() { a.code(encodeTileRelease(), "TILERELEASE") }

func (a amx) prefetchWrite(base reg.GPPhysical) {
	a.code(encodePrefetchWrite(number(base)), "PREFETCHW (%s)", base.Asm())
}
