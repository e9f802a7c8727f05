package kernel

import (
	"fmt"
	"sync"
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
	measure(b, fmt.Sprintf("%v/%T", level, x[0]), rows*cols, map[string]func(){
		"exp":             func() { k.Exp(z, x) },
		"sigmoid":         func() { k.Sigmoid(z, x) },
		"tanh":            func() { k.Tanh(z, x) },
		"log1p":           func() { k.Log1p(z, y) },
		"biassigmoid":     func() { k.BiasSigmoid(z, cols, rows, y[:cols]) },
		"sigmoidgrad":     func() { k.SigmoidGrad(z, y) },
		"axpy":            func() { k.Axpy(z, 1e-3, x) },
		"dot":             func() { k.Dot(x, y) },
		"squareddistance": func() { k.SquaredDistance(x, y) },
	})
}

// benchRows, benchCols and benchWidth are the shape of the largest common problem: 24,000 images of
// 784 pixels, 256 units.
const benchRows, benchCols, benchWidth = 24000, 784, 256

// BenchmarkProducts measures Z = X W and G += X^T D over all rows on several cores, block by block
// as a device runs them.
func BenchmarkProducts(b *testing.B) {
	for _, level := range Levels() {
		for _, cores := range []int{1, 2} {
			benchProducts[float32](b, level, cores)
			benchProducts[float64](b, level, cores)
		}
	}
}

func benchProducts[F Float](b *testing.B, level Level, cores int) {
	var zero F
	b.Run(fmt.Sprintf("%v/%T/%d", level, zero, cores), func(b *testing.B) {
		k := require.Value(New[F](level))(b)
		const n, d, h = benchRows, benchCols, benchWidth
		x := k.NewPackedFloats(n, d)
		row := make([]F, d)
		for i := range n {
			for j := range row {
				row[j] = F((i*d+j)*7919%255) / 255
			}
			x.SetRow(i, row)
		}
		w := make([]F, d*h)
		for i := range w {
			w[i] = F(i*104729%1001)/1000 - 0.5
		}
		wp := k.NewPanels(d, h)
		z := Alloc[F](n * h)
		g := make([][]F, cores)
		s := make([]*Scratch[F], cores)
		for c := range cores {
			g[c] = Alloc[F](d * h)
			s[c] = k.NewScratch(RowBlock, h)
		}
		for b.Loop() {
			wp.Pack(d, h, w, h)
			inParallel(g, func(c, from, to int) {
				for lo := from; lo < to; lo += RowBlock {
					zb := z[lo*h:][:RowBlock*h]
					k.Mul(zb, h, x, lo, lo+RowBlock, wp, s[c])
					k.AddMulTrans(g[c], h, x, lo, lo+RowBlock, zb, h, h, s[c])
				}
			})
		}
		reportProducts(b)
	})
}

// inParallel clears each G, calls work on each core with the core's rows (whole blocks), and adds
// every core's G to the first G.
func inParallel[F Float](g [][]F, work func(core, from, to int)) {
	const blocks = benchRows / RowBlock
	var group sync.WaitGroup
	for c := range g {
		group.Go(func() {
			clear(g[c])
			work(c, c*blocks/len(g)*RowBlock, (c+1)*blocks/len(g)*RowBlock)
		})
	}
	group.Wait()
	for _, part := range g[1:] {
		for i, v := range part {
			g[0][i] += v
		}
	}
}

// reportProducts reports the speed of both products.
func reportProducts(b *testing.B) {
	flop := 4 * float64(benchRows) * benchCols * benchWidth * float64(b.N)
	b.ReportMetric(flop/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(1e3*b.Elapsed().Seconds()/float64(b.N), "ms/op")
}

// BenchmarkTile measures a tile of X W whose operands stay in the level-1 cache. The result is the
// largest speed of a core.
func BenchmarkTile(b *testing.B) {
	for _, level := range Levels()[1:] {
		benchTile[float32](b, level)
		benchTile[float64](b, level)
	}
}

func benchTile[F Float](b *testing.B, level Level) {
	var zero F
	b.Run(fmt.Sprintf("%v/%T", level, zero), func(b *testing.B) {
		k := require.Value(New[F](level))(b)
		const depth = 64
		rows, cols := k.products.rows, k.products.cols
		x, w, c := Alloc[F](depth*panelRows), Alloc[F](depth*cols), Alloc[F](rows*cols)
		for b.Loop() {
			k.products.tile[0](depth, &x[0], &w[0], &c[0], cols, false)
		}
		b.ReportMetric(2*depth*float64(rows*cols)/1e9*float64(b.N)/b.Elapsed().Seconds(), "GFLOP/s")
	})
}

func BenchmarkPack(b *testing.B) {
	k := mustNew[float32](b, Best())
	const h = benchWidth
	p := k.NewPanels(RowBlock, h)
	d := Alloc[float32](RowBlock * h)
	for b.Loop() {
		p.Pack(RowBlock, h, d, h)
	}
}

func BenchmarkSetRow(b *testing.B) {
	x := mustNew[float32](b, Best()).NewPackedFloats(RowBlock, benchWidth)
	row := Alloc[float32](benchWidth)
	for b.Loop() {
		for i := range RowBlock {
			x.SetRow(i, row)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/(RowBlock*benchWidth), "ns/element")
}
