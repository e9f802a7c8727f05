package kernel

import (
	"fmt"
	"testing"

	"ppal/internal/require"
)

// BenchmarkByteKernels measures the products of BenchmarkProducts with 8-bit data and digits. The
// time includes quantizing.
func BenchmarkByteKernels(b *testing.B) {
	for _, level := range Levels()[1:] {
		for _, count := range []int{3, 2} {
			benchByteKernels(b, level, count, 2)
		}
	}
}

func benchByteKernels(b *testing.B, level Level, count, cores int) {
	b.Run(fmt.Sprintf("%v/%d/%d", level, count, cores), func(b *testing.B) {
		k := require.Value(NewByteKernels(level))(b)
		if !k.Fast() {
			b.Skip("no instructions for it")
		}
		const n, d, h = benchRows, benchCols, benchWidth
		x := k.NewPackedBytes(n, d, 1/255.)
		values := make([]uint8, RowBlock*d)
		for i := range values {
			values[i] = uint8(i * 7919)
		}
		for lo := 0; lo < n; lo += RowBlock {
			x.setRows(lo, values)
		}
		w := Alloc[float32](d * h)
		for i := range w {
			w[i] = float32(i*104729%1001)/1000 - 0.5
		}
		wp := k.NewDigits(d, h, count)
		z := Alloc[float32](n * h)
		g, s, dp := make([][]float32, cores), make([]*ByteScratch, cores), make([]*Digits, cores)
		for c := range cores {
			g[c], s[c], dp[c] = Alloc[float32](d*h), k.NewByteScratch(), k.NewDigits(RowBlock, h, count)
		}
		for b.Loop() {
			wp.Quantize(0, wp.Panels(), w, h, x.scale)
			inParallel(g, func(c, from, to int) {
				for lo := from; lo < to; lo += RowBlock {
					zb := z[lo*h:][:RowBlock*h]
					k.Mul(zb, h, x, lo, lo+RowBlock, wp, s[c])
					dp[c].Quantize(0, dp[c].Panels(), zb, h, x.scale)
					k.AddMulTrans(g[c], h, x, lo, lo+RowBlock, dp[c], s[c])
				}
			})
		}
		reportProducts(b)
	})
}
