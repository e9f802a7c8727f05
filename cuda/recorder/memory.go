package recorder

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"unsafe"

	"ppal/cuda/driver"
)

// heap is the device's memory: the live allocations by address, and what was freed.
type heap struct {
	blocks []*block
	busy   map[*block]bool // those that work which may still run uses
	freed  []driver.Span
	next   driver.Pointer
	held   int64
}

// block is an allocation.
type block struct {
	driver.Span
	bytes   int
	call    int
	written []uint64 // a bit for each byte
	uses    []use
}

// guard is the room between allocations, so that one that is left is not another.
const guard = 4096

func newHeap() heap { return heap{busy: map[*block]bool{}, next: 1 << 20} }

// place finds an address for bytes.
func (h *heap) place(bytes int) driver.Pointer {
	at := h.next
	h.next += driver.Pointer((bytes + guard + 255) / 256 * 256)
	return at
}

// add makes a block live.
func (h *heap) add(at driver.Pointer, bytes, call int) {
	b := &block{Span: driver.Span{At: at, Bytes: bytes}, bytes: bytes, call: call, written: make([]uint64, (bytes+63)/64)}
	i := sort.Search(len(h.blocks), func(i int) bool { return h.blocks[i].At > at })
	h.blocks = slices.Insert(h.blocks, i, b)
	h.freed = slices.DeleteFunc(h.freed, func(s driver.Span) bool { return overlap(s, b.Span) })
	h.held += int64(bytes)
}

// find returns the block that all of s lies in.
func (h *heap) find(s driver.Span) (*block, error) {
	i := sort.Search(len(h.blocks), func(i int) bool { return h.blocks[i].At > s.At }) - 1
	if i >= 0 {
		if b := h.blocks[i]; s.At < b.At.Offset(b.bytes) {
			if s.At.Offset(s.Bytes) > b.At.Offset(b.bytes) {
				return nil, fmt.Errorf("%d bytes from byte %d of %d", s.Bytes, s.At-b.At, b.bytes)
			}
			return b, nil
		}
	}
	for _, f := range h.freed {
		if overlap(f, s) {
			return nil, fmt.Errorf("memory at %#x that was freed", uint64(s.At))
		}
	}
	return nil, fmt.Errorf("memory at %#x that is no allocation's", uint64(s.At))
}

func overlap(s, t driver.Span) bool {
	return s.At < t.At.Offset(t.Bytes) && t.At < s.At.Offset(s.Bytes)
}

// mark sets the bytes as written.
func (b *block) mark(s driver.Span) {
	from := int(s.At - b.At)
	eachWord(from, from+s.Bytes, func(i int, mask uint64) bool {
		b.written[i] |= mask
		return true
	})
}

// unwritten returns the first byte of s that nothing wrote, -1 if there is none.
func (b *block) unwritten(s driver.Span) int {
	at := -1
	from := int(s.At - b.At)
	eachWord(from, from+s.Bytes, func(i int, mask uint64) bool {
		if missing := mask &^ b.written[i]; missing != 0 {
			at = i*64 + bits.TrailingZeros64(missing)
			return false
		}
		return true
	})
	return at
}

// eachWord visits the words of a bit set that have bits lo to hi-1, until visit returns false.
func eachWord(lo, hi int, visit func(i int, mask uint64) bool) {
	for lo < hi {
		i, first := lo/64, lo%64
		n := min(64-first, hi-lo)
		mask := ^uint64(0)
		if n < 64 {
			mask = (1<<n - 1) << first
		}
		if !visit(i, mask) {
			return
		}
		lo += n
	}
}

// pinned is host memory that the device reaches.
type pinned struct {
	host []byte
	call int
}

// address is where host memory begins.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// isPinned reports whether all of the host's memory is pinned.
func (r *Recorder) isPinned(host []byte) bool {
	return slices.ContainsFunc(r.pinned, func(p pinned) bool {
		return address(host) >= address(p.host) && address(host)+uintptr(len(host)) <= address(p.host)+uintptr(len(p.host))
	})
}

