//go:build gpu

package emulator

/*
#cgo CXXFLAGS: -std=c++17 -O3 -Wall
#include "multiply.h"
*/
import "C"

import (
	"slices"

	"ppal/cuda/driver"
)

// Multiply implements driver.Driver by plain loops. The sums are of float64 and rounded once, those of integers exact: one that 32 bits do
// not hold is an error.
func (d *Driver) Multiply(s driver.Stream, g *driver.Gemm) error {
	if g.Rows <= 0 || g.Cols <= 0 || g.Inner <= 0 {
		return failed("multiply", invalidValue, "%d x %d, sums over %d", g.Rows, g.Cols, g.Inner)
	}
	if err := g.Check(); err != nil {
		return failed("multiply", invalidValue, "%v", err)
	}
	copied := *g
	return d.enqueue(s, "multiply", func() error { return d.multiply(&copied) })
}

func (d *Driver) multiply(g *driver.Gemm) error {
	reads, writes := g.Spans()
	for _, s := range slices.Concat(reads, writes) {
		if _, err := d.heap.bytes("multiply", s.At, s.Bytes); err != nil {
			return err
		}
	}
	flag := map[bool]C.int{true: 1}
	in, out := g.Precision.Sizes()
	for k := range max(g.Batch, 1) {
		if C.emulated_multiply(C.int(g.Precision), C.long(g.Rows), C.long(g.Cols), C.long(g.Inner), flag[g.TransA], flag[g.TransB],
			C.double(g.Alpha), C.double(g.Beta), C.ulong(g.A.Offset(k*g.StepA*in)), C.long(g.StrideA), C.ulong(g.B.Offset(k*g.StepB*in)),
			C.long(g.StrideB), C.ulong(g.C.Offset(k*g.StepC*out)), C.long(g.StrideC)) != 0 {
			return failed("multiply", launchFailed, "a sum over %d that is no 32-bit integer", g.Inner)
		}
	}
	return nil
}
