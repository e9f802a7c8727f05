package kernel

import (
	"syscall"
	"testing"
	"unsafe"
)

// guarded returns n elements whose end, or else beginning, lies at a page that
// can be neither read nor written: a kernel that leaves its operand faults.
func guarded[F element](t testing.TB, n int, atEnd bool) []F {
	t.Helper()
	page := syscall.Getpagesize()
	size := n * int(sizeof[F]())
	room := (size + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, room+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(mem) })
	for _, guard := range [][]byte{mem[:page], mem[page+room:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	if n == 0 {
		return nil
	}
	from := page
	if atEnd {
		from += room - size
	}
	return unsafe.Slice((*F)(unsafe.Pointer(&mem[from])), n)
}
