package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vectors emits the passes over the iterate and the vectors beside it: steps that move and measure
// at once.
func vectors(a asm) {
	a.combine()
	a.scaledCopy()
	a.accumulate()
	a.rounded()
	for _, momentum := range []bool{true, false} {
		a.trialNorm(momentum)
		a.descend(momentum)
	}
	a.adam()
}

// sweepLanes is the number of elements that a sweep takes at a time, and the number of partial sums
// of each of its reductions. It is smaller than for a reduction alone, so that two reductions leave
// AVX2 registers for the step.
const sweepLanes = 16

// A place is one vector of a sweep's elements.
type place struct {
	index int // of the vector among those of a step
	mask  mask
}

// sweep emits a loop over n elements, sweepLanes at a time, and then a masked part for the rest.
// The body gets the place of each vector; sweep advances the pointers.
func (a asm) sweep(n reg.GPVirtual, pointers []reg.GPVirtual, body func(at place)) {
	vectors := sweepLanes / a.lanes()
	a.blocks(n, sweepLanes, pointers, func() {
		for i := range vectors {
			body(place{index: i})
		}
	}, func() {
		for i := range vectors {
			body(place{i, a.from(n, i*a.lanes())})
		}
	})
}

func (a asm) address(p reg.GPVirtual, at place) operand.Mem {
	return operand.Mem{Base: p, Disp: at.index * a.bytes()}
}

// read and write are load and save for a vector of a sweep.

func (a asm) read(p reg.GPVirtual, at place) vec { return a.loadAt(a.address(p, at), at.mask) }

func (a asm) write(v vec, p reg.GPVirtual, at place) { a.saveAt(v, a.address(p, at), at.mask) }

// only zeroes the elements outside the mask.
func (a asm) only(v vec, m mask) vec {
	switch {
	case m.all():
		return v
	case a.avx512:
		return a.to(a.pick(three(a.VMOVAPS_Z), three(a.VMOVAPD_Z)), v, m.opmask)
	}
	return a.and(v, m.lanes)
}

// held returns an argument in every element: in a register at AVX-512, which has 32 registers, else
// read from memory at each use.
func (a asm) held(arg string) func() vec {
	if !a.avx512 {
		return func() vec { return a.scalar(arg) }
	}
	v := a.scalar(arg)
	return func() vec { return v }
}

// A tally is a reduction of a sweep, in float64.
type tally struct {
	asm  asm
	sums []vec
}

func (a asm) tally() tally { return tally{a, a.accumulators(sweepLanes * 8 / a.bytes())} }

// square adds the squares of the wide parts of a vector.
func (t tally) square(wide []vec, at place) {
	for i, v := range wide {
		t.asm.VFMADD231PD(v, v, t.sums[at.index*len(wide)+i])
	}
}

// store writes the sum to a result.
func (t tally) store(result int) { t.asm.Store(t.asm.fold(t.sums), t.asm.ReturnIndex(result)) }

// widened returns a vector in float64: itself, or two halves.
func (a asm) widened(v vec) []vec {
	if a.size == 8 {
		return []vec{v}
	}
	if a.avx512 {
		high := a.YMM()
		a.VEXTRACTF64X4(operand.Imm(1), v, high)
		return []vec{a.to(a.VCVTPS2PD, v.AsY()), a.to(a.VCVTPS2PD, high)}
	}
	high := a.XMM()
	a.VEXTRACTF128(operand.Imm(1), v, high)
	return []vec{a.to(a.VCVTPS2PD, v.AsX()), a.to(a.VCVTPS2PD, high)}
}

// apart returns x - y in float64.
func (a asm) apart(x, y []vec) []vec {
	d := make([]vec, len(x))
	for i := range x {
		d[i] = a.vec()
		a.VSUBPD(y[i], x[i], d[i])
	}
	return d
}

// sumVectors is the number of float64 vectors that accumulate and rounded take at a time.
const sumVectors = 4

// accumulate emits a term of a sum of vectors in float64.
func (a asm) accumulate() {
	a.text("sweeps.accumulate", "accumulate", fmt.Sprintf("func(n int, sums *float64, s float64, x *%s)", a.elem()),
		"computes sums[i] = sums[i] + s x[i] in float64, fused, for i in 0..n-1.")
	n, sums, x, s := a.gp("n"), a.gp("sums"), a.gp("x"), a.vec()
	at, err := a.Param("s").Resolve()
	if err != nil {
		panic(err)
	}
	a.VBROADCASTSD(at.Addr, s)
	a.overSums(n, x, sums, func(i int, m mask) {
		lanes := a.bytes() / 8
		to := operand.Mem{Base: sums, Disp: i * a.bytes()}
		v, sum := a.wide(x, i*lanes*a.size, m), a.doubles(to, m)
		a.VFMADD231PD(v, s, sum)
		a.saveDoubles(sum, to, m)
	})
}

