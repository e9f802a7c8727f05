//go:build gpu

package nvidia

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"os"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"ppal/internal/cuda/driver"
)

// DriverFile is the environment variable that names the driver's library if the loader does not
// find the library by itself.
const DriverFile = "PPAL_CUDA_DRIVER"

// connect opens the driver's library and starts the driver, once in a process: a driver can be
// neither closed nor started again.
var connect = sync.OnceValue(func() error {
	file := "libcuda.so.1"
	if named := os.Getenv(DriverFile); named != "" {
		file = named
	}
	path := C.CString(file)
	defer C.free(unsafe.Pointer(path))
	var why [512]C.char
	if C.ppal_connect(path, &why[0], C.size_t(len(why))) != 0 {
		return fmt.Errorf("cuda: %w: NVIDIA's driver is not installed (%s); install it, or name its libcuda.so.1 in %s",
			driver.ErrUnavailable, C.GoString(&why[0]), DriverFile)
	}
	if code := int(C.ppal_init()); code != 0 {
		name, detail := describe(code)
		return fmt.Errorf("cuda: %w: the driver does not start: %s (%d, %s)", driver.ErrUnavailable, name, code, detail)
	}
	return nil
})

// Devices lists the GPUs of this machine in the driver's order. If the driver is too old or cuBLAS
// is missing, the list is complete and the error says so.
func Devices() ([]driver.Info, error) {
	if err := connect(); err != nil {
		return nil, err
	}
	n, err := cu.NumDevices()
	if err != nil {
		return nil, failed("count the devices", "cuDeviceGetCount(&n)", err)
	}
	if n == 0 {
		return nil, fmt.Errorf("cuda: %w: the driver works and finds no device", driver.ErrUnavailable)
	}
	missing := checkDriver()
	lib, unfound := openProducts(driverMajor())
	if missing == nil {
		missing = unfound
	}
	all := make([]driver.Info, n)
	for i := range all {
		if all[i], _, err = inspect(i); err != nil {
			return nil, err
		}
		if lib != nil {
			all[i].Products = lib.version()
		}
	}
	return all, missing
}

// inspect describes a device, without a context on the device.
func inspect(ordinal int) (info driver.Info, dev cu.Device, err error) {
	info.Ordinal = ordinal
	if dev, err = cu.GetDevice(ordinal); err != nil {
		return info, dev, failed("open a device", fmt.Sprintf("cuDeviceGet(&d, %d)", ordinal), err)
	}
	if info.Name, err = dev.Name(); err != nil {
		return info, dev, failed("read a device's name", fmt.Sprintf("cuDeviceGetName(name, 256, %d)", ordinal), err)
	}
	if info.Memory, err = dev.TotalMem(); err != nil {
		return info, dev, failed("read a device's memory", fmt.Sprintf("cuDeviceTotalMem(&n, %d)", ordinal), err)
	}
	for _, a := range []struct {
		to   *int
		what cu.DeviceAttribute
	}{
		{&info.Major, cu.ComputeCapabilityMajor}, {&info.Minor, cu.ComputeCapabilityMinor}, {&info.Processors, cu.MultiprocessorCount},
	} {
		if *a.to, err = dev.Attribute(a.what); err != nil {
			return info, dev, failed("read a device's attributes", fmt.Sprintf("cuDeviceGetAttribute(&v, %d, %d)", a.what, ordinal), err)
		}
	}
	info.Driver = versionOf(cu.Version())
	if id, err := dev.UUID(); err == nil {
		info.UUID = id.String()
	}
	return info, dev, nil
}

// leastDriver is the oldest driver that loads the kernels' PTX (version 7.0), as cuDriverGetVersion
// numbers drivers: CUDA 11.0.
const leastDriver = 11000

// checkDriver returns an error that wraps driver.ErrUnavailable if the driver is too old.
func checkDriver() error {
	if v := cu.Version(); v < leastDriver {
		return fmt.Errorf("cuda: %w: the driver supports CUDA %s, and CUDA %s is needed: install a newer driver", driver.ErrUnavailable,
			versionOf(v), versionOf(leastDriver))
	}
	return nil
}

// versionOf returns a driver's number as a version of CUDA: "12.4".
func versionOf(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// driverMajor returns the major version of CUDA that the driver supports.
func driverMajor() int { return cu.Version() / 1000 }