// Memory implements driver.Driver.
func (r *Recorder) Memory() (free, total int64, err error) {
	if err := r.begin(Call{Kind: "Memory"}); err != nil {
		return 0, 0, err
	}
	if r.options.Memory == 0 {
		return r.options.Inner.Memory()
	}
	return r.options.Memory - r.heap.held, r.options.Memory, nil
}

// Allocate implements driver.Driver.
func (r *Recorder) Allocate(bytes int) (driver.Pointer, error) {
	if err := r.begin(Call{Kind: "Allocate", Bytes: bytes}); err != nil {
		return 0, err
	}
	if err := r.idle(); err != nil {
		return 0, err
	}
	if bytes <= 0 {
		return 0, r.violation("%d bytes", bytes)
	}
	if r.options.Memory > 0 && r.heap.held+int64(bytes) > r.options.Memory {
		return 0, &driver.Error{Operation: "allocate", Call: fmt.Sprintf("Allocate(%d)", bytes), File: "recorder", Code: 2,
			Name: "CUDA_ERROR_OUT_OF_MEMORY", Detail: "out of memory", Err: driver.ErrOutOfMemory}
	}
	at := r.heap.place(bytes)
	if r.options.Inner != nil {
		var err error
		if at, err = r.options.Inner.Allocate(bytes); err != nil {
			return 0, err
		}
	}
	r.heap.add(at, bytes, len(r.calls)-1)
	return at, nil
}

// Free implements driver.Driver. As CUDA's, it waits for what runs.
func (r *Recorder) Free(p driver.Pointer) error {
	if err := r.begin(Call{Kind: "Free"}); err != nil {
		return err
	}
	if err := r.idle(); err != nil {
		return err
	}
	i := slices.IndexFunc(r.heap.blocks, func(b *block) bool { return b.At == p })
	if i < 0 {
		return r.violation("%#x is no live allocation", uint64(p))
	}
	r.completeAll()
	r.heap.held -= int64(r.heap.blocks[i].bytes)
	r.heap.freed = append(r.heap.freed, r.heap.blocks[i].Span)
	r.heap.blocks = slices.Delete(r.heap.blocks, i, i+1)
	if r.options.Inner != nil {
		return r.options.Inner.Free(p)
	}
	return nil
}

// Pinned implements driver.Driver.
func (r *Recorder) Pinned(bytes int) ([]byte, error) {
	if err := r.begin(Call{Kind: "Pinned", Bytes: bytes}); err != nil {
		return nil, err
	}
	if err := r.idle(); err != nil {
		return nil, err
	}
	if bytes <= 0 {
		return nil, r.violation("%d bytes", bytes)
	}
	host := make([]byte, bytes)
	if r.options.Inner != nil {
		var err error
		if host, err = r.options.Inner.Pinned(bytes); err != nil {
			return nil, err
		}
	}
	r.pinned = append(r.pinned, pinned{host, len(r.calls) - 1})
	return host, nil
}

// FreePinned implements driver.Driver.
func (r *Recorder) FreePinned(b []byte) error {
	if err := r.begin(Call{Kind: "FreePinned"}); err != nil {
		return err
	}
	if err := r.idle(); err != nil {
		return err
	}
	i := slices.IndexFunc(r.pinned, func(p pinned) bool { return address(p.host) == address(b) && len(p.host) == len(b) })
	if i < 0 {
		return r.violation("%d bytes are no pinned allocation", len(b))
	}
	for _, t := range r.pending {
		if address(t.host) >= address(b) && address(t.host) < address(b)+uintptr(len(b)) {
			return r.violation("a copy with it may still run")
		}
	}
	r.pinned = slices.Delete(r.pinned, i, i+1)
	if r.options.Inner != nil {
		return r.options.Inner.FreePinned(b)
	}
	return nil
}
