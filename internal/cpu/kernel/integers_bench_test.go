package kernel

import (
	"fmt"
	"sync"
	"testing"
)

// BenchmarkIntegers measures what BenchmarkProducts measures, with 8-bit data and slices, cutting included.
func BenchmarkIntegers(b *testing.B) {
	for _, level := range Levels()[1:] {
		for _, slices := range []int{3, 2} {
			benchIntegers(b, level, slices, 2)
		}
	}
}

func benchIntegers(b *testing.B, level Level, slices, cores int) {
	b.Run(fmt.Sprintf("%v/%d/%d", level, slices, cores), func(b *testing.B) {
		k, err := NewIntegers(level)
		if err != nil {
			b.Fatal(err)
		}
		if !k.Fast() {
			b.Skip("no instructions for it")
		}
		const n, d, h = benchRows, benchCols, benchWidth
		x := NewBytes(n, d, 1/255.)
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
		wp := k.NewSlices(d, h, slices)
		z := Alloc[float32](n * h)
		g, s, dp := make([][]float32, cores), make([]*ByteScratch, cores), make([]*Slices, cores)
		for c := range cores {
			g[c], s[c], dp[c] = Alloc[float32](d*h), k.NewByteScratch(), k.NewSlices(RowBlock, h, slices)
		}
		for b.Loop() {
			wp.Cut(0, wp.Count(), w, h, x.scale)
			var group sync.WaitGroup
			for c := range cores {
				group.Go(func() {
					clear(g[c])
					blocks := n / RowBlock
					for lo := c * blocks / cores * RowBlock; lo < (c+1)*blocks/cores*RowBlock; lo += RowBlock {
						zb := z[lo*h:][:RowBlock*h]
						k.Mul(zb, h, x, lo, lo+RowBlock, wp, s[c])
						dp[c].Cut(0, dp[c].Count(), zb, h, x.scale)
						k.AddMulTrans(g[c], h, x, lo, lo+RowBlock, dp[c], s[c])
					}
				})
			}
			group.Wait()
			for c := 1; c < cores; c++ {
				for i, v := range g[c] {
					g[0][i] += v
				}
			}
		}
		flop := 4 * float64(n) * d * h * float64(b.N)
		b.ReportMetric(flop/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(1e3*b.Elapsed().Seconds()/float64(b.N), "ms/op")
	})
}
