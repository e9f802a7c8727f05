package kernel

import (
	"math"
	"unsafe"
)

// lossesGo returns the reference of the passes in assembly, in float64, rounded.
func lossesGo[F Float]() losses[F] {
	var l losses[F]
	for phi, f := range map[Loss]struct{ value, slope func(x float64) float64 }{
		SigmoidLoss:  {sigmoid64, sigmoidSlope64},
		LogisticLoss: {logistic64, sigmoid64},
		HingeLoss:    {hinge64, hingeSlope64},
	} {
		l.value[phi] = signedLossGo[F](f.value)
		l.grad[phi], l.gradAdd[phi] = signedLossGradGo[F](f.slope, false), signedLossGradGo[F](f.slope, true)
	}
	return l
}

func signedLossGo[F Float](f func(x float64) float64) func(n int, out, s, minus *F) {
	return func(n int, out, s, minus *F) {
		to, scores, signs := unsafe.Slice(out, n), unsafe.Slice(s, n), unsafe.Slice(minus, n)
		for i := range to {
			to[i] = F(f(float64(signs[i]) * float64(scores[i])))
		}
	}
}

func signedLossGradGo[F Float](slope func(x float64) float64, add bool) func(n int, out, s, minus, d *F) {
	return func(n int, out, s, minus, d *F) {
		to, scores, signs, weights := unsafe.Slice(out, n), unsafe.Slice(s, n), unsafe.Slice(minus, n), unsafe.Slice(d, n)
		for i := range to {
			y := float64(signs[i])
			g := float64(weights[i]) * y * slope(y*float64(scores[i]))
			if add {
				g += float64(to[i])
			}
			to[i] = significant(F(g))
		}
	}
}

func sigmoidSlope64(x float64) float64 {
	t := math.Exp(-math.Abs(x))
	return t / ((1 + t) * (1 + t))
}

// logistic64 returns log(1 + e^x).
func logistic64(x float64) float64 { return math.Max(0, x) + math.Log1p(math.Exp(-math.Abs(x))) }

func hinge64(x float64) float64 { return math.Max(0, 1+x) }

func hingeSlope64(x float64) float64 {
	switch {
	case 1+x > 0:
		return 1
	case x == x:
		return 0
	}
	return x // NaN
}
