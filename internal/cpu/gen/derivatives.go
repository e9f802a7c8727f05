package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// derivatives emits, for each activation, the derivative with respect to a hidden layer's inputs in
// panels that are quantized next. One pass computes what combineRows, the slope, addColumns and
// columnMax compute in four, with the same bits.
func derivatives(a asm) {
	if a.size != 4 {
		return
	}
	for i, name := range []string{"Sigmoid", "Tanh", "ReLU"} {
		a.derivative(name, i)
	}
}

// derivative holds the registers of a panel.
type derivative struct {
	k, e, lde, lde3, v, ldv, s, lds, d reg.GPVirtual
	at, from, left                     reg.GPVirtual
	valid                              mask
	slope                              slope
	magnitude, most                    vec
	sums                               []vec
}

func (a asm) derivative(name string, i int) {
	f, lanes := a.slopes()[i], a.lanes()
	formula := strings.NewReplacer("d[i]", "t", "s[i]", "s[i*lds+j]").Replace(f.formula)
	a.text(fmt.Sprintf("derivative[%sActivation]", name), "derivative"+name,
		"func(m, k, n int, e *float32, lde int, v *float32, ldv int, s *float32, lds int, d *float32, sums *float64, most *uint32)",
		fmt.Sprintf("computes m rows and n columns of D, the sums of the columns and their largest magnitudes, with zeros for "+
			"columns up to %d:", lanes),
		"",
		"\tfor i in 0..m-1, j in 0..n-1:",
		"\t\tt = sum_l e[i*lde+l] * v[l*ldv+j]   (l = 0..k-1), a chain of fused multiply-adds from zero",
		fmt.Sprintf("\t\td[i*%d+j] = %s", lanes, strings.TrimSuffix(formula, ",")+", or 0 if that is negligible"),
		fmt.Sprintf("\t\tsums[j] += d[i*%d+j]", lanes),
		fmt.Sprintf("\tmost[j] = max_i bits(|d[i*%d+j]|)", lanes),
		"",
		"m > 0, k > 0, n > 0.")
	p := derivative{k: a.gp("k"), e: a.gp("e"), lde: a.gp("lde"), lde3: a.GP64(), v: a.gp("v"), ldv: a.gp("ldv"),
		s: a.gp("s"), lds: a.gp("lds"), d: a.gp("d"), at: a.GP64(), from: a.GP64(), left: a.GP64(), slope: f}
	for _, r := range []reg.GPVirtual{p.lde, p.ldv, p.lds} {
		a.scale(r)
	}
	a.LEAQ(operand.Mem{Base: p.lde, Index: p.lde, Scale: 2}, p.lde3)
	n, sums := a.gp("n"), a.gp("sums")
	halves := []mask{a.from(n, 0), a.from(n, lanes/2)}
	p.valid = halves[0]
	p.magnitude, p.most = a.word(a.sign()-1), a.vec()
	a.zero(p.most)
	for j, h := range halves {
		p.sums = append(p.sums, a.doubles(operand.Mem{Base: sums, Disp: j * a.bytes()}, h))
	}
	m := a.gp("m")
	a.Label("fours")
	a.SUBQ(operand.Imm(narrowRows), m)
	a.JL(operand.LabelRef("rest"))
	a.derivativeRows("terms4", p, narrowRows)
	a.JMP(operand.LabelRef("fours"))
	a.Label("rest")
	a.ADDQ(operand.Imm(narrowRows), m)
	a.JZ(operand.LabelRef("done"))
	a.Label("ones")
	a.derivativeRows("terms1", p, 1)
	a.DECQ(m)
	a.JNZ(operand.LabelRef("ones"))
	a.Label("done")
	a.mov(p.most, operand.Mem{Base: a.gp("most")})
	sums = a.gp("sums")
	for j, h := range halves {
		a.saveDoubles(p.sums[j], operand.Mem{Base: sums, Disp: j * a.bytes()}, h)
	}
	a.VZEROUPPER()
	a.RET()
}

// timesWithin returns x y with zeros outside the mask. There, an infinity in E times a zero is a
// NaN.
func (a asm) timesWithin(x, y vec, m mask) vec {
	if a.avx512 {
		return a.to(four(a.VMULPS_Z), y, x, m.opmask)
	}
	return a.and(a.times(x, y), m.lanes)
}

// derivativeRows emits the next rows of a panel.
func (a asm) derivativeRows(name string, p derivative, rows int) {
	acc := make([]vec, rows)
	for i := range acc {
		acc[i] = a.vec()
		a.zero(acc[i])
	}
	a.MOVQ(p.e, p.at)
	a.MOVQ(p.v, p.from)
	a.MOVQ(p.k, p.left)
	a.Label(name)
	row := a.load(p.from, p.valid)
	elements := []operand.Mem{{Base: p.at}, {Base: p.at, Index: p.lde, Scale: 1}, {Base: p.at, Index: p.lde, Scale: 2}, {Base: p.at, Index: p.lde3, Scale: 1}}
	for i, sum := range acc {
		if a.avx512 {
			a.VFMADD231PS_BCST(elements[i], row, sum)
			continue
		}
		x := a.vec()
		a.splat(elements[i], x)
		a.fmaInto(row, x, sum)
	}
	a.ADDQ(operand.Imm(uint64(a.size)), p.at)
	a.ADDQ(p.ldv, p.from)
	a.DECQ(p.left)
	a.JNZ(operand.LabelRef(name))
	for i, sum := range acc {
		d := a.significant(a.timesWithin(sum, p.slope.of(a.load(p.s, p.valid)), p.valid))
		a.PREFETCHT0(operand.Mem{Base: p.s, Disp: a.bytes()}) // of the next panel
		a.ADDQ(p.lds, p.s)
		a.VPMAXUD(a.and(d, p.magnitude), p.most, p.most)
		for j, half := range a.widened(d) {
			a.VADDPD(half, p.sums[j], p.sums[j])
		}
		a.mov(d, operand.Mem{Base: p.d, Disp: i * a.bytes()})
	}
	a.ADDQ(operand.U32(rows*a.bytes()), p.d)
	if rows == 1 {
		a.ADDQ(p.lde, p.e)
	} else {
		a.LEAQ(operand.Mem{Base: p.e, Index: p.lde, Scale: 4}, p.e)
	}
}
