package kernel

import (
	"math"
	"unsafe"
)

// passes are the element-wise passes and sums of one level. Pointers are to n elements.
type passes[F Float] struct {
	exp, sigmoid, tanh, log1p func(n int, dst, x *F)

	biasSigmoid, biasTanh, biasReLU func(n int, z, bias *F)
	sigmoidGrad, tanhGrad, reluGrad func(n int, d, s *F)

	axpy  func(n int, y *F, s F, x *F)
	shift func(n int, z *F, b F)

	product func(n int, dst, x, y *F)

	sum            func(n int, x *F) float64
	dot, distance2 func(n int, x, y *F) float64
}

// Exp computes dst[i] = e^x[i]: 0 for -Inf, +Inf for +Inf, NaN for NaN. Results below the normal
// numbers are rounded like any other. dst may be x.
func (k *Kernels[F]) Exp(dst, x []F) { unary("Exp", k.passes.exp, dst, x) }

// Sigmoid computes dst[i] = 1 / (1 + e^-x[i]): 0 for -Inf, 1 for +Inf, NaN for NaN. dst may be x.
func (k *Kernels[F]) Sigmoid(dst, x []F) { unary("Sigmoid", k.passes.sigmoid, dst, x) }

// Tanh computes dst[i] = tanh x[i]: -1 for -Inf, 1 for +Inf, NaN for NaN. A zero keeps its sign.
// dst may be x.
func (k *Kernels[F]) Tanh(dst, x []F) { unary("Tanh", k.passes.tanh, dst, x) }

// Log1p computes dst[i] = log(1 + x[i]), the natural logarithm: +Inf for +Inf, -Inf for -1, NaN
// below -1 and for NaN. A zero keeps its sign. dst may be x.
func (k *Kernels[F]) Log1p(dst, x []F) { unary("Log1p", k.passes.log1p, dst, x) }

func unary[F Float](name string, pass func(n int, dst, x *F), dst, x []F) {
	checkLength(name, len(dst), len(x))
	if len(x) > 0 {
		pass(len(x), &dst[0], &x[0])
	}
}

// BiasSigmoid computes z[i,j] = 1 / (1 + e^-(z[i,j] + bias[j])) for rows rows of len(bias) columns,
// which are ldz elements apart.
func (k *Kernels[F]) BiasSigmoid(z []F, ldz, rows int, bias []F) {
	biased("BiasSigmoid", k.passes.biasSigmoid, z, ldz, rows, bias)
}

// BiasTanh computes z[i,j] = tanh(z[i,j] + bias[j]) for a matrix as in BiasSigmoid.
func (k *Kernels[F]) BiasTanh(z []F, ldz, rows int, bias []F) {
	biased("BiasTanh", k.passes.biasTanh, z, ldz, rows, bias)
}

// BiasReLU computes z[i,j] = max(0, z[i,j] + bias[j]) for a matrix as in BiasSigmoid. The result is
// +0 for a sum of zero and -0 for a negative sum: ReLUGrad tells them apart.
func (k *Kernels[F]) BiasReLU(z []F, ldz, rows int, bias []F) {
	biased("BiasReLU", k.passes.biasReLU, z, ldz, rows, bias)
}

func biased[F Float](name string, pass func(n int, z, bias *F), z []F, ldz, rows int, bias []F) {
	checkMatrix(name, z, rows, len(bias), ldz)
	if len(bias) == 0 {
		return
	}
	for i := range rows {
		pass(len(bias), &z[i*ldz], &bias[0])
	}
}

// SigmoidGrad computes d[i] = d[i] (s[i] (1 - s[i])): given the derivative with respect to s =
// sigmoid(x), the derivative with respect to x. Negligible derivatives are 0: see negligible.
func (k *Kernels[F]) SigmoidGrad(d, s []F) { slope("SigmoidGrad", k.passes.sigmoidGrad, d, s) }

// TanhGrad computes d[i] = d[i] (1 - s[i]^2), the same for s = tanh(x). Negligible derivatives are
// 0.
func (k *Kernels[F]) TanhGrad(d, s []F) { slope("TanhGrad", k.passes.tanhGrad, d, s) }

// ReLUGrad computes d[i] = d[i], or 0 d[i] where the sign bit of s[i] is set, the same for the s
// that BiasReLU writes. Negligible derivatives are 0.
func (k *Kernels[F]) ReLUGrad(d, s []F) { slope("ReLUGrad", k.passes.reluGrad, d, s) }

