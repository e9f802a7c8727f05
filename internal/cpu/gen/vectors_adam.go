package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/reg"
)

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
