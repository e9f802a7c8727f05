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

// Allocator returns memory of n bytes, all zeros, that begins at a cache line. The memory may lie
// in a file. A nil Allocator stands for Alloc.
type Allocator func(n int) ([]byte, error)

// allocated returns n zeros in the memory of an Allocator.
func allocated[E any](allocate Allocator, n int) ([]E, error) {
	var zero E
	size := int(unsafe.Sizeof(zero))
	if allocate == nil {
		allocate = func(n int) ([]byte, error) { return Alloc[uint8](n), nil }
	}
	bytes, err := allocate(n * size)
	if err != nil || n == 0 {
		return nil, err
	}
	return unsafe.Slice((*E)(unsafe.Pointer(&bytes[0])), n), nil
}

// copyTo returns a copy of x in the memory of an Allocator.
func copyTo[E any](allocate Allocator, x []E) ([]E, error) {
	own, err := allocated[E](allocate, len(x))
	copy(own, x)
	return own, err
}

// BytesOf returns the memory of x.
func BytesOf[E any](x []E) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}

// sizeof returns the number of bytes of an element.
func sizeof[F element]() uintptr {
	var zero F
	return unsafe.Sizeof(zero)
}
