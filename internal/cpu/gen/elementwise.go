package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/reg"
)

// functionPasses emits the passes over vectors of functions and of the derivatives of activations.
func functionPasses(a asm) {
	a.unary("exp", "e^x[i]", a.exp)
	a.unary("sigmoid", "1 / (1 + e^-x[i])", a.sigmoid)
	a.unary("tanh", "tanh x[i]", a.tanh)
	a.unary("log1p", "log(1 + x[i])", a.log1p)
	a.biased("biasSigmoid", "1 / (1 + e^-(z[i] + bias[i]))", a.sigmoid)
	a.biased("biasTanh", "tanh(z[i] + bias[i])", a.tanh)
	a.biased("biasReLU", "z[i] + bias[i], or -0 where the sum is below 0,", a.relu)
	for _, f := range a.slopes() {
		a.slope(f)
	}
}

// elementwise emits the sums and products of vectors.
func elementwise(a asm) {
	a.axpy()
	a.shift()
	a.product()
}

func (a asm) unary(name, formula string, f func(vec) vec) {
	a.text("passes."+name, name, fmt.Sprintf("func(n int, dst, x *%s)", a.elem()),
		fmt.Sprintf("computes dst[i] = %s for i in 0..n-1.", formula))
	n, dst, x := a.gp("n"), a.gp("dst"), a.gp("x")
	a.each(n, []reg.GPVirtual{dst, x}, func(m mask) {
		a.save(f(a.load(x, m)), dst, m)
	})
	a.RET()
}

func (a asm) biased(name, formula string, f func(vec) vec) {
	a.text("passes."+name, name, fmt.Sprintf("func(n int, z, bias *%s)", a.elem()),
		fmt.Sprintf("computes z[i] = %s for i in 0..n-1.", formula))
	n, z, bias := a.gp("n"), a.gp("z"), a.gp("bias")
	a.each(n, []reg.GPVirtual{z, bias}, func(m mask) {
		a.save(f(a.plus(a.load(z, m), a.load(bias, m))), z, m)
	})
	a.RET()
}

// A slope is the derivative of an activation as a function of the activation's value.
type slope struct {
	name, formula string
	of            func(s vec) vec
}

func (a asm) slopes() []slope {
	one := func() vec { return a.num(1) }
	return []slope{
		{"sigmoid", "d[i] (s[i] (1 - s[i]))", func(s vec) vec { return a.times(s, a.minus(one(), s)) }},
		{"tanh", "d[i] (1 - s[i]^2)", func(s vec) vec { return a.fnma(s, s, one()) }},
		{"relu", "d[i] where the sign bit of s[i] is clear, else 0 d[i],", func(s vec) vec { return a.and(a.positive(s), one()) }},
	}
}

func (a asm) slope(f slope) {
	a.text("passes."+f.name+"Grad", f.name+"Grad", fmt.Sprintf("func(n int, d, s *%s)", a.elem()),
		fmt.Sprintf("computes d[i] = %s or 0 if that is negligible, for i in 0..n-1.", f.formula))
	n, d, s := a.gp("n"), a.gp("d"), a.gp("s")
	a.each(n, []reg.GPVirtual{d, s}, func(m mask) {
		slope := f.of(a.load(s, m))
		a.save(a.significant(a.times(a.load(d, m), slope)), d, m)
	})
	a.RET()
}

func (a asm) axpy() {
	a.text("passes.axpy", "axpy", fmt.Sprintf("func(n int, y *%[1]s, s %[1]s, x *%[1]s)", a.elem()),
		"computes y[i] = y[i] + s x[i], fused, for i in 0..n-1.")
	n, y, x := a.gp("n"), a.gp("y"), a.gp("x")
	s := a.scalar("s")
	a.each(n, []reg.GPVirtual{y, x}, func(m mask) {
		a.save(a.fma(s, a.load(x, m), a.load(y, m)), y, m)
	})
	a.RET()
}

func (a asm) shift() {
	a.text("passes.shift", "shift", fmt.Sprintf("func(n int, z *%[1]s, b %[1]s)", a.elem()), "computes z[i] = z[i] + b for i in 0..n-1.")
	n, z, b := a.gp("n"), a.gp("z"), a.scalar("b")
	a.each(n, []reg.GPVirtual{z}, func(m mask) {
		a.save(a.plus(a.load(z, m), b), z, m)
	})
	a.RET()
}

func (a asm) product() {
	a.text("passes.product", "product", fmt.Sprintf("func(n int, dst, x, y *%s)", a.elem()), "computes dst[i] = x[i] y[i] for i in 0..n-1.")
	n, dst, x, y := a.gp("n"), a.gp("dst"), a.gp("x"), a.gp("y")
	a.each(n, []reg.GPVirtual{dst, x, y}, func(m mask) {
		a.save(a.times(a.load(x, m), a.load(y, m)), dst, m)
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
