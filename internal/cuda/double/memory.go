package double

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"unsafe"

	"ppal/internal/cuda/driver"
)

const (
	// poison fills new memory, freed memory, and the host memory of a download that is not done.
	// Numbers that consist of poison bytes are NaN or -1.
	poison = 0xff
	// canary fills the zones around an allocation of a computing device.
	canary = 0xa5
	// zone is the size of each zone in bytes; addresses are multiples of it.
	zone = 256
	// guard is the distance between allocations of a device that computes nothing.
	guard = 4096
	// The freed allocations whose addresses stay known: their number, and their bytes on a computing
	// device.
	mostFreed      = 4096
	mostFreedBytes = 64 << 20
)

// heap is the device's memory.
type heap struct {
	computes   bool
	blocks     []*block        // live allocations by address
	busy       map[*block]bool // blocks used by work that may still run
	freed      []*block
	freedBytes int
	next       driver.Pointer // next address of a device that computes nothing
}

// block is an allocation.
type block struct {
	driver.Span
	call    int       // the number of the call that allocated it
	written intervals // of bytes
	uses    []use
	buffer  []byte // of a computing device: the data and a zone on each side
	data    []byte
	host    []byte // of mapped memory: the pinned memory, of which data is the device's copy
}

func newHeap(computes bool) heap {
	return heap{computes: computes, busy: map[*block]bool{}, next: 1 << 20}
}

func (s *block) end() driver.Pointer { return s.At.Offset(s.Bytes) }

// add allocates a block.
func (h *heap) add(n, call int) *block {
	b := &block{Span: driver.Span{At: h.next, Bytes: n}, call: call}
	if h.computes {
		b.buffer = make([]byte, n+3*zone)
		fill(b.buffer, canary)
		base := address(b.buffer)
		lo := int((base+2*zone-1)/zone*zone - base)
		b.data = b.buffer[lo : lo+n : lo+n]
		fill(b.data, poison)
		b.At = driver.Pointer(address(b.data))
	} else {
		h.next += driver.Pointer((n + guard + 255) / 256 * 256)
	}
	i := sort.Search(len(h.blocks), func(i int) bool { return h.blocks[i].At > b.At })
	h.blocks = slices.Insert(h.blocks, i, b)
	h.freed = slices.DeleteFunc(h.freed, func(f *block) bool { return overlap(f.Span, b.Span) })
	return b
}

// remove removes the i-th block. The block's memory stays allocated for a while, so that the device
// finds late uses and they do no harm.
func (h *heap) remove(i int) {
	b := h.blocks[i]
	h.blocks = slices.Delete(h.blocks, i, i+1)
	fill(b.data, poison)
	b.written, b.uses = nil, nil
	h.freed = append(h.freed, b)
	for h.freedBytes += len(b.data); len(h.freed) > mostFreed || h.freedBytes > mostFreedBytes; h.freed = h.freed[1:] {
		h.freedBytes -= len(h.freed[0].data)
	}
}

// find returns the block that contains all of s.
func (h *heap) find(s driver.Span) (*block, error) {
	i := sort.Search(len(h.blocks), func(i int) bool { return h.blocks[i].At > s.At }) - 1
	if i >= 0 {
		if b := h.blocks[i]; s.At < b.end() {
			if s.At.Offset(s.Bytes) > b.end() {
				return nil, fmt.Errorf("%d bytes from byte %d of %d", s.Bytes, s.At-b.At, b.Bytes)
			}
			return b, nil
		}
	}
	for _, f := range h.freed {
		if overlap(f.Span, s) {
			return nil, fmt.Errorf("memory at %#x that was freed", uint64(s.At))
		}
	}
	return nil, fmt.Errorf("memory at %#x that does not belong to an allocation", uint64(s.At))
}

// contents returns the memory of a span of a computing device. The caller has checked the span.
func (h *heap) contents(s driver.Span) []byte {
	if s.Bytes == 0 {
		return nil
	}
	b, err := h.find(s)
	if err != nil {
		panic(err)
	}
	lo := int(s.At - b.At)
	return b.data[lo : lo+s.Bytes : lo+s.Bytes]
}

