package cpu

import (
	"runtime"
	"slices"
	"testing"
)

// Spare memory passes as zeros to a program of about the same size. The largest memory is kept
// until the next collection, and nothing beyond the limit.
func TestSpare(t *testing.T) {
	const size = 1 << 20
	b := &spare{}
	first := b.take(size)
	for i := range first {
		first[i] = 1
	}
	b.give(first)
	b.give(make([]byte, size/2))
	if small := b.take(size/waste - 1); &small[0] == &first[0] {
		t.Error("a small program takes large memory")
	}
	second := b.take(size - 5)
	if &second[0] != &first[0] || slices.ContainsFunc(second[:size-5], func(v byte) bool { return v != 0 }) {
		t.Error("the second program has other memory than the first, or no zeros")
	}
	if third := b.take(size); &third[0] == &first[0] {
		t.Error("two programs share memory")
	}
	b.give(second)
	if b.take(size + 1); b.kept() != nil {
		t.Error("spare memory is kept that is too small")
	}
	if b.give(make([]byte, largestSpare+1)); b.kept() != nil {
		t.Error("spare memory is kept beyond its limit")
	}
	b.give(second)
	runtime.KeepAlive(second)
	if runtime.GC(); b.kept() != nil {
		t.Error("the collector cannot free spare memory")
	}
}