func slope[F Float](name string, pass func(n int, d, s *F), d, s []F) {
	checkLength(name, len(d), len(s))
	if len(d) > 0 {
		pass(len(d), &d[0], &s[0])
	}
}

// Axpy computes y[i] = y[i] + s x[i].
func (k *Kernels[F]) Axpy(y []F, s F, x []F) {
	checkLength("Axpy", len(y), len(x))
	if len(y) > 0 {
		k.passes.axpy(len(y), &y[0], s, &x[0])
	}
}

// Shift computes z[i] = z[i] + b.
func (k *Kernels[F]) Shift(z []F, b F) {
	if len(z) > 0 {
		k.passes.shift(len(z), &z[0], b)
	}
}

// Product computes dst[i] = x[i] y[i]. dst may be x or y.
func (k *Kernels[F]) Product(dst, x, y []F) {
	checkLength("Product", len(dst), len(x))
	checkLength("Product", len(dst), len(y))
	if len(dst) > 0 {
		k.passes.product(len(dst), &dst[0], &x[0], &y[0])
	}
}

// Sum returns the sum of x[i] in float64, in the order of Dot.
func (k *Kernels[F]) Sum(x []F) float64 {
	if len(x) == 0 {
		return 0
	}
	return k.passes.sum(len(x), &x[0])
}

// Dot returns the sum of x[i] y[i] in float64.
//
// Dot, like the other sums, has 32 partial sums. Partial sum r adds the terms with i mod 32 = r in
// increasing i. Then the upper 16 partial sums are added to the lower 16, the upper 8 to the lower
// 8, and so on until a single sum remains.
func (k *Kernels[F]) Dot(x, y []F) float64 {
	checkLength("Dot", len(x), len(y))
	if len(x) == 0 {
		return 0
	}
	return k.passes.dot(len(x), &x[0], &y[0])
}

// SquaredDistance returns the sum of (x[i] - y[i])^2 in float64, in the order of Dot.
func (k *Kernels[F]) SquaredDistance(x, y []F) float64 {
	checkLength("SquaredDistance", len(x), len(y))
	if len(x) == 0 {
		return 0
	}
	return k.passes.distance2(len(x), &x[0], &y[0])
}

func checkLength(name string, a, b int) {
	if a != b {
		panic("kernel: " + name + ": vectors of different lengths")
	}
}

// Activation names a function of the sum of a product and a bias.
type Activation int

const (
	SigmoidActivation Activation = iota // as BiasSigmoid
	TanhActivation                      // as BiasTanh
	ReLUActivation                      // as BiasReLU
)

// BiasActivation computes z[i,j] = f(z[i,j] + bias[j]) for a matrix as in BiasSigmoid.
func (k *Kernels[F]) BiasActivation(f Activation, z []F, ldz, rows int, bias []F) {
	switch f {
	case SigmoidActivation:
		k.BiasSigmoid(z, ldz, rows, bias)
	case TanhActivation:
		k.BiasTanh(z, ldz, rows, bias)
	case ReLUActivation:
		k.BiasReLU(z, ldz, rows, bias)
	default:
		panic("kernel: BiasActivation: unknown activation")
	}
}

// passesGo returns the reference of the passes in assembly: functions in float64, rounded.
func passesGo[F Float]() passes[F] {
	return passes[F]{
		exp:         unaryGo[F](exp64),
		sigmoid:     unaryGo[F](sigmoid64),
		tanh:        unaryGo[F](math.Tanh),
		log1p:       unaryGo[F](math.Log1p),
		biasSigmoid: biasedGo[F](sigmoid64),
		biasTanh:    biasedGo[F](math.Tanh),
		biasReLU:    biasedGo[F](relu64),
		sigmoidGrad: slopeGo(func(s F) F { return s * (1 - s) }),
		tanhGrad:    slopeGo(func(s F) F { return 1 - s*s }),
		reluGrad:    slopeGo(positiveGo[F]),
		axpy:        axpyGo[F],
		shift:       shiftGo[F],
		product: func(n int, dst, x, y *F) {
			to, b := unsafe.Slice(dst, n), unsafe.Slice(y, n)
			for i, v := range unsafe.Slice(x, n) {
				to[i] = v * b[i]
			}
		},
		sum: func(n int, x *F) float64 {
			return sumGo(n, x, x, func(x, _ float64) float64 { return x })
		},
		dot: func(n int, x, y *F) float64 {
			return sumGo(n, x, y, func(x, y float64) float64 { return x * y })
		},
		distance2: func(n int, x, y *F) float64 {
			return sumGo(n, x, y, func(x, y float64) float64 { return (x - y) * (x - y) })
		},
	}
}

