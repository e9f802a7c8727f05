//go:build gpu

package nvidia

// #include <cuda.h>
import "C"

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"ppal/cuda/driver"
)

// failed is the error of a call that did not succeed, as err says, or nil. The place is where this package's caller is.
func failed(operation, call string, err error) error {
	if err == nil {
		return nil
	}
	code := int(C.CUDA_ERROR_UNKNOWN)
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int { // cu's type of the driver's answers is not exported
		code = int(v.Int())
	}
	return failure(operation, call, code)
}

// answered is failed for what this package calls itself.
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

// packagePath is how the names of this package's functions begin.
const packagePath = "ppal/cuda/nvidia."

// caller is the nearest place outside this package: the one whose call failed.
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

// describe is the driver's name of a code and its sentence.
func describe(code int) (name, detail string) {
	var n, d *C.char
	if C.cuGetErrorName(C.CUresult(code), &n) != C.CUDA_SUCCESS || n == nil {
		return "CUDA_ERROR_UNKNOWN", fmt.Sprintf("the driver does not know its own answer %d", code)
	}
	if C.cuGetErrorString(C.CUresult(code), &d) != C.CUDA_SUCCESS || d == nil {
		return C.GoString(n), "no description"
	}
	return C.GoString(n), C.GoString(d)
}
