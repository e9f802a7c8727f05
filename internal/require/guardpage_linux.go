package require

import (
	"syscall"
	"testing"
)

// Guarded returns n zeroed bytes, aligned for numbers. Their end, or their beginning if atEnd is
// false, is at a guard page. The memory is unmapped at the end of the test.
func Guarded(t testing.TB, n int, atEnd bool) []byte {
	t.Helper()
	page := syscall.Getpagesize()
	room := (n + page - 1) / page * page
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
	if atEnd {
		return mem[page+room-n : page+room]
	}
	return mem[page : page+n]
}
