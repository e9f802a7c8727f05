//go:build gpu

// Package emulator is a driver.Driver without a device: memory is the host's, kernels are their own sources compiled for the host
// (cuda/kernels/device), products are plain loops. It is for tests, and checks what a device does not: that launches touch live memory
// only, that they have the kernel's arguments, and, where asked, that they read and write what they declare.
package emulator

import (
	"fmt"
	"runtime"
	"slices"

	"ppal/cuda/driver"
	"ppal/cuda/kernels/device"
)

// Options choose how much is checked. The zero value checks addresses and arguments.
type Options struct {
	// Strict poisons, while a launch runs, all memory outside its Reads and Writes, and fails where anything outside its Writes changed. It
	// runs every launch twice, in two orders of its blocks and threads, and fails where the results are not the same to the bit.
	Strict bool
	// Lazy runs what is queued when a stream is synchronized and not before, so that a result that nobody waited for is not there.
	Lazy bool
	// Memory is the size of the device's memory; 0 is 1 GiB.
	Memory int64
}

// Driver is an emulated device.
type Driver struct {
	set     Options
	heap    heap
	pinned  map[*byte][]byte
	kernels map[string]device.Kernel

	functions []device.Kernel // a Function is an index, from 1 on
	modules   int
	handles   uint64                            // given out
	streams   map[driver.Stream]*[]func() error // what is being captured; nil: nothing
	events    map[driver.Event]bool
	graphs    map[driver.Graph][]func() error
	pending   []func() error // of all streams, in their order
}

var _ driver.Driver = (*Driver)(nil)

// New returns a device with nothing in it.
func New(o Options) *Driver {
	if o.Memory == 0 {
		o.Memory = 1 << 30
	}
	d := &Driver{set: o, heap: heap{total: o.Memory}, pinned: map[*byte][]byte{}, kernels: map[string]device.Kernel{},
		streams: map[driver.Stream]*[]func() error{0: nil}, events: map[driver.Event]bool{}, graphs: map[driver.Graph][]func() error{}}
	for _, k := range device.Kernels() {
		d.kernels[k.Name] = k
	}
	return d
}

// The codes of CUDA's that the emulator gives.
const (
	invalidValue       = 1
	outOfMemory        = 2
	invalidHandle      = 400
	illegalAddress     = 700
	launchFailed       = 719
	captureUnsupported = 900
)

var names = map[int]string{invalidValue: "CUDA_ERROR_INVALID_VALUE", outOfMemory: "CUDA_ERROR_OUT_OF_MEMORY",
	invalidHandle: "CUDA_ERROR_INVALID_HANDLE", illegalAddress: "CUDA_ERROR_ILLEGAL_ADDRESS", launchFailed: "CUDA_ERROR_LAUNCH_FAILED",
	captureUnsupported: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"}

// failed is an error of the caller's operation.
func failed(operation string, code int, format string, args ...any) error {
	_, file, line, _ := runtime.Caller(1)
	e := &driver.Error{Operation: operation, Call: "emulator", File: file, Line: line, Code: code, Name: names[code],
		Detail: fmt.Sprintf(format, args...)}
	if code == outOfMemory {
		e.Err = driver.ErrOutOfMemory
	}
	return e
}

// Info implements driver.Driver.
func (d *Driver) Info() driver.Info {
	return driver.Info{Name: "emulator", Major: 8, Processors: 1, Memory: d.set.Memory, Driver: "none", Products: "plain loops"}
}

// Memory implements driver.Driver.
func (d *Driver) Memory() (free, total int64, err error) {
	return d.heap.total - d.heap.used, d.heap.total, nil
}

// capturing says whether a stream is.
func (d *Driver) capturing() bool {
	for _, c := range d.streams {
		if c != nil {
			return true
		}
	}
	return false
}

// Allocate implements driver.Driver. What it returns is poison: all bits set, which is NaN.
func (d *Driver) Allocate(bytes int) (driver.Pointer, error) {
	if d.capturing() {
		return 0, failed("allocate", captureUnsupported, "a stream is being captured")
	}
	if bytes <= 0 {
		return 0, failed("allocate", invalidValue, "%d bytes", bytes)
	}
	return d.heap.allocate(bytes)
}

// Free implements driver.Driver.
func (d *Driver) Free(p driver.Pointer) error {
	if p == 0 {
		return nil
	}
	if err := d.flush(); err != nil { // as cuMemFree, which waits
		return err
	}
	return d.heap.free(p)
}

// Pinned implements driver.Driver.
func (d *Driver) Pinned(bytes int) ([]byte, error) {
	if bytes <= 0 {
		return nil, failed("allocate pinned memory", invalidValue, "%d bytes", bytes)
	}
	b := make([]byte, bytes)
	for i := range b {
		b[i] = poison
	}
	d.pinned[&b[0]] = b
	return b, nil
}

// FreePinned implements driver.Driver.
func (d *Driver) FreePinned(b []byte) error {
	if len(b) == 0 || d.pinned[&b[0]] == nil {
		return failed("free pinned memory", invalidValue, "it is not pinned")
	}
	delete(d.pinned, &b[0])
	return d.flush()
}

// isPinned says whether a copy from or to b returns before it has run.
func (d *Driver) isPinned(b []byte) bool {
	for _, p := range d.pinned {
		if len(b) > 0 && contains(p, b) {
			return true
		}
	}
	return false
}

// Load implements driver.Driver: the module's kernels must be among those compiled for the host, with the same parameters.
func (d *Driver) Load(ptx string) (driver.Module, error) {
	for _, e := range entries(ptx) {
		k, ok := d.kernels[e.Name]
		if !ok {
			return 0, failed("load", invalidValue, "the kernel %s is not compiled for the host", e.Name)
		}
		if !slices.Equal(k.Params, e.Params) {
			return 0, failed("load", invalidValue, "%s has parameters of %v bytes on the host and of %v in PTX", e.Name, k.Params, e.Params)
		}
	}
	d.modules++
	return driver.Module(d.modules), nil
}

// Function implements driver.Driver.
func (d *Driver) Function(m driver.Module, name string) (driver.Function, error) {
	k, ok := d.kernels[name]
	if m == 0 || int(m) > d.modules || !ok {
		return 0, failed("function", invalidHandle, "no kernel %s", name)
	}
	d.functions = append(d.functions, k)
	return driver.Function(len(d.functions)), nil
}

// Close implements driver.Driver.
func (d *Driver) Close() error {
	if err := d.flush(); err != nil {
		return err
	}
	return d.heap.close(len(d.pinned), len(d.streams)-1, len(d.events), len(d.graphs))
}
