package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tails emits the logistic tail of one signed score a row, which takes the only exponential of the
// smooth losses and their derivatives: q = 1 / (1 + e^|s|) with the sign of s. With y = -minus and
// x = minus s,
//
//	1 / (1 + e^-x) = q if x < 0, else 1 - q
func tails(a asm) { a.signedTails() }

// sigmoidFromTails emits the sigmoid loss and its derivatives from logistic tails.
func sigmoidFromTails(a asm) {
	a.tailPass("sigmoid", "tailSigmoid", "1 / (1 + e^-x)", a.tailSigmoid)
	a.tailGrads("Sigmoid", "|t| (1 - |t|)", func(t, _ vec) vec {
		q := a.magnitude(t)
		return a.fnma(q, q, q)
	})
}

// logisticFromTails emits the sums of the logistic loss, and its derivatives, from logistic tails.
func logisticFromTails(a asm) {
	a.tailGrads("Logistic", "1 / (1 + e^-x)", func(t, minus vec) vec { return a.tailSigmoid(a.times(minus, t)) })
	a.tailLogisticSums()
}

// signedTails emits t / (1 + t) with t = e^-|s| and the sign of s.
func (a asm) signedTails() {
	a.text("tails.pass", "tails", fmt.Sprintf("func(n int, out, s *%s)", a.elem()),
		"computes out[i] = 1 / (1 + e^|s[i]|) with the sign of s[i], for i in 0..n-1.")
	n, out, s := a.gp("n"), a.gp("out"), a.gp("s")
	a.each(n, []reg.GPVirtual{out, s}, func(m mask) {
		x := a.load(s, m)
		t := a.exp(a.negativeMagnitude(x))
		a.save(a.or(a.over(t, a.plus(a.num(1), t)), a.signOf(x)), out, m)
	})
	a.RET()
}

// tailSigmoid returns 1 / (1 + e^-x) from the logistic tail of x.
func (a asm) tailSigmoid(tail vec) vec { return a.minus(a.oneUnlessNegative(tail), tail) }

// oneUnlessNegative returns 0 where the sign bit of x is set, else 1.
func (a asm) oneUnlessNegative(x vec) vec {
	if a.avx512 {
		k := a.K()
		a.pick(two(a.VPMOVD2M), two(a.VPMOVQ2M))(x, k)
		return a.to(a.pick(a.VBLENDMPS, a.VBLENDMPD), a.num(0), a.num(1), k)
	}
	return a.to(a.pick(four(a.VBLENDVPS), four(a.VBLENDVPD)), x, a.num(0), a.num(1))
}

func (a asm) tailPass(field, name, formula string, f func(tail vec) vec) {
	a.text("tails."+field, name, fmt.Sprintf("func(n int, out, tails, minus *%s)", a.elem()),
		fmt.Sprintf("computes out[i] = %s, x = minus[i] s[i], from the logistic tail tails[i] of s[i], for i in 0..n-1.", formula))
	n, out, tails, minus := a.gp("n"), a.gp("out"), a.gp("tails"), a.gp("minus")
	a.each(n, []reg.GPVirtual{out, tails, minus}, func(m mask) {
		a.save(f(a.times(a.load(minus, m), a.load(tails, m))), out, m)
	})
	a.RET()
}

