package kernel

import "unsafe"

// cacheLine is the alignment of packed data, in bytes. A vector that crosses two cache lines takes
// two accesses.
const cacheLine = 64

// element is an element type of packed data.
type element interface {
	Float | int8 | uint8 | uint16 | int32 | uint32
}

// Alloc returns n zeros that begin at a cache line.
func Alloc[F element](n int) []F {
	size := int(sizeof[F]())
	buf := make([]F, n+cacheLine/size-1)
	at := 0
	if n > 0 {
		if past := int(uintptr(unsafe.Pointer(&buf[0])) % cacheLine); past != 0 {
			at = (cacheLine - past) / size
		}
	}
	return buf[at : at+n : at+n]
}

// sizeof returns the number of bytes of an element.
func sizeof[F element]() uintptr {
	var zero F
	return unsafe.Sizeof(zero)
}
