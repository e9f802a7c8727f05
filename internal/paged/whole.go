package paged

import "unsafe"

// whole returns the part of x that begins at the first address in x that is a multiple of page.
func whole(x []byte, page uintptr) []byte {
	past := uintptr(unsafe.Pointer(&x[0])) % page
	if past == 0 {
		return x
	}
	if cut := page - past; cut < uintptr(len(x)) {
		return x[cut:]
	}
	return nil
}
