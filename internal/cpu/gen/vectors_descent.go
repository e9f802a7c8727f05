package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/reg"
)

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
