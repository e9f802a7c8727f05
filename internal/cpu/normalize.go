package cpu

import (
	"math"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// normalize gives the groups of a row the mean 0 and the variance 1.
type normalize[T plan.Float] struct{ s *plan.Normalize }

func (n *normalize[T]) block(_ int, w *worker[T], lo, hi int) error {
	size := n.s.In.Cols / n.s.Groups
	for i := lo; i < hi; i++ {
		in, out := w.Row(n.s.In, i), w.Row(n.s.Out, i)
		for at := 0; at < len(in); at += size {
			y := out[at : at+size]
			w.k.Scale(y, T(centered(w.k, y, in[at:at+size], n.s.Epsilon)), y)
		}
	}
	return nil
}

// centered writes x - mean to c, and returns 1/sqrt(variance + epsilon).
func centered[T plan.Float](k *kernel.Kernels[T], c, x []T, epsilon float64) (inverse float64) {
	n := float64(len(x))
	copy(c, x)
	k.Shift(c, T(-k.Sum(x)/n))
	return 1 / math.Sqrt(k.Dot(c, c)/n+epsilon)
}

// normalizeGrad computes the derivatives of normalize.
type normalizeGrad[T plan.Float] struct{ s *plan.NormalizeGrad }

func (g *normalizeGrad[T]) block(_ int, w *worker[T], lo, hi int) error {
	size := g.s.In.Cols / g.s.Groups
	n := float64(size)
	for i := lo; i < hi; i++ {
		in, all, to := w.Row(g.s.In, i), w.Row(g.s.D, i), w.Row(g.s.Out, i)
		for at := 0; at < len(in); at += size {
			d, out := all[at:at+size], to[at:at+size]
			inverse := centered(w.k, out, in[at:at+size], g.s.Epsilon)
			slope := w.k.Dot(d, out) / n * inverse * inverse * inverse
			w.k.Combine(out, T(inverse), d, T(-slope), out)
			w.k.Shift(out, T(-w.k.Sum(d)/n*inverse))
		}
	}
	return nil
}