// intact reports whether the zones around a block are unchanged.
func (b *block) intact() bool {
	if b.buffer == nil {
		return true
	}
	lo := int(address(b.data) - address(b.buffer))
	return all(b.buffer[:lo], canary) && all(b.buffer[lo+len(b.data):], canary)
}

func all(b []byte, v byte) bool { return bytes.Count(b, []byte{v}) == len(b) }

// fill sets every byte to v by repeated doubling, because copy is vectorised.
func fill(b []byte, v byte) {
	if len(b) > 0 {
		b[0] = v
	}
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

func overlap(s, t driver.Span) bool {
	return s.At < t.At.Offset(t.Bytes) && t.At < s.At.Offset(s.Bytes)
}

// mark sets the bytes as written.
func (b *block) mark(s driver.Span) {
	from := int(s.At - b.At)
	b.written.add(from, from+s.Bytes)
}

// unwritten returns the first byte of s that nothing wrote, or -1 if every byte was written.
func (b *block) unwritten(s driver.Span) int {
	from := int(s.At - b.At)
	return b.written.missing(from, from+s.Bytes)
}

// intervals are the half-open ranges of a set of integers, in order, with gaps between them. Work
// writes spans, so a block has few of them, and a check costs the same for every size.
type intervals []interval

type interval struct{ from, to int }

// add adds from to to-1.
func (s *intervals) add(from, to int) {
	if from >= to {
		return
	}
	first := sort.Search(len(*s), func(i int) bool { return (*s)[i].to >= from })
	end := sort.Search(len(*s), func(i int) bool { return (*s)[i].from > to })
	if first < end {
		from, to = min(from, (*s)[first].from), max(to, (*s)[end-1].to)
	}
	*s = slices.Replace(*s, first, end, interval{from, to})
}

// missing returns the first of from to to-1 that is not in the set, or -1.
func (s intervals) missing(from, to int) int {
	if i := sort.Search(len(s), func(i int) bool { return s[i].to > from }); i < len(s) && s[i].from <= from {
		from = s[i].to
	}
	if from >= to {
		return -1
	}
	return from
}

// pinned is host memory that the device can access.
type pinned struct {
	host []byte
	call int
}

// address returns the address of the first byte of host memory.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// inside reports whether whole contains all of part.
func inside(whole, part []byte) bool {
	return address(part) >= address(whole) && address(part)+uintptr(len(part)) <= address(whole)+uintptr(len(whole))
}

// isPinned reports whether all of the host's memory is pinned.
func (d *Driver) isPinned(host []byte) bool {
	return slices.ContainsFunc(d.pinned, func(p pinned) bool { return inside(p.host, host) })
}

// Memory implements driver.Driver.
func (d *Driver) Memory() (free, total int64, err error) {
	if err := d.begin(Call{Kind: "Memory"}); err != nil {
		return 0, 0, err
	}
	return d.options.Memory - d.held, d.options.Memory, nil
}

// Allocate implements driver.Driver. The memory of a computing device is poison.
func (d *Driver) Allocate(bytes int) (driver.Pointer, error) {
	if err := d.begin(Call{Kind: "Allocate", Bytes: bytes}); err != nil {
		return 0, err
	}
	if err := d.idle(); err != nil {
		return 0, err
	}
	if bytes <= 0 {
		return 0, d.violation("%d bytes", bytes)
	}
	if d.held+int64(bytes) > d.options.Memory {
		return 0, &driver.Error{Operation: "allocate", Call: fmt.Sprintf("Allocate(%d)", bytes), File: "double", Code: 2,
			Name: "CUDA_ERROR_OUT_OF_MEMORY", Detail: "out of memory", Err: driver.ErrOutOfMemory}
	}
	d.held += int64(bytes)
	return d.heap.add(bytes, len(d.calls)-1).At, nil
}

// Free implements driver.Driver. Like CUDA's, it waits for the work that runs.
func (d *Driver) Free(p driver.Pointer) error {
	if err := d.begin(Call{Kind: "Free"}); err != nil {
		return err
	}
	if err := d.idle(); err != nil {
		return err
	}
	i := slices.IndexFunc(d.heap.blocks, func(b *block) bool { return b.At == p })
	if i < 0 {
		if _, err := d.heap.find(driver.Span{At: p, Bytes: 1}); err != nil {
			return d.violation("%#x is not a live allocation: %v", uint64(p), err)
		}
		return d.violation("%#x is not the start of a live allocation, but inside one", uint64(p))
	}
	b := d.heap.blocks[i]
	if b.host != nil {
		return d.violation("%#x is mapped memory, which FreePinned frees", uint64(p))
	}
	d.completeAll()
	d.held -= int64(b.Bytes)
	d.heap.remove(i)
	if !b.intact() {
		return d.violation("something wrote beside the %d bytes of call %d", b.Bytes, b.call)
	}
	return nil
}

// Pinned implements driver.Driver. The memory is poison.
func (d *Driver) Pinned(bytes int) ([]byte, error) {
	if err := d.begin(Call{Kind: "Pinned", Bytes: bytes}); err != nil {
		return nil, err
	}
	if err := d.idle(); err != nil {
		return nil, err
	}
	if bytes <= 0 {
		return nil, d.violation("%d bytes", bytes)
	}
	host := make([]byte, bytes)
	fill(host, poison)
	d.pinned = append(d.pinned, pinned{host, len(d.calls) - 1})
	return host, nil
}

// FreePinned implements driver.Driver.
func (d *Driver) FreePinned(b []byte) error {
	if err := d.begin(Call{Kind: "FreePinned"}); err != nil {
		return err
	}
	if err := d.idle(); err != nil {
		return err
	}
	i := slices.IndexFunc(d.pinned, func(p pinned) bool { return address(p.host) == address(b) && len(p.host) == len(b) })
	if i < 0 {
		return d.violation("%d bytes are not a pinned allocation", len(b))
	}
	for _, t := range d.pending {
		if address(t.host) >= address(b) && address(t.host) < address(b)+uintptr(len(b)) {
			return d.violation("a copy with it may still run")
		}
	}
	d.pinned = slices.Delete(d.pinned, i, i+1)
	for k, m := range d.heap.blocks {
		if m.host != nil && inside(b, m.host) {
			d.heap.remove(k)
			break
		}
	}
	return nil
}

// Mapped implements driver.Driver. The device has a copy of the memory: a launch that reads it
// begins with an upload, and a launch that writes it ends with a download.
func (d *Driver) Mapped(host []byte) (driver.Pointer, error) {
	if err := d.begin(Call{Kind: "Mapped", Bytes: len(host)}); err != nil {
		return 0, err
	}
	if err := d.idle(); err != nil {
		return 0, err
	}
	i := slices.IndexFunc(d.pinned, func(p pinned) bool { return len(host) > 0 && inside(p.host, host) })
	if i < 0 {
		return 0, d.violation("%d bytes are not pinned", len(host))
	}
	whole := d.pinned[i].host
	for _, b := range d.heap.blocks {
		if b.host != nil && inside(whole, b.host) {
			return b.At.Offset(int(address(host) - address(whole))), nil
		}
	}
	b := d.heap.add(len(whole), len(d.calls)-1)
	b.host = whole
	return b.At.Offset(int(address(host) - address(whole))), nil
}

// HostReads implements driver.Witness. It is not a call of the device, and is not recorded.
func (d *Driver) HostReads(host []byte) error {
	if call := d.writes(host); call >= 0 {
		return d.violation("the host reads pinned memory that call %d may still write: it was not waited for", call)
	}
	return nil
}

// shares reports whether two pieces of host memory have a byte in common.
func shares(a, b []byte) bool {
	return address(a) < address(b)+uintptr(len(b)) && address(b) < address(a)+uintptr(len(a))
}