// rounded emits the end of a sum of vectors in float64.
func (a asm) rounded() {
	a.text("sweeps.round", "round", fmt.Sprintf("func(n int, dst *%s, sums *float64)", a.elem()),
		"computes dst[i] = sums[i], rounded, for i in 0..n-1.")
	n, dst, sums := a.gp("n"), a.gp("dst"), a.gp("sums")
	a.overSums(n, dst, sums, func(i int, m mask) {
		sum := a.doubles(operand.Mem{Base: sums, Disp: i * a.bytes()}, m)
		to := operand.Mem{Base: dst, Disp: i * a.bytes() * a.size / 8}
		switch {
		case a.size == 8:
			a.saveAt(sum, to, m)
		case a.avx512:
			half := a.YMM()
			a.VCVTPD2PS(sum, half)
			if m.all() {
				a.VMOVUPS(half, to)
			} else {
				a.VMOVUPS(half, m.opmask, to)
			}
		default:
			half := a.XMM()
			a.VCVTPD2PSY(sum, half)
			if m.all() {
				a.VMOVUPS(half, to)
			} else {
				a.VMASKMOVPS(half, m.lanes.AsX(), to)
			}
		}
	})
}

// overSums emits a loop over n elements at elements and n float64 at sums, sumVectors vectors of
// float64 at a time, and then a masked part for the rest. overSums advances both pointers.
func (a asm) overSums(n, elements, sums reg.GPVirtual, body func(i int, m mask)) {
	lanes := a.bytes() / 8
	a.blocks(n, sumVectors*lanes, []reg.GPVirtual{elements}, func() {
		for i := range sumVectors {
			body(i, mask{})
		}
		a.ADDQ(operand.U32(sumVectors*a.bytes()), sums)
	}, func() {
		for i := range sumVectors {
			body(i, a.from(n, i*lanes))
		}
	})
	a.VZEROUPPER()
	a.RET()
}

func (a asm) combine() {
	a.text("sweeps.combine", "combine", fmt.Sprintf("func(n int, dst *%[1]s, s %[1]s, x *%[1]s, t %[1]s, y *%[1]s)", a.elem()),
		"computes dst[i] = s x[i] + t y[i], the sum fused, for i in 0..n-1.")
	n, dst, x, y := a.gp("n"), a.gp("dst"), a.gp("x"), a.gp("y")
	s, t := a.scalar("s"), a.scalar("t")
	a.each(n, []reg.GPVirtual{dst, x, y}, func(m mask) {
		a.save(a.fma(t, a.load(y, m), a.times(s, a.load(x, m))), dst, m)
	})
	a.RET()
}

func (a asm) scaledCopy() {
	a.text("sweeps.scaledCopy", "scaledCopy", fmt.Sprintf("func(n int, dst *%[1]s, s %[1]s, x *%[1]s)", a.elem()),
		"computes dst[i] = s x[i] for i in 0..n-1.")
	n, dst, x := a.gp("n"), a.gp("dst"), a.gp("x")
	s := a.scalar("s")
	a.each(n, []reg.GPVirtual{dst, x}, func(m mask) { a.save(a.times(s, a.load(x, m)), dst, m) })
	a.RET()
}

// A descent holds the operands of a step with momentum or, if v and b are nil, of a step without.
type descent struct {
	asm     asm
	x, d, v reg.GPVirtual
	e, b    func() vec
}

// arguments returns the arguments of a descent in a signature.
func (a asm) arguments(momentum bool) string {
	if momentum {
		return fmt.Sprintf("n int, x, d, v *%[1]s, e, b %[1]s", a.elem())
	}
	return fmt.Sprintf("n int, x, d *%[1]s, e %[1]s", a.elem())
}

func (a asm) descent(momentum bool) descent {
	s := descent{asm: a, x: a.gp("x"), d: a.gp("d"), e: a.held("e")}
	if momentum {
		s.v, s.b = a.gp("v"), a.held("b")
	}
	return s
}

func (s descent) pointers() []reg.GPVirtual {
	if s.v == nil {
		return []reg.GPVirtual{s.x, s.d}
	}
	return []reg.GPVirtual{s.x, s.d, s.v}
}

// next returns x and the trial point, x - e (d + b v) with v = b v + d, or x - e d. Every sum is
// fused. The new v is nil without momentum.
func (s descent) next(at place) (x, y, v vec) {
	x = s.asm.read(s.x, at)
	w := s.asm.read(s.d, at)
	if s.v != nil {
		v = s.asm.fma(s.b(), s.asm.read(s.v, at), w)
		w = s.asm.fma(s.b(), v, w)
	}
	return x, s.asm.fnma(s.e(), w, x), v
}

// sweepText begins a sweep's function. The variant without momentum has a name of its own.
func (a asm) sweepText(name string, momentum bool, signature string, doc ...string) {
	if !momentum {
		name += "Plain"
	}
	a.text("sweeps."+name, name, signature, doc...)
}

