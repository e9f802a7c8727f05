package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pictures emits the passes over pictures that are no products.
func pictures(a asm) {
	a.pictureLines(false)
	a.pictureLines(true)
	a.maxPairs()
	a.maxPairsGrad()
}

// lineVectors is the number of vectors of a line that the passes over lines take at a time: the
// width of a panel.
const lineVectors = 2

// pictureLines emits the copy of lines of a picture to lines of a panel, or their addition back.
func (a asm) pictureLines(add bool) {
	name, does, formula := "copyLines", "copies lines of a picture to a panel:", "panel[l*ld+i] = picture[at[l]+i]"
	if add {
		name, does, formula = "addLines", "adds lines of a panel to a picture, in increasing l:", "picture[at[l]+i] += panel[l*ld+i]"
	}
	a.text("pictures."+name, name, fmt.Sprintf("func(lines, n int, panel *%[1]s, ld int, picture *%[1]s, at *int)", a.elem()), does, "",
		"\tfor l in 0..lines-1, i in 0..n-1: "+formula, "", "lines > 0, n > 0.")
	panel, ld, picture := a.gp("panel"), a.gp("ld"), a.gp("picture")
	a.scale(ld)
	to, at, left, start := a.GP64(), a.GP64(), a.GP64(), a.GP64()
	a.acrossColumns(a.gp("n"), a.lanes(), lineVectors, func(name string, masks []mask) {
		a.MOVQ(panel, to)
		a.Load(a.Param("at"), at)
		a.Load(a.Param("lines"), left)
		a.Label(name)
		a.MOVQ(operand.Mem{Base: at}, start)
		for j, m := range masks {
			line := operand.Mem{Base: picture, Index: start, Scale: uint8(a.size), Disp: j * a.bytes()}
			packed := operand.Mem{Base: to, Disp: j * a.bytes()}
			if add {
				a.saveAt(a.plus(a.loadAt(line, m), a.loadAt(packed, m)), line, m)
			} else {
				a.saveAt(a.loadAt(line, m), packed, m)
			}
		}
		a.ADDQ(operand.Imm(8), at)
		a.ADDQ(ld, to)
		a.DECQ(left)
		a.JNZ(operand.LabelRef(name))
		a.ADDQ(operand.U32(len(masks)*a.bytes()), panel)
		a.ADDQ(operand.U32(len(masks)*a.bytes()), picture)
	})
	a.VZEROUPPER()
	a.RET()
}

// maxPairs emits max-pooling of pairs of columns in two lines.
func (a asm) maxPairs() {
	a.text("pictures.maxPairs", "maxPairs", fmt.Sprintf("func(n int, out, upper, lower *%s)", a.elem()),
		"computes the largest of four elements that are not NaN, at least the smallest finite number:", "",
		"\tfor i in 0..n-1: out[i] = max(upper[2i], upper[2i+1], lower[2i], lower[2i+1])", "", "n > 0.")
	n, out, upper, lower := a.gp("n"), a.gp("out"), a.gp("upper"), a.gp("lower")
	p := a.newPairs()
	a.eachWindow(n, []reg.GPVirtual{out}, []reg.GPVirtual{upper, lower}, func(m, low, high mask) {
		most := p.lowest
		for _, x := range p.windows(upper, lower, low, high) {
			most = a.atLeast(most, x) // most for NaN in x
		}
		a.save(most, out, m)
	})
	a.VZEROUPPER()
	a.RET()
}

// maxPairsGrad emits the derivative of maxPairs.
func (a asm) maxPairsGrad() {
	a.text("pictures.maxPairsGrad", "maxPairsGrad", fmt.Sprintf("func(n int, toUpper, toLower, upper, lower, d *%s)", a.elem()),
		"writes d[i] to the place of the first largest of the four elements of window i that maxPairs takes, and zero to the others.", "",
		"\tfor i in 0..n-1: toUpper[2i], toUpper[2i+1], toLower[2i], toLower[2i+1]", "", "n > 0.")
	n, toUpper, toLower, upper, lower, d := a.gp("n"), a.gp("toUpper"), a.gp("toLower"), a.gp("upper"), a.gp("lower"), a.gp("d")
	p := a.newPairs()
	a.eachWindow(n, []reg.GPVirtual{d}, []reg.GPVirtual{toUpper, toLower, upper, lower}, func(m, low, high mask) {
		elements := p.windows(upper, lower, low, high)
		before := []vec{p.lowest} // the largest of the earlier elements
		for _, x := range elements[:3] {
			before = append(before, a.atLeast(before[len(before)-1], x))
		}
		var grad [4]vec
		left := a.load(d, m) // of windows whose largest element is not among the later elements
		for k := 3; k >= 0; k-- {
			grad[k] = a.choose(elements[k], greaterThan, before[k], left, p.none)
			if k > 0 {
				left = a.choose(elements[k], greaterThan, before[k], p.none, left)
			}
		}
		for k, to := range []reg.GPVirtual{toUpper, toLower} {
			x, y := p.interleaved(grad[2*k], grad[2*k+1])
			a.saveAt(x, operand.Mem{Base: to}, low)
			a.saveAt(y, operand.Mem{Base: to, Disp: a.bytes()}, high)
		}
	})
	a.VZEROUPPER()
	a.RET()
}

