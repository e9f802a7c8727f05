package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A target is an instruction set and an element type.
type target struct {
	avx512 bool // AVX-512 F, BW, DQ, VL; otherwise AVX2 and FMA
	size   int  // bytes of an element: 4 for float32, 8 for float64
}

func targets() []target {
	return []target{{true, 4}, {true, 8}, {false, 4}, {false, 8}}
}

// elem is the Go name of the element type.
func (t target) elem() string { return fmt.Sprintf("float%d", 8*t.size) }

// suffix ends the names of the target's kernels: F32AVX512.
func (t target) suffix() string {
	if t.avx512 {
		return fmt.Sprintf("F%dAVX512", 8*t.size)
	}
	return fmt.Sprintf("F%dAVX2", 8*t.size)
}

// bytes is the size of a vector register.
func (t target) bytes() int {
	if t.avx512 {
		return 64
	}
	return 32
}

// lanes is the number of elements of a vector register.
func (t target) lanes() int { return t.bytes() / t.size }

// asm writes instructions for a target: methods without a type or width in
// their name choose the instruction.
type asm struct {
	*build.Context
	target
	constants constants
	dispatch  *dispatch
}

// text begins a function with a Go signature and its documentation. The function fills the field
// of the file's dispatch table.
func (a asm) text(field, name, signature string, doc ...string) {
	a.set(field, name+a.suffix())
	a.Function(name + a.suffix())
	a.Attributes(attr.NOSPLIT)
	doc[0] = name + a.suffix() + " " + doc[0]
	a.Doc(doc...)
	a.Pragma("noescape")
	a.SignatureExpr(signature)
}

// gp loads an argument into a new general-purpose register.
func (a asm) gp(arg string) reg.GPVirtual {
	return a.Load(a.Param(arg), a.GP64()).(reg.GPVirtual)
}

// vec returns a new vector register.
func (a asm) vec() vec {
	if a.avx512 {
		return a.ZMM()
	}
	return a.YMM()
}

type instruction = func(...operand.Op)

// two, three and four adapt instructions that always have so many operands.

func two(f func(x, y operand.Op)) instruction {
	return func(ops ...operand.Op) { f(ops[0], ops[1]) }
}

func three(f func(x, y, z operand.Op)) instruction {
	return func(ops ...operand.Op) { f(ops[0], ops[1], ops[2]) }
}

func four(f func(w, x, y, z operand.Op)) instruction {
	return func(ops ...operand.Op) { f(ops[0], ops[1], ops[2], ops[3]) }
}

// pick chooses by element type.
func (a asm) pick(f32, f64 instruction) instruction {
	if a.size == 4 {
		return f32
	}
	return f64
}

// Moves, unaligned.

func (a asm) mov(src, dst operand.Op)    { a.pick(a.VMOVUPS, a.VMOVUPD)(src, dst) }
func (a asm) splat(src, dst operand.Op)  { a.pick(a.VBROADCASTSS, a.VBROADCASTSD)(src, dst) }
func (a asm) add(x, y, dst operand.Op)   { a.pick(a.VADDPS, a.VADDPD)(x, y, dst) }
func (a asm) fmaInto(x, y, s operand.Op) { a.pick(a.VFMADD231PS, a.VFMADD231PD)(x, y, s) }

// zero clears a register.
func (a asm) zero(v vec) {
	if a.avx512 {
		a.VPXORD(v, v, v)
	} else {
		a.VXORPS(v, v, v)
	}
}
