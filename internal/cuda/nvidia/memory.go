//go:build gpu

package nvidia

// #include "calls.h"
import "C"

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	"ppal/internal/cuda/driver"
)

// Allocate implements driver.Driver.
func (d *device) Allocate(bytes int) (driver.Pointer, error) {
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer d.leave()
	p, err := cu.MemAlloc(int64(bytes))
	if err != nil {
		return 0, failed(fmt.Sprintf("allocate %d bytes", bytes), fmt.Sprintf("cuMemAlloc(&p, %d)", bytes), err)
	}
	d.memory[driver.Pointer(p)] = bytes
	return driver.Pointer(p), nil
}

// Free implements driver.Driver.
func (d *device) Free(p driver.Pointer) error {
	if p == 0 {
		return nil
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	bytes := d.memory[p]
	delete(d.memory, p)
	if err := cu.MemFree(cu.DevicePtr(p)); err != nil {
		return failed(fmt.Sprintf("free %d bytes", bytes), fmt.Sprintf("cuMemFree(%#x)", p), err)
	}
	return nil
}

// Pinned implements driver.Driver.
func (d *device) Pinned(bytes int) ([]byte, error) {
	if bytes == 0 {
		return nil, nil
	}
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	var p unsafe.Pointer
	if result := C.cuMemHostAlloc(&p, C.size_t(bytes), 0); result != C.CUDA_SUCCESS {
		return nil, answered(fmt.Sprintf("allocate %d bytes of pinned memory", bytes), fmt.Sprintf("cuMemHostAlloc(&p, %d, 0)", bytes), result)
	}
	d.pinned[(*byte)(p)] = bytes
	return unsafe.Slice((*byte)(p), bytes), nil
}

// FreePinned implements driver.Driver.
func (d *device) FreePinned(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	p := unsafe.SliceData(b)
	delete(d.pinned, p)
	if err := cu.MemFreeHost(unsafe.Pointer(p)); err != nil {
		return failed(fmt.Sprintf("free %d bytes of pinned memory", len(b)), "cuMemFreeHost(p)", err)
	}
	return nil
}

// Mapped implements driver.Driver. With unified addressing, which every supported device has, all
// pinned memory is mapped.
func (d *device) Mapped(host []byte) (driver.Pointer, error) {
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer d.leave()
	var p C.CUdeviceptr
	if result := C.cuMemHostGetDevicePointer(&p, unsafe.Pointer(unsafe.SliceData(host)), 0); result != C.CUDA_SUCCESS {
		return 0, answered("map pinned memory", "cuMemHostGetDevicePointer(&p, host, 0)", result)
	}
	return driver.Pointer(p), nil
}

// Upload implements driver.Driver.
func (d *device) Upload(s driver.Stream, to driver.Pointer, host []byte) error {
	if len(host) == 0 {
		return nil
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	err := cu.MemcpyHtoDAsync(cu.DevicePtr(to), unsafe.Pointer(unsafe.SliceData(host)), int64(len(host)), stream(s))
	if err != nil {
		return failed("copy to the device", fmt.Sprintf("cuMemcpyHtoDAsync(%#x, host, %d, %#x)", to, len(host), s), err)
	}
	return nil
}

// Download implements driver.Driver.
func (d *device) Download(s driver.Stream, host []byte, from driver.Pointer) error {
	if len(host) == 0 {
		return nil
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	err := cu.MemcpyDtoHAsync(unsafe.Pointer(unsafe.SliceData(host)), cu.DevicePtr(from), int64(len(host)), stream(s))
	if err != nil {
		return failed("copy from the device", fmt.Sprintf("cuMemcpyDtoHAsync(host, %#x, %d, %#x)", from, len(host), s), err)
	}
	return nil
}

// Copy implements driver.Driver.
func (d *device) Copy(s driver.Stream, to, from driver.Pointer, bytes int) error {
	if bytes == 0 {
		return nil
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if err := cu.MemcpyDtoDAsync(cu.DevicePtr(to), cu.DevicePtr(from), int64(bytes), stream(s)); err != nil {
		return failed("copy on the device", fmt.Sprintf("cuMemcpyDtoDAsync(%#x, %#x, %d, %#x)", to, from, bytes, s), err)
	}
	return nil
}

// Clear implements driver.Driver.
func (d *device) Clear(s driver.Stream, p driver.Pointer, bytes int) error {
	if bytes == 0 {
		return nil
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if err := cu.MemsetD8Async(cu.DevicePtr(p), 0, int64(bytes), stream(s)); err != nil {
		return failed("clear memory", fmt.Sprintf("cuMemsetD8Async(%#x, 0, %d, %#x)", p, bytes, s), err)
	}
	return nil
}