// tailGrads emits the pass that writes a derivative and the pass that adds it, and both passes for
// weights of two values, chosen by a set of rows.
func (a asm) tailGrads(loss, formula string, slope func(tail, minus vec) vec) {
	for _, add := range []bool{false, true} {
		suffix, assign := "", "="
		if add {
			suffix, assign = "Add", "+="
		}
		write := func(out operand.Mem, tail, minus, d vec, m mask) {
			g, signed := slope(tail, minus), a.times(d, minus)
			a.saveDerivative(signed, g, out, add, m)
		}
		where := fmt.Sprintf("minus[i] %s, x = minus[i] s[i], from the logistic tail t = tails[i] of s[i], and 0 for a negligible out[i], for i in 0..n-1", formula)
		kernel := "tail" + loss + "Grad" + suffix
		field := func(name string) string { return fmt.Sprintf("tails.%s[%sLoss]", name, loss) }
		a.text(field("grad"+suffix), kernel, fmt.Sprintf("func(n int, out, tails, minus, d *%s)", a.elem()), fmt.Sprintf("computes out[i] %s d[i] %s.", assign, where))
		n, out, tails, minus, d := a.gp("n"), a.gp("out"), a.gp("tails"), a.gp("minus"), a.gp("d")
		a.each(n, []reg.GPVirtual{out, tails, minus, d}, func(m mask) {
			write(operand.Mem{Base: out}, a.load(tails, m), a.load(minus, m), a.load(d, m), m)
		})
		a.RET()
		a.tailGradWhere(field("grad"+suffix+"Where"), kernel+"Where", assign+" d "+where, write)
	}
}

// tailGradWhere emits the pass with d = yes for the rows of a set and d = no for the others.
func (a asm) tailGradWhere(field, name, formula string, write func(out operand.Mem, tail, minus, d vec, m mask)) {
	a.text(field, name, fmt.Sprintf("func(n int, out, tails, minus *%[1]s, set *uint16, yes, no %[1]s)", a.elem()),
		fmt.Sprintf("computes out[i] %s. d is yes where the bit of the set is set, else no.", formula))
	n, out, tails, minus, set := a.gp("n"), a.gp("out"), a.gp("tails"), a.gp("minus"), a.gp("set")
	yes, no := a.scalar("yes"), a.scalar("no")
	a.eachWord(n, set, []reg.GPVirtual{out, tails, minus}, func(in, first func(lanes, k int) mask) {
		for k := range groupRows / a.lanes() {
			at := func(p reg.GPVirtual) operand.Mem { return operand.Mem{Base: p, Disp: k * a.bytes()} }
			m := first(a.lanes(), k)
			d := a.chooseWhere(in(a.lanes(), k), yes, no)
			write(at(out), a.loadAt(at(tails), m), a.loadAt(at(minus), m), d, m)
		}
	})
	a.VZEROUPPER()
	a.RET()
}

// productLanes is the number of sums and of products of the logistic loss. Package kernel has the
// same constant.
const productLanes = 16

// tailLogisticSums emits the sum of logistic losses, log(1 + e^x) = max(0, x) - log(1 - q), without
// the logarithm: the caller takes the logarithm of the products.
func (a asm) tailLogisticSums() {
	a.text("tails.logisticSums", "tailLogisticSums", fmt.Sprintf("func(n int, tails, s, minus *%s, sums *float64)", a.elem()),
		"adds up logistic losses, in float64: for i in 0..n-1, l = i%16, x = minus[i] s[i],",
		"",
		"\tsums[l] += max(0, x)",
		"\tsums[16+l] *= 1 - |tails[i]|")
	n, tails, s, minus, state := a.gp("n"), a.gp("tails"), a.gp("s"), a.gp("minus"), a.gp("sums")
	d := a
	d.size = 8
	count := productLanes / d.lanes()
	acc := a.vecs(2 * count)
	for i, v := range acc {
		a.VMOVUPD(operand.Mem{Base: state, Disp: i * a.bytes()}, v)
	}
	zero := d.num(0)
	body := func(m func(i int) mask) {
		for i := range count {
			at, m := i*d.lanes()*a.size, m(i)
			q := d.magnitude(a.wide(tails, at, m))
			a.VFNMADD231PD(q, acc[count+i], acc[count+i])
			x := d.times(a.wide(s, at, m), a.wide(minus, at, m))
			a.VADDPD(d.atLeast(x, zero), acc[i], acc[i])
		}
	}
	a.blocks(n, productLanes, []reg.GPVirtual{tails, s, minus}, func() {
		body(func(int) mask { return mask{} })
	}, func() {
		body(func(i int) mask { return a.from(n, i*d.lanes()) })
	})
	for i, v := range acc {
		a.VMOVUPD(v, operand.Mem{Base: state, Disp: i * a.bytes()})
	}
	a.VZEROUPPER()
	a.RET()
}
