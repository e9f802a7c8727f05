package main

import (
	"fmt"
	"strings"

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

// elem returns the Go name of the element type.
func (t target) elem() string { return fmt.Sprintf("float%d", 8*t.size) }

// suffix returns the end of the names of the target's kernels, for example F32AVX512.
func (t target) suffix() string {
	if t.avx512 {
		return fmt.Sprintf("F%dAVX512", 8*t.size)
	}
	return fmt.Sprintf("F%dAVX2", 8*t.size)
}

// bytes returns the size of a vector register.
func (t target) bytes() int {
	if t.avx512 {
		return 64
	}
	return 32
}

// lanes returns the number of elements of a vector register.
func (t target) lanes() int { return t.bytes() / t.size }

// asm writes instructions for a target. Methods without a type or width in their name choose the
// instruction. Other types have a field asm and do not embed it: the compiler would write 3,000
// methods for each of them, in 40 s.
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
	a.document(name+a.suffix(), doc)
	a.Pragma("noescape")
	a.SignatureExpr(signature)
}

// document writes a function's documentation, which follows its name. Lines that begin with a tab
// are formulas; other lines are wrapped.
func (a asm) document(name string, doc []string) {
	const width = 100 - len("// ")
	var lines []string
	line := name
	flush := func() {
		if line != "" {
			lines = append(lines, line)
		}
		line = ""
	}
	for _, text := range doc {
		if text == "" || text[0] == '\t' {
			flush()
			lines = append(lines, text)
			continue
		}
		for word := range strings.FieldsSeq(text) {
			switch {
			case line == "":
				line = word
			case len(line)+1+len(word) <= width:
				line += " " + word
			default:
				flush()
				line = word
			}
		}
	}
	flush()
	a.Doc(lines...)
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

// two, three and four adapt instructions with a fixed number of operands.

func two(f func(x, y operand.Op)) instruction {
	return func(ops ...operand.Op) { f(ops[0], ops[1]) }
}

func three(f func(x, y, z operand.Op)) instruction {
	return func(ops ...operand.Op) { f(ops[0], ops[1], ops[2]) }
}

func four(f func(w, x, y, z operand.Op)) instruction {
	return func(ops ...operand.Op) { f(ops[0], ops[1], ops[2], ops[3]) }
}

// pick returns the instruction for the element type.
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
