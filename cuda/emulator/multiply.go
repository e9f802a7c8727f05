//go:build gpu

package emulator

/*
#cgo CXXFLAGS: -std=c++17 -O3 -Wall
#include "multiply.h"
*/
import "C"

import (
	"ppal/cuda/driver"
)

// Multiply implements driver.Driver by plain loops. The sums are of float64 and rounded once.
func (d *Driver) Multiply(s driver.Stream, g *driver.Gemm) error {
	if g.Rows <= 0 || g.Cols <= 0 || g.Inner <= 0 {
		return failed("multiply", invalidValue, "%d x %d, sums over %d", g.Rows, g.Cols, g.Inner)
	}
	copied := *g
	return d.enqueue(s, "multiply", func() error { return d.multiply(&copied) })
}

func (d *Driver) multiply(g *driver.Gemm) error {
	in, out := 4, 4
	switch g.Precision {
	case driver.Float64:
		in, out = 8, 8
	case driver.BF16:
		in = 2
	}
	a, b := [2]int{g.Rows, g.Inner}, [2]int{g.Inner, g.Cols}
	if g.TransA {
		a = [2]int{g.Inner, g.Rows}
	}
	if g.TransB {
		b = [2]int{g.Cols, g.Inner}
	}
	for _, m := range []struct {
		p      driver.Pointer
		dims   [2]int
		stride int
		size   int
	}{{g.A, a, g.StrideA, in}, {g.B, b, g.StrideB, in}, {g.C, [2]int{g.Rows, g.Cols}, g.StrideC, out}} {
		if m.stride < m.dims[1] {
			return failed("multiply", invalidValue, "%d elements a row, and a stride of %d", m.dims[1], m.stride)
		}
		if _, err := d.heap.bytes("multiply", m.p, ((m.dims[0]-1)*m.stride+m.dims[1])*m.size); err != nil {
			return err
		}
	}
	flag := map[bool]C.int{true: 1}
	C.emulated_multiply(C.int(g.Precision), C.long(g.Rows), C.long(g.Cols), C.long(g.Inner), flag[g.TransA], flag[g.TransB],
		C.double(g.Alpha), C.double(g.Beta), C.ulong(g.A), C.long(g.StrideA), C.ulong(g.B), C.long(g.StrideB), C.ulong(g.C),
		C.long(g.StrideC))
	return nil
}
