//go:build gpu

package nvidia

// #include <cuda.h>
import "C"

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"ppal/internal/cuda/driver"
)

// failed returns the error of a failed call of cu, or nil if err is nil. The error's place is the
// place that called this package.
func failed(operation, call string, err error) error {
	if err == nil {
		return nil
	}
	code := int(C.CUDA_ERROR_UNKNOWN)
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int { // cu does not export the type of the driver's results
		code = int(v.Int())
	}
	return failure(operation, call, code)
}

// answered is failed for the driver's functions that this package calls itself.
func answered(operation, call string, result C.CUresult) error {
	if result == C.CUDA_SUCCESS {
		return nil
	}
	return failure(operation, call, int(result))
}

func failure(operation, call string, code int) *driver.Error {
	e := &driver.Error{Operation: operation, Call: call, Code: code}
	e.Name, e.Detail = describe(code)
	if code == C.CUDA_ERROR_OUT_OF_MEMORY {
		e.Err = driver.ErrOutOfMemory
	}
	e.File, e.Line = caller()
	return e
}

// packagePath is the prefix of this package's function names.
const packagePath = "ppal/internal/cuda/nvidia."

// caller returns the nearest place on the stack outside this package.
func caller() (file string, line int) {
	var pc [16]uintptr
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc[:])])
	for {
		f, more := frames.Next()
		if !more || !strings.HasPrefix(f.Function, packagePath) {
			return f.File, f.Line
		}
	}
}

// describe returns the driver's name for a code, and the driver's description.
func describe(code int) (name, detail string) {
	var n, d *C.char
	if C.cuGetErrorName(C.CUresult(code), &n) != C.CUDA_SUCCESS || n == nil {
		return "CUDA_ERROR_UNKNOWN", fmt.Sprintf("the driver has no name for result %d", code)
	}
	if C.cuGetErrorString(C.CUresult(code), &d) != C.CUDA_SUCCESS || d == nil {
		return C.GoString(n), "no description"
	}
	return C.GoString(n), C.GoString(d)
}
