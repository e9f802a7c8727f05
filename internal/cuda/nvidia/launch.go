//go:build gpu

package nvidia

/*
#cgo LDFLAGS: -L${SRCDIR}/lib -ldl
#cgo noescape ppal_launch
#cgo nocallback ppal_launch
#cgo nocallback ppal_enter
#include <stdlib.h>
#include "calls.h"
*/
import "C"

import (
	"fmt"
	"strings"
	"unsafe"

	"gorgonia.org/cu"

	"ppal/internal/cuda/driver"
)

// compilerLog is the size of the buffer for the compiler's messages, in bytes.
const compilerLog = 8192

// Load implements driver.Driver.
func (d *device) Load(ptx string) (driver.Module, error) { return d.load(ptx, "PTX") }

// LoadBinary implements driver.Driver.
func (d *device) LoadBinary(module []byte) (driver.Module, error) {
	return d.load(string(module), "a compiled module")
}

// load loads an image, which the driver recognises by its content.
func (d *device) load(image, kind string) (driver.Module, error) {
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer d.leave()
	text := C.CString(image) // all bytes, and a 0
	defer C.free(unsafe.Pointer(text))
	log := (*C.char)(C.malloc(compilerLog))
	defer C.free(unsafe.Pointer(log))
	var m C.CUmodule
	if result := C.ppal_load(&m, text, log, compilerLog); result != C.CUDA_SUCCESS {
		e := failure("compile a module", fmt.Sprintf("cuModuleLoadDataEx(&m, %d bytes of %s)", len(image), kind), int(result))
		if said := strings.Join(strings.Fields(C.GoString(log)), " "); said != "" {
			e.Detail += ": " + said
		}
		return 0, e
	}
	d.modules = append(d.modules, handle[cu.Module](m))
	return handle[driver.Module](m), nil
}

// Function implements driver.Driver.
func (d *device) Function(m driver.Module, name string) (driver.Function, error) {
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer d.leave()
	f, err := handle[cu.Module](m).Function(name)
	if err != nil {
		return 0, failed("find kernel "+name, fmt.Sprintf("cuModuleGetFunction(&f, %#x, %q)", m, name), err)
	}
	return handle[driver.Function](f), nil
}

// Launch implements driver.Driver.
func (d *device) Launch(s driver.Stream, l *driver.Launch) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	shape := [...]C.uint{C.uint(l.Grid[0]), C.uint(l.Grid[1]), C.uint(l.Grid[2]),
		C.uint(l.Block[0]), C.uint(l.Block[1]), C.uint(l.Block[2]), C.uint(l.Shared)}
	args := (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(l.Args)))
	result := C.ppal_launch(handle[C.CUfunction](l.Function), &shape[0], args, C.int(len(l.Args)), handle[C.CUstream](s))
	if result != C.CUDA_SUCCESS {
		return answered("launch "+l.Name, fmt.Sprintf("cuLaunchKernel(%s, grid %v, block %v, %d bytes shared, %#x, %d arguments)",
			l.Name, l.Grid, l.Block, l.Shared, s, len(l.Args)), result)
	}
	return nil
}

// BeginCapture implements driver.Driver. The capture is relaxed, because calls may come from
// several OS threads.
func (d *device) BeginCapture(s driver.Stream) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if err := d.products.prepare(s); err != nil { // creating a cuBLAS handle allocates, which a capture must not
		return err
	}
	return answered("begin a capture", fmt.Sprintf("cuStreamBeginCapture(%#x, CU_STREAM_CAPTURE_MODE_RELAXED)", s),
		C.cuStreamBeginCapture(handle[C.CUstream](s), C.CU_STREAM_CAPTURE_MODE_RELAXED))
}

// EndCapture implements driver.Driver.
func (d *device) EndCapture(s driver.Stream) (driver.Graph, error) {
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer d.leave()
	var exec C.CUgraphExec
	var call *C.char
	if result := C.ppal_end_capture(handle[C.CUstream](s), &exec, &call); result != C.CUDA_SUCCESS {
		return 0, answered("end a capture", fmt.Sprintf("%s(%#x)", C.GoString(call), s), result)
	}
	g := handle[driver.Graph](exec)
	d.graphs[g] = true
	return g, nil
}

// LaunchGraph implements driver.Driver.
func (d *device) LaunchGraph(g driver.Graph, s driver.Stream) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if result := C.cuGraphLaunch(handle[C.CUgraphExec](g), handle[C.CUstream](s)); result != C.CUDA_SUCCESS {
		return answered("launch a graph", fmt.Sprintf("cuGraphLaunch(%#x, %#x)", g, s), result)
	}
	return nil
}

// FreeGraph implements driver.Driver.
func (d *device) FreeGraph(g driver.Graph) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	delete(d.graphs, g)
	return answered("free a graph", fmt.Sprintf("cuGraphExecDestroy(%#x)", g), C.cuGraphExecDestroy(handle[C.CUgraphExec](g)))
}
