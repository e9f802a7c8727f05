package kernel

import (
	"math"
	"unsafe"
)

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