func unaryGo[F Float](f func(float64) float64) func(n int, dst, x *F) {
	return func(n int, dst, x *F) {
		to := unsafe.Slice(dst, n)
		for i, v := range unsafe.Slice(x, n) {
			to[i] = F(f(float64(v)))
		}
	}
}

// exp64 returns e^x. math.Exp overflows slightly too early on amd64.
func exp64(x float64) float64 {
	if x > 709 {
		return math.E * math.Exp(x-1)
	}
	return math.Exp(x)
}

// sigmoid64 returns 1 / (1 + e^-x), with relative accuracy for negative x too.
func sigmoid64(x float64) float64 {
	t := math.Exp(-math.Abs(x))
	if x < 0 {
		return t / (1 + t)
	}
	return 1 / (1 + t)
}

// relu64 returns x + 0 for x >= 0, so +0 for -0, and -0 for negative x.
func relu64(x float64) float64 {
	if x < 0 {
		return math.Copysign(0, -1)
	}
	return x + 0
}

// positiveGo returns 1 if the sign bit is clear, else 0.
func positiveGo[F Float](s F) F {
	if math.Signbit(float64(s)) {
		return 0
	}
	return 1
}

func biasedGo[F Float](f func(float64) float64) func(n int, z, bias *F) {
	return func(n int, z, bias *F) {
		zs := unsafe.Slice(z, n)
		for i, b := range unsafe.Slice(bias, n) {
			zs[i] = F(f(float64(zs[i] + b)))
		}
	}
}

func slopeGo[F Float](f func(s F) F) func(n int, d, s *F) {
	return func(n int, d, s *F) {
		ds := unsafe.Slice(d, n)
		for i, v := range unsafe.Slice(s, n) {
			ds[i] = significant(ds[i] * f(v))
		}
	}
}

func axpyGo[F Float](n int, y *F, s F, x *F) {
	ys := unsafe.Slice(y, n)
	for i, v := range unsafe.Slice(x, n) {
		ys[i] += s * v
	}
}

func shiftGo[F Float](n int, z *F, b F) {
	zs := unsafe.Slice(z, n)
	for i := range zs {
		zs[i] += b
	}
}

// sumLanes is the number of partial sums of a sum. The generator has the same constant.
const sumLanes = 32

func sumGo[F Float](n int, x, y *F, term func(x, y float64) float64) float64 {
	var sums [sumLanes]float64
	ys := unsafe.Slice(y, n)
	for i, v := range unsafe.Slice(x, n) {
		sums[i%sumLanes] += term(float64(v), float64(ys[i]))
	}
	return fold(&sums)
}

// fold adds the upper half of the partial sums to the lower half until a single sum remains.
func fold(sums *[sumLanes]float64) float64 {
	for half := sumLanes / 2; half > 0; half /= 2 {
		for i := range half {
			sums[i] += sums[half+i]
		}
	}
	return sums[0]
}

// significant returns x, and zero for a derivative x that is negligible.
func significant[F Float](x F) F {
	least := negligible[F]()
	if -least < x && x < least {
		return 0
	}
	return x
}

// negligible returns the magnitude below which a derivative counts as zero: 2^-100 for float32, and
// 2^-960 for float64. The generator has the same numbers.
//
// SigmoidGrad, TanhGrad, ReLUGrad, SignedLossGrad, LossGradFromTails, LossGradFromTailsWhere and
// QuantizeDerivative write zeros in place of negligible derivatives. The derivatives of saturated
// rows and units become that small, and products with them would be subnormal numbers. On many CPUs
// of Intel, an operation that reads or writes a subnormal number takes about 150 cycles more: an
// iteration took up to 13 times as long.
func negligible[F Float]() F {
	least := 0x1p-100
	if sizeof[F]() == 8 {
		least = 0x1p-960
	}
	return F(least)
}
