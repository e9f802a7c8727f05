//go:build gpu

package nvidia

/*
#cgo noescape ppal_cublas_multiply
#cgo nocallback ppal_cublas_multiply
#include "cublas.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	"ppal/internal/cuda/driver"
)

// products runs a device's matrix products. Each stream that multiplies has its own cuBLAS handle
// and workspace, so the same product gives the same bits, and streams share no scratch memory.
type products struct {
	lib       *library // nil: there is no cuBLAS
	missing   error    // why lib is nil
	workspace int      // bytes
	handles   map[driver.Stream]blasHandle
}

type blasHandle struct {
	handle    unsafe.Pointer
	workspace cu.DevicePtr
}

func newProducts(lib *library, missing error, workspace int) *products {
	return &products{lib: lib, missing: missing, workspace: workspace, handles: map[driver.Stream]blasHandle{}}
}

// hopper is the first compute capability with the larger workspace.
const hopper = 9

// workspaceBytes returns the workspace size that the cuBLAS documentation recommends
// (cublasSetWorkspace).
func workspaceBytes(major int) int {
	if major >= hopper {
		return 32 << 20
	}
	return 4 << 20
}

// prepare creates the stream's handle if there is none. The context must be current. Without cuBLAS
// it does nothing.
func (p *products) prepare(s driver.Stream) error {
	if _, have := p.handles[s]; have || p.lib == nil {
		return nil
	}
	memory, err := cu.MemAlloc(int64(p.workspace))
	if err != nil {
		return failed(fmt.Sprintf("allocate %d bytes of cuBLAS's workspace", p.workspace),
			fmt.Sprintf("cuMemAlloc(&p, %d)", p.workspace), err)
	}
	h := blasHandle{workspace: memory}
	status := C.ppal_cublas_create(&p.lib.functions, &h.handle, handle[unsafe.Pointer](s), C.uint64_t(memory), C.size_t(p.workspace))
	if status != 0 {
		_ = cu.MemFree(memory) // report the first error
		return p.lib.failed("make a handle of cuBLAS",
			fmt.Sprintf("cublasCreate, SetStream(%#x), SetWorkspace(%d), SetMathMode", s, p.workspace), status)
	}
	p.handles[s] = h
	return nil
}

// drop destroys the stream's handle. The context must be current.
func (p *products) drop(s driver.Stream) error {
	h, have := p.handles[s]
	if !have {
		return nil
	}
	delete(p.handles, s)
	status := C.ppal_cublas_destroy(&p.lib.functions, h.handle)
	if err := cu.MemFree(h.workspace); err != nil {
		return failed("free cuBLAS's workspace", fmt.Sprintf("cuMemFree(%#x)", h.workspace), err)
	}
	if status != 0 {
		return p.lib.failed("free a handle of cuBLAS", "cublasDestroy(h)", status)
	}
	return nil
}

// close destroys all handles and returns the first error.
func (p *products) close() error {
	var first error
	for s := range p.handles {
		if err := p.drop(s); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Multiply implements driver.Driver.
//
// cuBLAS is column-major: it reads a row-major matrix as the transpose. C^T = op(B)^T op(A)^T, so B
// comes first, and the flags stay the same.
func (d *device) Multiply(s driver.Stream, g *driver.Gemm) error {
	if g.Rows == 0 || g.Cols == 0 {
		return nil
	}
	if err := g.Check(); err != nil {
		return err
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	lib := d.products.lib
	if lib == nil {
		return fmt.Errorf("cuda: multiply: %w: %w", driver.ErrNotSupported, d.products.missing)
	}
	if err := d.products.prepare(s); err != nil {
		return err
	}
	p := C.ppal_product{
		precision: C.int(g.Precision), trans_a: truth(g.TransB), trans_b: truth(g.TransA),
		m: C.int(g.Cols), n: C.int(g.Rows), k: C.int(g.Inner),
		lda: C.int(g.StrideB), ldb: C.int(g.StrideA), ldc: C.int(g.StrideC),
		alpha: C.double(g.Alpha), beta: C.double(g.Beta),
		a: C.uint64_t(g.B), b: C.uint64_t(g.A), c: C.uint64_t(g.C),
		count: C.int(g.Batch), step_a: C.int64_t(g.StepB), step_b: C.int64_t(g.StepA), step_c: C.int64_t(g.StepC),
	}
	if status := C.ppal_cublas_multiply(&lib.functions, d.products.handles[s].handle, &p); status != 0 {
		e := lib.failed(fmt.Sprintf("multiply %d x %d by %d x %d", g.Rows, g.Inner, g.Inner, g.Cols),
			fmt.Sprintf("cublasGemmEx(%+v)", *g), status)
		if status == notSupported || status == invalidValue && g.Precision == driver.Int8 {
			e.Err = driver.ErrNotSupported
		}
		return e
	}
	return nil
}

// The cublasStatus_t with which cuBLAS refuses products. Some versions answer small products of
// 8-bit integers with invalidValue (pytorch issue 106840).
const (
	invalidValue = 7
	notSupported = 15
)

func truth(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
