package cpu

import (
	"slices"
	"sync"
	"unsafe"
	"weak"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// spare keeps the memory of an idle program for the next program that runs. The programs of
// records, measures and certificates take turns, and share the memory. The garbage collector may
// free the memory before.
type spare struct {
	sync.Mutex
	first weak.Pointer[byte] // of the largest memory that was given back
	size  int                // in bytes
	turn  yielder            // the program whose turn it is, of those that yield; nil: none
}

// yielder is a program that yields its memory, see plan.Rester.
type yielder interface{ yield() }

// begin gives the turn to program e. The program that had the turn before gives back its memory,
// unless a pass of that program runs.
func (b *spare) begin(e yielder) {
	b.Lock()
	last := b.turn
	b.turn = e
	b.Unlock()
	if last != nil {
		last.yield()
	}
}

// kept returns the memory that was given back; nil: none, or it is freed.
func (b *spare) kept() []byte {
	if first := b.first.Value(); first != nil {
		return unsafe.Slice(first, b.size)
	}
	return nil
}

// largestSpare is the largest memory that is kept, in bytes: twice that of the largest usual
// block. The layers of a large batch rest until the end of the run, and are freed.
const largestSpare = 32 << 20

// waste is the most that kept memory may exceed the need of a program, as a factor.
const waste = 4

// take returns n zeros that begin at a cache line. It frees kept memory that is too small.
func (b *spare) take(n int) []byte {
	b.Lock()
	defer b.Unlock()
	memory := b.kept()
	if have := len(memory); have < n {
		b.first = weak.Pointer[byte]{}
	} else if have <= waste*n {
		b.first = weak.Pointer[byte]{}
		clear(memory[:n])
		return memory
	}
	return kernel.Alloc[uint8](n)
}

// give keeps memory that a program no longer reads.
func (b *spare) give(memory []byte) {
	b.Lock()
	defer b.Unlock()
	if len(memory) <= largestSpare && len(memory) > len(b.kept()) {
		b.first, b.size = weak.Make(&memory[0]), len(memory)
	}
}

// line is the size of a cache line in bytes.
const line = 64

// newSlots returns the function that returns the memory of the executor's slots, one after the
// other: parts of the spare memory, or memory of their own if they are large or lie in pages.
func (e *executor[T]) newSlots() func(n int) ([]T, error) {
	size := int(unsafe.Sizeof(T(0)))
	bytes := func(n int) int { return (n*size + line - 1) / line * line }
	need := 0
	for _, n := range e.plan.Slots {
		need += bytes(n)
	}
	if e.device.pages != nil || need > largestSpare || need == 0 {
		return func(n int) ([]T, error) { return rowMemory[T](e.device, n) }
	}
	if e.yields {
		e.device.spare.begin(e)
	}
	e.borrowed = e.device.spare.take(need)
	at := 0
	return func(n int) ([]T, error) {
		if n == 0 {
			return nil, nil
		}
		slot := unsafe.Slice((*T)(unsafe.Pointer(&e.borrowed[at])), n)
		at += bytes(n)
		return slot, nil
	}
}

// yield is rest, unless a pass of the program runs.
func (e *executor[T]) yield() {
	if e.passes.TryLock() {
		defer e.passes.Unlock()
		e.rest()
	}
}

// rest gives back the memory of the kept and temporary buffers, and of the sums over rows, until
// the next Forward. Memory in pages stays, because it lies in files.
func (e *executor[T]) rest() {
	if e.device.pages != nil || e.rests {
		return
	}
	e.rests = true
	for i, b := range e.plan.Buffers {
		if b.Class == plan.Kept || b.Class == plan.Temporary {
			e.setData(i, nil)
		}
	}
	e.device.spare.give(e.borrowed)
	e.borrowed = nil
	for _, r := range slices.Concat(e.forward, e.backward) {
		r.emptySlots()
	}
}
