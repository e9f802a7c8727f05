//go:build gpu

package kernels_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/require"
)

// own runs a product by the package's kernel and by the double's loops, on integers that all
// precisions hold exactly, and compares all bytes of the results.
func own[T int8 | uint16 | float32 | float64](t *testing.T, s *kernels.Set, q *queue, g driver.Gemm, number func(int) T) {
	t.Helper()
	_, out := g.Precision.Sizes()
	reads, writes := g.Spans()
	var held []driver.Pointer
	allocate := func(content []byte) driver.Pointer {
		p, err := q.d.Allocate(len(content))
		if err == nil {
			err = q.d.Upload(0, p, content)
		}
		require.NoError(t, err)
		held = append(held, p)
		return p
	}
	state := 1
	numbers := func(span driver.Span) (list []T) {
		in, _ := g.Precision.Sizes()
		for range span.Bytes / in {
			state = state * 1103515245 % 2147483647
			list = append(list, number(state>>8%17-8))
		}
		return list
	}
	g.A, g.B = allocate(bytesOf(numbers(reads[0]))), allocate(bytesOf(numbers(reads[1])))
	before := make([]byte, writes[0].Bytes)
	for i := range len(before) / out {
		switch {
		case out == 8:
			binary.LittleEndian.PutUint64(before[8*i:], math.Float64bits(float64(i%5)))
		case g.Precision != driver.Int8:
			binary.LittleEndian.PutUint32(before[4*i:], math.Float32bits(float32(i%5)))
		}
	}
	var results [2][]byte
	for i, run := range []func() error{func() error { return s.Multiply(q, &g) }, func() error { return q.d.Multiply(0, &g) }} {
		g.C = allocate(before)
		results[i] = make([]byte, len(before))
		require.NoError(t, run())
		require.NoError(t, q.d.Download(0, results[i], g.C))
	}
	if !slices.Equal(results[0], results[1]) {
		t.Errorf("%+v: the kernel and the loops differ", g)
	}
	for _, p := range held {
		require.NoError(t, q.d.Free(p))
	}
}

// The package's own products agree with loops for every precision, transposition, scale and batch,
// for shapes that do and do not fill a tile, with gaps between rows.
func TestOwnProducts(t *testing.T) {
	single := require.Value(labs[kernels.Float32]())(t)
	double := require.Value(labs[kernels.Float64]())(t)
	for _, c := range []struct{ rows, cols, inner, batch int }{{1, 1, 1, 0}, {5, 67, 18, 1}, {70, 3, 33, 3}} {
		for _, trans := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			for _, scale := range [][2]float64{{1, 0}, {-2, 1}} {
				a, b := [2]int{c.rows, c.inner}, [2]int{c.inner, c.cols}
				if trans[0] {
					a = [2]int{c.inner, c.rows}
				}
				if trans[1] {
					b = [2]int{c.cols, c.inner}
				}
				g := driver.Gemm{Rows: c.rows, Cols: c.cols, Inner: c.inner, TransA: trans[0], TransB: trans[1], Alpha: scale[0], Beta: scale[1],
					StrideA: a[1] + 2, StrideB: b[1] + 1, StrideC: c.cols + 3, Batch: c.batch}
				g.StepA, g.StepB, g.StepC = a[0]*g.StrideA+1, b[0]*g.StrideB, c.rows*g.StrideC
				own(t, single.s, single.q, g, func(n int) float32 { return float32(n) })
				g.Precision = driver.BF16
				own(t, single.s, single.q, g, func(n int) uint16 { return uint16(math.Float32bits(float32(n)) >> 16) })
				g.Precision = driver.Float64
				own(t, double.s, double.q, g, func(n int) float64 { return float64(n) })
			}
		}
		g := driver.Gemm{Precision: driver.Int8, Rows: c.rows, Cols: 4 * c.cols, Inner: 16 * c.inner, TransB: true, Alpha: 1,
			StrideA: 16*c.inner + 16, StrideB: 16 * c.inner, StrideC: 4*c.cols + 4, Batch: c.batch}
		g.StepA, g.StepB, g.StepC = c.rows*g.StrideA, 4*c.cols*g.StrideB, c.rows*g.StrideC
		own(t, single.s, single.q, g, func(n int) int8 { return int8(15 * n) })
	}
	wrong := driver.Gemm{Precision: driver.Float64, Rows: 1, Cols: 1, Inner: 1, StrideA: 1, StrideB: 1, StrideC: 1}
	if err := single.s.Multiply(single.q, &wrong); err == nil || fmt.Sprint(err) != "kernels: a product of precision 2 by the kernels of f32" {
		t.Errorf("float64 by float32's kernels: %v", err)
	}
}
