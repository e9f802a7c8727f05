//go:build gpu

package double

/*
#cgo CXXFLAGS: -std=c++17 -O3 -Wall
#include "multiply.h"
*/
import "C"

import (
	"fmt"
	"slices"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/kernels"
	"ppal/internal/cuda/kernels/device"
)

// Computing returns a device that computes on the host.
func Computing(o Options) *Driver { return newDriver(o, newHost()) }

func newHost() host {
	h := host{}
	for _, k := range device.Kernels() {
		h[k.Name] = k
	}
	return h
}

// host is the processor: the kernels that are compiled for the host, by name.
type host map[string]device.Kernel

func (h host) load(ptx string) error {
	for _, e := range kernels.Entries(ptx) {
		k, ok := h[e.Name]
		if !ok {
			return fmt.Errorf("the kernel %s is not compiled for the host", e.Name)
		}
		if !slices.Equal(k.Params, e.Params) {
			return fmt.Errorf("%s has parameters of %v bytes on the host and of %v in PTX", e.Name, k.Params, e.Params)
		}
	}
	return nil
}

func (h host) has(kernel string) bool {
	_, ok := h[kernel]
	return ok
}

func (h host) check(kernel string, l *driver.Launch) error {
	if want := len(h[kernel].Params); len(l.Args) != want {
		return fmt.Errorf("%d arguments for %s, want %d", len(l.Args), kernel, want)
	}
	if l.Shared != 0 {
		return fmt.Errorf("%d bytes of dynamic shared memory: kernels on the host have none", l.Shared)
	}
	return nil
}

func (h host) launch(kernel string, l *driver.Launch, backwards bool) error {
	return h[kernel].Launch(l.Grid, l.Block, l.Args, backwards)
}

// multiply runs a product with plain loops. It accumulates in float64 and rounds once. Sums of
// integers are exact. A sum that does not fit in 32 bits is an error.
func (h host) multiply(g *driver.Gemm) error {
	flag := map[bool]C.int{true: 1}
	in, out := g.Precision.Sizes()
	for k := range max(g.Batch, 1) {
		if C.host_multiply(C.int(g.Precision), C.long(g.Rows), C.long(g.Cols), C.long(g.Inner), flag[g.TransA], flag[g.TransB],
			C.double(g.Alpha), C.double(g.Beta), C.ulong(g.A.Offset(k*g.StepA*in)), C.long(g.StrideA), C.ulong(g.B.Offset(k*g.StepB*in)),
			C.long(g.StrideB), C.ulong(g.C.Offset(k*g.StepC*out)), C.long(g.StrideC)) != 0 {
			return fmt.Errorf("a sum over %d that is not a 32-bit integer", g.Inner)
		}
	}
	return nil
}
