//go:build gpu

package nvidia

// #include "calls.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"ppal/internal/cuda/driver"
)

// leastMajor is the lowest compute capability that the kernels' PTX runs on: 8.0, the A100's.
const leastMajor = 8

// device is a GPU's primary context and the objects that were created in the context.
type device struct {
	info     driver.Info
	number   cu.Device
	context  C.CUcontext
	products *products
	closed   bool

	// The objects to give back. Close releases the rest and names them.
	memory  map[driver.Pointer]int
	pinned  map[*byte]int
	streams map[driver.Stream]bool
	events  map[driver.Event]bool
	graphs  map[driver.Graph]bool
	modules []cu.Module

	integers func() error // compares products of 8-bit integers with the host's, once
}

var _ driver.Driver = (*device)(nil)

// contexts are the primary contexts of the devices, by ordinal. A context lives as long as the
// process, because the libraries keep state in the context, and a new context takes time to make.
type contexts struct {
	sync.Mutex
	made map[int]C.CUcontext
}

var primary = contexts{made: map[int]C.CUcontext{}}

// of returns a device's primary context.
func (c *contexts) of(ordinal int, name string, dev cu.Device) (C.CUcontext, error) {
	c.Lock()
	defer c.Unlock()
	if made, ok := c.made[ordinal]; ok {
		return made, nil
	}
	made, err := dev.RetainPrimaryCtx()
	if err != nil {
		return nil, failed("open "+name, fmt.Sprintf("cuDevicePrimaryCtxRetain(&c, %d)", ordinal), err)
	}
	c.made[ordinal] = handle[C.CUcontext](made)
	return c.made[ordinal], nil
}

// Open opens the GPU with that ordinal, counted from 0. The error wraps driver.ErrUnavailable and
// says what is missing.
func Open(ordinal int) (driver.Driver, error) {
	if err := connect(); err != nil {
		return nil, err
	}
	if err := checkDriver(); err != nil {
		return nil, err
	}
	n, err := cu.NumDevices()
	if err != nil {
		return nil, failed("count the devices", "cuDeviceGetCount(&n)", err)
	}
	if ordinal < 0 || ordinal >= n {
		return nil, fmt.Errorf("cuda: %w: there is no device %d: the driver finds %d", driver.ErrUnavailable, ordinal, n)
	}
	info, dev, err := inspect(ordinal)
	if err != nil {
		return nil, err
	}
	if info.Major < leastMajor {
		return nil, fmt.Errorf("cuda: %w: %s has compute capability %d.%d, and %d.0 is needed", driver.ErrUnavailable,
			info.Name, info.Major, info.Minor, leastMajor)
	}
	lib, missing := openProducts(driverMajor())
	switch {
	case missing == nil:
		info.Products = lib.version()
	case errors.Is(missing, errNoProducts):
		info.Products = "own products (no cuBLAS)"
	default:
		return nil, missing
	}
	context, err := primary.of(ordinal, info.Name, dev)
	if err != nil {
		return nil, err
	}
	d := &device{
		info: info, number: dev, context: context,
		memory: map[driver.Pointer]int{}, pinned: map[*byte]int{},
		streams: map[driver.Stream]bool{}, events: map[driver.Event]bool{}, graphs: map[driver.Graph]bool{},
	}
	d.integers = sync.OnceValue(d.testIntegers)
	d.products = newProducts(lib, missing, workspaceBytes(info.Major))
	return d, nil
}

// Info implements driver.Driver.
func (d *device) Info() driver.Info { return d.info }

// enter holds the OS thread until leave, and makes the context current on the thread. After an
// error the thread is not held.
func (d *device) enter() error {
	if d.closed {
		return errors.New("cuda: the device was closed")
	}
	runtime.LockOSThread()
	if result := C.ppal_enter(d.context); result != C.CUDA_SUCCESS {
		runtime.UnlockOSThread()
		return answered("make the context current", "cuCtxSetCurrent(c)", result)
	}
	return nil
}

func (d *device) leave() { runtime.UnlockOSThread() }

// Memory implements driver.Driver.
func (d *device) Memory() (free, total int64, err error) {
	if err := d.enter(); err != nil {
		return 0, 0, err
	}
	defer d.leave()
	free, total, err = cu.MemInfo()
	return free, total, failed("ask for the free memory", "cuMemGetInfo(&free, &total)", err)
}

// Close implements driver.Driver.
func (d *device) Close() error {
	if d.closed {
		return nil
	}
	held := d.held()
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	first := d.releaseAll()
	d.closed = true
	if held != "" {
		first = errors.Join(first, fmt.Errorf("cuda: close: still held: %s", held))
	}
	return first
}

// held names the objects that were not given back.
func (d *device) held() string {
	var parts []string
	count := func(n, bytes int, what string) {
		if n == 0 {
			return
		}
		if n > 1 {
			what += "s"
		}
		part := fmt.Sprintf("%d %s", n, what)
		if bytes > 0 {
			part += fmt.Sprintf(" of %d bytes", bytes)
		}
		parts = append(parts, part)
	}
	count(len(d.memory), total(d.memory), "buffer")
	count(len(d.pinned), total(d.pinned), "pinned buffer")
	count(len(d.streams), 0, "stream")
	count(len(d.events), 0, "event")
	count(len(d.graphs), 0, "graph")
	return strings.Join(parts, ", ")
}

func total[K comparable](sizes map[K]int) int {
	sum := 0
	for _, n := range sizes {
		sum += n
	}
	return sum
}

// releaseAll releases all objects in the order of their dependences, and returns the first error.
func (d *device) releaseAll() error {
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	for g := range d.graphs {
		keep(d.FreeGraph(g))
	}
	keep(d.products.close())
	for e := range d.events {
		keep(d.FreeEvent(e))
	}
	for s := range d.streams {
		keep(d.FreeStream(s))
	}
	for p := range d.memory {
		keep(d.Free(p))
	}
	for b, n := range d.pinned {
		keep(d.FreePinned(unsafe.Slice(b, n)))
	}
	for _, m := range d.modules {
		keep(failed("unload a module", "cuModuleUnload(m)", m.Unload()))
	}
	return first
}
