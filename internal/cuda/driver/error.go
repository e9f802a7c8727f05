package driver

import (
	"errors"
	"fmt"
	"math"
)

// ErrOutOfMemory is wrapped by the error of an allocation that does not fit into the device's
// memory.
var ErrOutOfMemory = errors.New("out of device memory")

// ErrUnavailable is wrapped by the error of opening a device if there is no driver, no device, or
// no support in the build.
var ErrUnavailable = errors.New("no GPU available")

// ErrNoSupport is wrapped, beside ErrUnavailable, by the error of opening a device in a program
// that was built without GPU support.
var ErrNoSupport = errors.New("this program was built without GPU support")

// ErrNotSupported is wrapped by the error of a product that the library of products refuses, or
// that no library computes because there is none. The stream is as it was before.
var ErrNotSupported = errors.New("the product is not supported")

// Error is a failed call.
type Error struct {
	Operation string // "launch margin_loss"
	Call      string // "cuLaunchKernel(...)"
	File      string // the caller's file and line
	Line      int
	Code      int    // CUDA's error code
	Name      string // "CUDA_ERROR_INVALID_VALUE"
	Detail    string // CUDA's description
	Err       error  // a sentinel such as ErrOutOfMemory, or nil
}

// Error returns the message without a package's name, which the callers put before it.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s: %s (%d, %s) at %s:%d", e.Operation, e.Call, e.Name, e.Code, e.Detail, e.File, e.Line)
}

// Unwrap returns Err, for errors.Is.
func (e *Error) Unwrap() error { return e.Err }

// Float64Arg returns a float64 as an argument of a launch.
func Float64Arg(x float64) uint64 { return math.Float64bits(x) }

// IntArg returns an integer as an argument of a launch. A kernel reads 64 bits, or the low 32 bits.
func IntArg(n int) uint64 { return uint64(int64(n)) }