// eachWindow emits a loop over n windows, a vector at a time. The singles are pointers to an
// element for each window, and the doubles to a pair for each window. body gets the mask of the
// windows and those of the two vectors of pairs.
func (a asm) eachWindow(n reg.GPVirtual, singles, doubles []reg.GPVirtual, body func(m, low, high mask)) {
	pointers := append(append(singles, doubles...), doubles...) // pairs advance twice as far
	a.blocks(n, a.lanes(), pointers, func() { body(mask{}, mask{}, mask{}) }, func() {
		m := a.first(n)
		a.ADDQ(n, n)
		body(m, a.from(n, 0), a.from(n, a.lanes()))
	})
}

// pairsOfColumns holds the constants of the passes over pairs of columns.
type pairsOfColumns struct {
	asm            asm
	lowest, none   vec
	even, odd      vec // AVX-512: the elements of the first and of the second column
	first, further vec // AVX-512: the two vectors of pairs
}

func (a asm) newPairs() pairsOfColumns {
	smallest := -math.MaxFloat64
	if a.size == 4 {
		smallest = -math.MaxFloat32
	}
	p := pairsOfColumns{asm: a, lowest: a.num(smallest), none: a.num(0)}
	if !a.avx512 {
		return p
	}
	n := a.lanes()
	order := func(name string, of func(i int) int) vec {
		table := a.table(fmt.Sprintf("%s%d", name, 8*a.size), func() {
			for i := range n {
				a.appendWord(uint64(of(i)))
			}
		})
		v := a.vec()
		a.mov(table, v)
		return v
	}
	p.even = order("even", func(i int) int { return 2 * i })
	p.odd = order("odd", func(i int) int { return 2*i + 1 })
	p.first = order("first", func(i int) int { return i/2 + i%2*n })
	p.further = order("further", func(i int) int { return n/2 + i/2 + i%2*n })
	return p
}

// windows returns the elements of the windows in their order: the columns of the upper line, then
// of the lower line.
func (p pairsOfColumns) windows(upper, lower reg.GPVirtual, low, high mask) (list []vec) {
	a := p.asm
	for _, line := range []reg.GPVirtual{upper, lower} {
		x, y := a.loadAt(operand.Mem{Base: line}, low), a.loadAt(operand.Mem{Base: line, Disp: a.bytes()}, high)
		if a.avx512 {
			list = append(list, p.permuted(x, p.even, y), p.permuted(x, p.odd, y))
			continue
		}
		for column := range uint64(2) {
			var v vec // columns of the halves of x and y, in turns
			if a.size == 4 {
				v = a.to(a.VSHUFPS, operand.Imm(0x88+0x55*column), y, x)
			} else {
				v = a.to([]instruction{a.VUNPCKLPD, a.VUNPCKHPD}[column], y, x)
			}
			list = append(list, a.to(a.VPERMPD, operand.Imm(0xd8), v))
		}
	}
	return list
}

// interleaved returns two vectors of pairs of the elements of x and y.
func (p pairsOfColumns) interleaved(x, y vec) (first, further vec) {
	a := p.asm
	if a.avx512 {
		return p.permuted(x, p.first, y), p.permuted(x, p.further, y)
	}
	low := a.to(a.pick(a.VUNPCKLPS, a.VUNPCKLPD), y, x)
	high := a.to(a.pick(a.VUNPCKHPS, a.VUNPCKHPD), y, x)
	return a.to(four(a.VPERM2F128), operand.Imm(0x20), high, low), a.to(four(a.VPERM2F128), operand.Imm(0x31), high, low)
}

// permuted returns the elements of x and then y at the given indices.
func (p pairsOfColumns) permuted(x, order, y vec) vec {
	v := p.asm.copy(x)
	p.asm.pick(p.asm.VPERMT2PS, p.asm.VPERMT2PD)(y, order, v)
	return v
}
