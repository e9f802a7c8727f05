package driver

import (
	"errors"
	"fmt"
	"math"
)

// ErrOutOfMemory is wrapped by the error of an allocation that the device has no room for.
var ErrOutOfMemory = errors.New("out of device memory")

// ErrUnavailable is wrapped by the error of opening a device that is not there: no driver, no device, no support in the build.
var ErrUnavailable = errors.New("no GPU available")

// Error is a failed call.
type Error struct {
	Operation string // what was being done: "launch margin_loss"
	Call      string // the expression: "cuLaunchKernel(...)"
	File      string // where it is, and the line
	Line      int
	Code      int    // CUDA's
	Name      string // "CUDA_ERROR_INVALID_VALUE"
	Detail    string // CUDA's sentence
	Err       error  // ErrOutOfMemory and the like, or nil
}

func (e *Error) Error() string {
	return fmt.Sprintf("cuda: %s: %s: %s (%d, %s) at %s:%d", e.Operation, e.Call, e.Name, e.Code, e.Detail, e.File, e.Line)
}

// Unwrap implements what errors.Is asks for.
func (e *Error) Unwrap() error { return e.Err }

// Float64Arg is a float64 as an argument of a launch.
func Float64Arg(x float64) uint64 { return math.Float64bits(x) }

// IntArg is an integer as an argument; kernels take it as a 64-bit or, by its low half, 32-bit integer.
func IntArg(n int) uint64 { return uint64(int64(n)) }
