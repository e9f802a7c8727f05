package main

import "math"

// series holds the lengths of the series. Further terms add less than a tenth of a unit in the last
// place.
type series struct {
	exp  int // highest power of r, |r| <= ln 2 / 2: r^exp / (exp+1)! < 2^-p / 10
	atan int // highest k of s^2k / (2k+1), |s| <= (sqrt 2 - 1) / (sqrt 2 + 1)
}

func (t target) series() series {
	if t.size == 4 {
		return series{exp: 8, atan: 5}
	}
	return series{exp: 14, atan: 11}
}

// ln2 returns ln 2 in two parts: the nearest number of the element type, and the rest.
func (t target) ln2() (hi, lo float64) {
	if t.size == 4 {
		const hi = 0x1.62e43p-1
		return hi, math.Ln2 - hi
	}
	const high = 0x1.62e42fefa39efp-1
	return high, math.Ln2 - high
}

// reduce splits x = n ln 2 + r with an integer n and |r| <= ln 2 / 2. The first of the two fused
// steps is exact.
func (a asm) reduce(x vec) (n, r vec) {
	hi, lo := a.ln2()
	n = a.round(a.times(x, a.num(math.Log2E)))
	r = a.fnma(n, a.num(hi), x)
	return n, a.fnma(n, a.num(lo), r)
}

// expm1Reduced returns e^r - 1 = r + r^2 (1/2 + r/3! + ...) for |r| <= ln 2 / 2.
func (a asm) expm1Reduced(r vec) vec {
	var c []float64
	for k, factorial := 2, 2.0; k <= a.series().exp; k++ {
		c = append(c, 1/factorial)
		factorial *= float64(k + 1)
	}
	return a.fma(a.times(r, r), a.horner(r, c), r)
}

// exp returns e^x = 2^n e^r. The bounds keep n in range; beyond them e^x overflows or is zero.
func (a asm) exp(x vec) vec {
	low, high := -104.0, 89.0
	if a.size == 8 {
		low, high = -746, 710
	}
	n, r := a.reduce(a.atLeast(a.atMost(x, a.num(high)), a.num(low)))
	return a.scaled(a.plus(a.num(1), a.expm1Reduced(r)), n)
}

// magnitude returns |x|.
func (a asm) magnitude(x vec) vec { return a.and(x, a.word(a.sign()-1)) }

// signOf returns the sign bit of x.
func (a asm) signOf(x vec) vec { return a.and(x, a.word(a.sign())) }

// sigmoid returns 1 / (1 + e^-x) = (x < 0 ? t : 1) / (1 + t) with t = e^-|x|, which keeps its
// relative accuracy where the result is small.
func (a asm) sigmoid(x vec) vec {
	t := a.exp(a.or(x, a.word(a.sign())))
	one := a.num(1)
	return a.over(a.choose(x, lessThan, a.num(0), t, one), a.plus(one, t))
}

// tanh returns -u / (2 + u), with u = e^(-2|x|) - 1 = 2^n (e^r - 1) + (2^n - 1), and the sign of x.
// For an exponent below -40 u is -1.
func (a asm) tanh(x vec) vec {
	t := a.times(a.magnitude(x), a.num(-2))
	n, r := a.reduce(a.atLeast(t, a.num(-40)))
	p := a.powerOfTwo(n)
	u := a.fma(p, a.expm1Reduced(r), a.minus(p, a.num(1)))
	y := a.over(u, a.plus(a.num(2), u))
	return a.or(a.magnitude(y), a.signOf(x))
}

// relu returns x for x >= 0, with +0 for -0, and -0 for x < 0: the sign bit tells the two apart.
func (a asm) relu(x vec) vec {
	return a.choose(x, lessThan, a.num(0), a.num(math.Copysign(0, -1)), a.plus(x, a.num(0)))
}

// positive returns all ones where the sign bit of x is clear, else zeros.
func (a asm) positive(x vec) vec {
	return a.intPlus(a.shiftRight(x, 8*a.size-1), a.word(^uint64(0)>>(64-8*a.size)))
}

// log1p returns log(1+x) = k ln 2 + log(1+f) with 1+f = (1+x) / 2^k in [sqrt 1/2, sqrt 2). The
// rounding error c of 1+x is computed exactly (Dekker's sum of the larger and the smaller operand)
// and added to f.
func (a asm) log1p(x vec) vec {
	one := a.num(1)
	larger, smaller := a.atLeast(x, one), a.atMost(x, one)
	u := a.plus(larger, smaller)
	c := a.minus(smaller, a.minus(u, larger))
	k, m := a.exponent(u)
	shrink := a.powerOfTwo(a.minus(a.num(0), a.atMost(k, a.num(100))))
	f := a.plus(a.minus(m, one), a.times(c, shrink))

	y := a.logOf(k, f)
	y = a.or(y, a.signOf(x)) // of zeros
	pole := a.choose(x, equalTo, a.num(-1), a.num(math.Inf(-1)), a.word(a.nan()))
	y = a.choose(x, greaterThan, a.num(-1), y, pole)
	inf := a.num(math.Inf(1))
	return a.choose(x, equalTo, inf, inf, y)
}

// logOf returns k ln 2 + log(1+f), with 1+f in [sqrt 1/2, sqrt 2]. As in FreeBSD's log, log(1+f) =
// f - (f^2/2 - s (f^2/2 + R)), s = f / (2+f), R = sum_{k>=1} 2 s^2k / (2k+1).
func (a asm) logOf(k, f vec) vec {
	s := a.over(f, a.plus(f, a.num(2)))
	s2 := a.times(s, s)
	var coefficients []float64
	for k := 1; k <= a.series().atan; k++ {
		coefficients = append(coefficients, 2/float64(2*k+1))
	}
	rest := a.times(s2, a.horner(s2, coefficients))
	half := a.times(a.times(f, f), a.num(0.5))
	hi, lo := a.ln2()
	tail := a.fma(s, a.plus(half, rest), a.times(k, a.num(lo)))
	return a.fma(k, a.num(hi), a.minus(f, a.minus(half, tail)))
}

// exponent splits a positive normal number u = 2^k m, m in [sqrt 1/2, sqrt 2).
func (a asm) exponent(u vec) (k, m vec) {
	root := a.bitsOf(math.Sqrt(0.5))
	shifted := a.intPlus(u, a.word(a.bitsOf(1)-root))
	m = a.intPlus(a.and(shifted, a.word(1<<a.mantissa()-1)), a.word(root))
	// The exponent's bits below those of 2^p read 2^p + exponent.
	unit := float64(uint64(1) << a.mantissa())
	biased := a.or(a.shiftRight(shifted, a.mantissa()), a.num(unit))
	return a.minus(biased, a.num(unit+float64(a.bias()))), m
}

// nan returns the bits of a quiet NaN.
func (t target) nan() uint64 {
	if t.size == 4 {
		return 0x7fc00000
	}
	return 0x7ff8000000000000
}
