package kernel

import (
	"fmt"
	"sync"
	"testing"

	"ppal/internal/require"
)

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
