package kernel

import (
	"fmt"
	"testing"
)

// BenchmarkPasses measures passes over a block of rows that stays in the level-2 cache, 240 x 256.
func BenchmarkPasses(b *testing.B) {
	for _, level := range Levels() {
		benchPasses[float32](b, level)
		benchPasses[float64](b, level)
	}
}

func benchPasses[F Float](b *testing.B, level Level) {
	k := mustNew[F](b, level)
	const rows, cols = RowBlock, benchWidth
	x, y, z := Alloc[F](rows*cols), Alloc[F](rows*cols), Alloc[F](rows*cols)
	for i := range x {
		x[i], y[i] = F(i%97)/10-5, F(i%89)/89
	}
	for _, c := range []struct {
		name string
		pass func()
	}{
		{"exp", func() { k.Exp(z, x) }},
		{"sigmoid", func() { k.Sigmoid(z, x) }},
		{"tanh", func() { k.Tanh(z, x) }},
		{"log1p", func() { k.Log1p(z, y) }},
		{"biassigmoid", func() { k.BiasSigmoid(z, cols, rows, y[:cols]) }},
		{"sigmoidgrad", func() { k.SigmoidGrad(z, y) }},
		{"axpy", func() { k.Axpy(z, 1e-3, x) }},
		{"dot", func() { k.Dot(x, y) }},
		{"squareddistance", func() { k.SquaredDistance(x, y) }},
	} {
		b.Run(fmt.Sprintf("%v/%T/%s", level, x[0], c.name), func(b *testing.B) {
			for b.Loop() {
				c.pass()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/(rows*cols), "ns/element")
		})
	}
}
