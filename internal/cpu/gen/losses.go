package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sigmoidLoss emits the sigmoid loss of one signed score a row and its derivative, with x = -y s.
// The argument minus holds -y.
func sigmoidLoss(a asm) {
	a.signed("Sigmoid", "1 / (1 + e^-x)", "1 / (1 + e^x) / (1 + e^-x)", a.sigmoid, a.sigmoidSlope)
}

// logisticLoss emits the logistic loss, as sigmoidLoss.
func logisticLoss(a asm) {
	a.signed("Logistic", "log(1 + e^x)", "1 / (1 + e^-x)", a.logistic, a.sigmoid)
}

// hingeLoss emits the hinge loss, as sigmoidLoss.
func hingeLoss(a asm) {
	a.signed("Hinge", "max(0, 1 + x)", "(1 + x > 0)", a.hinge, a.hingeSlope)
}

// signed emits a loss, its derivative, and the pass that adds the derivative.
func (a asm) signed(name, value, slope string, f, df func(x vec) vec) {
	a.signedLoss(name, value, f)
	a.signedLossGrad(name, slope, false, df)
	a.signedLossGrad(name, slope, true, df)
}

func (a asm) signedLoss(name, formula string, f func(x vec) vec) {
	a.text(fmt.Sprintf("losses.value[%sLoss]", name), "signed"+name, fmt.Sprintf("func(n int, out, s, minus *%s)", a.elem()),
		fmt.Sprintf("computes out[i] = %s, x = minus[i] s[i], for i in 0..n-1.", formula))
	n, out, s, minus := a.gp("n"), a.gp("out"), a.gp("s"), a.gp("minus")
	a.each(n, []reg.GPVirtual{out, s, minus}, func(m mask) {
		a.save(f(a.times(a.load(minus, m), a.load(s, m))), out, m)
	})
	a.RET()
}

func (a asm) signedLossGrad(name, formula string, add bool, slope func(x vec) vec) {
	kernel, field, assign := "signed"+name+"Grad", "grad", "="
	if add {
		kernel, field, assign = "signed"+name+"GradAdd", "gradAdd", "+="
	}
	a.text(fmt.Sprintf("losses.%s[%sLoss]", field, name), kernel, fmt.Sprintf("func(n int, out, s, minus, d *%s)", a.elem()),
		fmt.Sprintf("computes out[i] %s d[i] minus[i] %s, x = minus[i] s[i], and 0 for a negligible out[i], for i in 0..n-1.", assign, formula))
	n, out, s, minus, d := a.gp("n"), a.gp("out"), a.gp("s"), a.gp("minus"), a.gp("d")
	a.each(n, []reg.GPVirtual{out, s, minus, d}, func(m mask) {
		sign := a.load(minus, m)
		g := slope(a.times(sign, a.load(s, m)))
		signed := a.times(a.load(d, m), sign)
		a.saveDerivative(signed, g, operand.Mem{Base: out}, add, m)
	})
	a.RET()
}

// negativeMagnitude returns -|x|.
func (a asm) negativeMagnitude(x vec) vec { return a.or(x, a.word(a.sign())) }

// sigmoidSlope returns t / (1 + t)^2 with t = e^-|x|, symmetric in x.
func (a asm) sigmoidSlope(x vec) vec {
	t := a.exp(a.negativeMagnitude(x))
	u := a.plus(a.num(1), t)
	return a.over(a.over(t, u), u)
}

// logistic returns log(1 + e^x) = max(0, x) + log(1 + e^-|x|).
func (a asm) logistic(x vec) vec {
	return a.plus(a.atLeast(x, a.num(0)), a.log1pUnit(a.exp(a.negativeMagnitude(x))))
}

// log1pUnit returns log(1+t) for t in [0, 1]: log1p without the cases outside.
func (a asm) log1pUnit(t vec) vec {
	one := a.num(1)
	u := a.plus(one, t)
	c := a.minus(t, a.minus(u, one))
	k := a.choose(u, greaterThan, a.num(math.Sqrt2), one, a.num(0))
	shrink := a.choose(u, greaterThan, a.num(math.Sqrt2), a.num(0.5), one)
	f := a.fma(c, shrink, a.minus(a.times(u, shrink), one))
	return a.logOf(k, f)
}

func (a asm) hinge(x vec) vec { return a.atLeast(a.plus(a.num(1), x), a.num(0)) }

// hingeSlope returns 1 where 1 + x > 0, else 0, and NaN for NaN.
func (a asm) hingeSlope(x vec) vec {
	slope := a.choose(a.plus(a.num(1), x), greaterThan, a.num(0), a.num(1), a.num(0))
	return a.choose(x, equalTo, x, slope, x)
}