// formula documents next.
func formula(momentum bool) string {
	if momentum {
		return "x[i] - e (d[i] + b w[i]) with w[i] = b v[i] + d[i]"
	}
	return "x[i] - e d[i]"
}

// trialNorm emits the squared norm of the trial point of a step.
func (a asm) trialNorm(momentum bool) {
	a.sweepText("trialNorm", momentum, fmt.Sprintf("func(%s) float64", a.arguments(momentum)),
		"is the sum over i in 0..n-1 of the squares, in float64, of",
		fmt.Sprintf("%s.", formula(momentum)))
	n, s, sum := a.gp("n"), a.descent(momentum), a.tally()
	a.sweep(n, s.pointers(), func(at place) {
		_, y, _ := s.next(at)
		sum.square(a.widened(y), at) // outside the mask x, d and v are 0
	})
	sum.store(0)
	a.VZEROUPPER()
	a.RET()
}

// descend emits a step.
func (a asm) descend(momentum bool) {
	first := "computes x[i] = P(y[i]) for i in 0..n-1, y[i] ="
	if momentum {
		first = "computes v[i] = w[i] and x[i] = P(y[i]) for i in 0..n-1, y[i] ="
	}
	a.sweepText("descend", momentum,
		fmt.Sprintf("func(%s, scale, lower, upper, threshold %s) (moved, size float64)", a.arguments(momentum), a.elem()),
		first, fmt.Sprintf("%s.", formula(momentum)),
		"P(y) = z - clamp(z, -threshold, threshold), z = clamp(scale y, lower, upper).",
		"It returns the sums in float64 of (x+[i] - x[i])^2 and x+[i]^2.")
	n, s, p := a.gp("n"), a.descent(momentum), a.proximal()
	moved, size := a.tally(), a.tally()
	a.sweep(n, s.pointers(), func(at place) {
		x, y, v := s.next(at)
		if v != nil {
			a.write(v, s.v, at)
		}
		after := a.only(p.of(y), at.mask)
		a.write(after, s.x, at)
		wide := a.widened(after)
		moved.square(a.apart(wide, a.widened(x)), at)
		size.square(wide, at)
	})
	moved.store(0)
	size.store(1)
	a.VZEROUPPER()
	a.RET()
}

// proximal holds the arguments of a proximal map.
type proximal struct {
	asm                            asm
	scale, lower, upper, threshold func() vec
}

func (a asm) proximal() proximal {
	return proximal{a, a.held("scale"), a.held("lower"), a.held("upper"), a.held("threshold")}
}

// of returns P(y), NaN for NaN.
func (p proximal) of(y vec) vec {
	z := p.asm.atMost(p.asm.atLeast(p.asm.times(p.scale(), y), p.lower()), p.upper())
	t := p.threshold()
	return p.asm.minus(z, p.asm.atMost(p.asm.atLeast(z, p.asm.or(t, p.asm.word(p.asm.sign()))), t))
}

// The constants of Kingma and Ba.
const (
	adamDecay1  = 0.9
	adamDecay2  = 0.999
	adamEpsilon = 1e-8
)

// adam emits a step of Adam.
func (a asm) adam() {
	a.text("sweeps.adam", "adam", fmt.Sprintf("func(n int, x, d, m, v *%[1]s, rate, root, scale, lower, upper, threshold %[1]s) (size float64)", a.elem()),
		"computes, for i in 0..n-1, m[i] = 0.9 m[i] + 0.1 d[i], v[i] = 0.999 v[i] + 0.001 d[i]^2, both fused, and",
		"x[i] = P(x[i] - rate m[i] / (sqrt(root v[i]) + 1e-8)), P as in descend.",
		"It returns the sum in float64 of x+[i]^2.")
	n, x, d, m, v := a.gp("n"), a.gp("x"), a.gp("d"), a.gp("m"), a.gp("v")
	rate, root, p := a.held("rate"), a.held("root"), a.proximal()
	size := a.tally()
	a.sweep(n, []reg.GPVirtual{x, d, m, v}, func(at place) {
		slope := a.read(d, at)
		first := a.fma(a.num(1-adamDecay1), slope, a.times(a.num(adamDecay1), a.read(m, at)))
		a.write(first, m, at)
		second := a.fma(a.times(a.num(1-adamDecay2), slope), slope, a.times(a.num(adamDecay2), a.read(v, at)))
		a.write(second, v, at)
		denominator := a.plus(a.root(a.times(root(), second)), a.num(adamEpsilon))
		y := a.minus(a.read(x, at), a.over(a.times(rate(), first), denominator))
		after := a.only(p.of(y), at.mask)
		a.write(after, x, at)
		size.square(a.widened(after), at)
	})
	size.store(0)
	a.VZEROUPPER()
	a.RET()
}

// root returns the square root.
func (a asm) root(x vec) vec { return a.to(a.pick(a.VSQRTPS, a.VSQRTPD), x) }
