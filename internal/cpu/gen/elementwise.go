package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/reg"
)

// elementwise emits the passes over vectors.
func elementwise(a asm) {
	a.unary("exp", "e^x[i]", a.exp)
	a.unary("sigmoid", "1 / (1 + e^-x[i])", a.sigmoid)
	a.unary("tanh", "tanh x[i]", a.tanh)
	a.unary("log1p", "log(1 + x[i])", a.log1p)
	a.biasSigmoid()
	a.sigmoidGrad()
	a.axpy()
}

func (a asm) unary(name, formula string, f func(vec) vec) {
	a.text(name, fmt.Sprintf("func(n int, dst, x *%s)", a.elem()),
		fmt.Sprintf("computes dst[i] = %s for i in 0..n-1.", formula))
	n, dst, x := a.gp("n"), a.gp("dst"), a.gp("x")
	a.each(n, []reg.GPVirtual{dst, x}, func(m mask) {
		a.save(f(a.load(x, m)), dst, m)
	})
	a.RET()
}

func (a asm) biasSigmoid() {
	a.text("biasSigmoid", fmt.Sprintf("func(n int, z, bias *%s)", a.elem()),
		"computes z[i] = 1 / (1 + e^-(z[i] + bias[i])) for i in 0..n-1.")
	n, z, bias := a.gp("n"), a.gp("z"), a.gp("bias")
	a.each(n, []reg.GPVirtual{z, bias}, func(m mask) {
		a.save(a.sigmoid(a.plus(a.load(z, m), a.load(bias, m))), z, m)
	})
	a.RET()
}

func (a asm) sigmoidGrad() {
	a.text("sigmoidGrad", fmt.Sprintf("func(n int, d, s *%s)", a.elem()),
		"computes d[i] = d[i] (s[i] (1 - s[i])) for i in 0..n-1.")
	n, d, s := a.gp("n"), a.gp("d"), a.gp("s")
	a.each(n, []reg.GPVirtual{d, s}, func(m mask) {
		v := a.load(s, m)
		slope := a.times(v, a.minus(a.num(1), v))
		a.save(a.times(a.load(d, m), slope), d, m)
	})
	a.RET()
}

func (a asm) axpy() {
	a.text("axpy", fmt.Sprintf("func(n int, y *%[1]s, s %[1]s, x *%[1]s)", a.elem()),
		"computes y[i] = y[i] + s x[i], fused, for i in 0..n-1.")
	n, y, x := a.gp("n"), a.gp("y"), a.gp("x")
	s := a.scalar("s")
	a.each(n, []reg.GPVirtual{y, x}, func(m mask) {
		a.save(a.fma(s, a.load(x, m), a.load(y, m)), y, m)
	})
	a.RET()
}

// scalar broadcasts an argument.
func (a asm) scalar(arg string) vec {
	at, err := a.Param(arg).Resolve()
	if err != nil {
		panic(err)
	}
	v := a.vec()
	a.splat(at.Addr, v)
	return v
}
