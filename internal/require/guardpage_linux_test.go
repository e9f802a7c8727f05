package require

import (
	"runtime/debug"
	"testing"
	"unsafe"
)

// TestBytes checks that the bytes can be written, and that the byte beside them on the guarded side
// cannot be read.
func TestBytes(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for _, n := range []int{1, 8, 4096, 5000} {
		for _, atEnd := range []bool{false, true} {
			b := Guarded(t, n, atEnd)
			b[0], b[n-1] = 1, 2
			beside := unsafe.Add(unsafe.Pointer(&b[0]), -1)
			if atEnd {
				beside = unsafe.Add(unsafe.Pointer(&b[n-1]), 1)
			}
			if len(b) != n || !faults(beside) {
				t.Errorf("%d bytes, at the end %t: %d of them, and the byte beside is read", n, atEnd, len(b))
			}
		}
	}
}

// sink keeps the compiler from dropping the read.
var sink byte

func faults(p unsafe.Pointer) (faulted bool) {
	defer func() { faulted = recover() != nil }()
	sink = *(*byte)(p)
	return false
}
