package kernel

import (
	"math"
	"unsafe"
)

// tailsGo returns the reference of the passes in assembly, in float64, rounded.
func tailsGo[F Float]() tails[F] {
	sigmoidGrad := func(tail, minus float64) float64 { return math.Abs(tail) * (1 - math.Abs(tail)) }
	logisticGrad := func(tail, minus float64) float64 { return tailSigmoid64(minus * tail) }
	t := tails[F]{of: unaryGo[F](tail64), sigmoid: tailSigmoidGo[F], logisticSums: tailLogisticSumsGo[F]}
	for phi, slope := range []func(tail, minus float64) float64{SigmoidLoss: sigmoidGrad, LogisticLoss: logisticGrad} {
		t.grad[phi], t.gradAdd[phi] = tailGradGo[F](slope, false), tailGradGo[F](slope, true)
		t.gradWhere[phi], t.gradAddWhere[phi] = tailGradWhereGo(t.grad[phi]), tailGradWhereGo(t.gradAdd[phi])
	}
	return t
}

// tail64 returns 1 / (1 + e^|x|) with the sign of x.
func tail64(x float64) float64 { return math.Copysign(sigmoid64(-math.Abs(x)), x) }

// tailSigmoid64 returns 1 / (1 + e^-x) from the logistic tail of x.
func tailSigmoid64(tail float64) float64 {
	if math.Signbit(tail) {
		return -tail
	}
	return 1 - tail
}

func tailSigmoidGo[F Float](n int, out, tails, minus *F) {
	to, from, signs := unsafe.Slice(out, n), unsafe.Slice(tails, n), unsafe.Slice(minus, n)
	for i := range to {
		to[i] = F(tailSigmoid64(float64(signs[i]) * float64(from[i])))
	}
}

func tailGradGo[F Float](slope func(tail, minus float64) float64, add bool) func(n int, out, tails, minus, d *F) {
	return func(n int, out, tails, minus, d *F) {
		to, from, signs, weights := unsafe.Slice(out, n), unsafe.Slice(tails, n), unsafe.Slice(minus, n), unsafe.Slice(d, n)
		for i := range to {
			y := float64(signs[i])
			g := float64(weights[i]) * y * slope(float64(from[i]), y)
			if add {
				g += float64(to[i])
			}
			to[i] = significant(F(g))
		}
	}
}

func tailGradWhereGo[F Float](grad func(n int, out, tails, minus, d *F)) func(n int, out, tails, minus *F, set *uint16, yes, no F) {
	return func(n int, out, tails, minus *F, set *uint16, yes, no F) {
		to, from, signs := unsafe.Slice(out, n), unsafe.Slice(tails, n), unsafe.Slice(minus, n)
		for i := range n {
			d := no
			if member(set, i) {
				d = yes
			}
			grad(1, &to[i], &from[i], &signs[i], &d)
		}
	}
}

func tailLogisticSumsGo[F Float](n int, tails, s, minus *F, sums *float64) {
	from, scores, signs := unsafe.Slice(tails, n), unsafe.Slice(s, n), unsafe.Slice(minus, n)
	state := unsafe.Slice(sums, 2*productLanes)
	for i, t := range from {
		l := i % productLanes
		state[l] += math.Max(0, float64(signs[i])*float64(scores[i]))
		state[productLanes+l] *= 1 - math.Abs(float64(t))
	}
}
