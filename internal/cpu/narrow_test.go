package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// groupFactors are rows and a factor for each, which is 0 outside every period-th row.
func groupFactors(rows, cols, period int) (factors, data kernel.Strided[float32]) {
	rng := rand.New(rand.NewPCG(3, uint64(period)))
	d, x := make([]float32, rows), make([]float32, rows*cols)
	for i := range d {
		if period > 0 && i%period == 0 {
			d[i] = rng.Float32() - 0.5
		}
	}
	for i := range x {
		x[i] = rng.Float32() - 0.5
	}
	return kernel.Dense(d, rows, 1, 1), kernel.Dense(x, rows, cols, cols)
}

// The sums have the bits of all rows, and few rows are copied.
func TestCompactKeepsTheSums(t *testing.T) {
	const rows, cols = 61, 19
	for _, level := range kernel.Levels() {
		k := must(kernel.New[float32](level))
		for _, period := range []int{0, 1, 3, 4, 5, 20, 100} {
			factors, data := groupFactors(rows, cols, period)
			s := &outerSums[float32]{buffers: make([][]float32, 1)}
			few, kept := s.compact(0, factors, data)
			n := 0
			for _, d := range factors.Data {
				if d != 0 {
					n++
				}
			}
			if want := n; n > rows/4 {
				if want = rows; few.Rows != want {
					t.Errorf("period %d: %d rows, want all", period, few.Rows)
				}
			} else if few.Rows != want || kept.Rows != want {
				t.Errorf("period %d: %d factors and %d rows, want %d", period, few.Rows, kept.Rows, want)
			}
			all, compact := make([]float32, cols), make([]float32, cols)
			k.CombineRows(kernel.Dense(all, 1, cols, cols), factors.T(), data, true)
			k.CombineRows(kernel.Dense(compact, 1, cols, cols), few.T(), kept, true)
			if !slices.Equal(all, compact) {
				t.Errorf("%v, period %d: the sums differ", level, period)
			}
		}
	}
}

// BenchmarkCompact sums a block of rows of 700 columns for all rows, and for a group of 77.
func BenchmarkCompact(b *testing.B) {
	const rows, cols = 64, 700
	k := must(kernel.New[float32](kernel.Best()))
	for _, period := range []int{1, 77} {
		b.Run(fmt.Sprintf("one in %d", period), func(b *testing.B) {
			factors, data := groupFactors(rows, cols, period)
			s := &outerSums[float32]{buffers: make([][]float32, 1)}
			sums := make([]float32, cols)
			for b.Loop() {
				few, kept := s.compact(0, factors, data)
				k.CombineRows(kernel.Dense(sums, 1, cols, cols), few.T(), kept, true)
			}
		})
	}
}

// A derivative of several heads costs nothing only on rows where all heads have none.
func TestNoHeadHasADerivative(t *testing.T) {
	const rows, heads = 4, 3
	s := &byteGradient{own: &derivative{}}
	for k := range heads {
		s.own.products = append(s.own.products, &narrowProduct[float32]{p: &plan.Product{A: plan.View{Offset: k, Rows: rows, Cols: 1, Stride: heads}}})
	}
	for at := range rows * heads {
		w := &worker[float32]{Memory: &plan.Memory[float32]{Data: [][]float32{make([]float32, rows*heads)}, First: []int{0}}}
		w.Data[0][at] = 1
		for i := range rows {
			if got, want := s.isZero(w, i, i+1), at/heads != i; got != want {
				t.Errorf("head %d has a derivative on row %d: no derivative on row %d: %v, want %v", at%heads, at/heads, i, got, want)
			}
		}
	}
}
