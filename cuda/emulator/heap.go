//go:build gpu

package emulator

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"ppal/cuda/driver"
)

const (
	poison = 0xFF // every number of such bytes is NaN or -1
	canary = 0xA5 // in the zones around an allocation
	zone   = 256  // bytes of each of them; addresses are multiples of it
	// quarantine is the memory, in bytes, of what was freed that is kept, so that its addresses are known.
	quarantine = 64 << 20
)

// allocation is a piece of device memory.
type allocation struct {
	at    driver.Pointer
	block []byte // with the zones
	data  []byte
}

func (a *allocation) end() driver.Pointer { return a.at.Offset(len(a.data)) }

// intact says whether nothing was written beside the allocation.
func (a *allocation) intact() bool {
	lo := int(uintptr(unsafe.Pointer(&a.data[0])) - uintptr(unsafe.Pointer(&a.block[0])))
	return all(a.block[:lo], canary) && all(a.block[lo+len(a.data):], canary)
}

func all(b []byte, v byte) bool { return bytes.Count(b, []byte{v}) == len(b) }

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// heap is the device's memory.
type heap struct {
	total, used int64
	live        []*allocation // by address
	freed       []*allocation
	freedBytes  int
}

func (h *heap) allocate(n int) (driver.Pointer, error) {
	if h.used+int64(n) > h.total {
		return 0, failed("allocate", outOfMemory, "%d bytes, %d are free", n, h.total-h.used)
	}
	block := make([]byte, n+3*zone)
	fill(block, canary)
	base := uintptr(unsafe.Pointer(&block[0]))
	lo := int((base+2*zone-1)/zone*zone - base)
	a := &allocation{driver.Pointer(base + uintptr(lo)), block, block[lo : lo+n : lo+n]}
	fill(a.data, poison)
	at, _ := slices.BinarySearchFunc(h.live, a.at, func(x *allocation, p driver.Pointer) int { return cmpPointers(x.at, p) })
	h.live = slices.Insert(h.live, at, a)
	h.used += int64(n)
	return a.at, nil
}

func cmpPointers(p, q driver.Pointer) int {
	switch {
	case p < q:
		return -1
	case p > q:
		return 1
	}
	return 0
}

func (h *heap) free(p driver.Pointer) error {
	i := slices.IndexFunc(h.live, func(a *allocation) bool { return a.at == p })
	if i < 0 {
		return failed("free", invalidValue, "%#x: %s", p, h.place(p))
	}
	a := h.live[i]
	h.live = slices.Delete(h.live, i, i+1)
	h.used -= int64(len(a.data))
	intact := a.intact()
	fill(a.data, poison)
	h.freed = append(h.freed, a)
	for h.freedBytes += len(a.data); h.freedBytes > quarantine; h.freed = h.freed[1:] {
		h.freedBytes -= len(h.freed[0].data)
	}
	if !intact {
		return failed("free", illegalAddress, "something wrote beside the %d bytes at %#x", len(a.data), p)
	}
	return nil
}

// find returns the live allocation that holds a span, nil if none does.
func (h *heap) find(s driver.Span) *allocation {
	i, found := slices.BinarySearchFunc(h.live, s.At, func(a *allocation, p driver.Pointer) int { return cmpPointers(a.at, p) })
	if !found {
		i--
	}
	if i < 0 || s.Bytes < 0 || s.At.Offset(s.Bytes) > h.live[i].end() {
		return nil
	}
	return h.live[i]
}

// bytes is a span's memory.
func (h *heap) bytes(operation string, p driver.Pointer, n int) ([]byte, error) {
	a := h.find(driver.Span{At: p, Bytes: n})
	if a == nil {
		return nil, failed(operation, illegalAddress, "%d bytes at %#x: %s", n, p, h.place(p))
	}
	lo := int(p - a.at)
	return a.data[lo : lo+n : lo+n], nil
}

// place tells about an address that is wrong.
func (h *heap) place(p driver.Pointer) string {
	for _, a := range h.freed {
		if a.at <= p && p < a.end() {
			return fmt.Sprintf("in %d bytes that were freed", len(a.data))
		}
	}
	for _, a := range h.live {
		if a.at <= p && p <= a.end() {
			return fmt.Sprintf("past the end of %d bytes of which it is byte %d", len(a.data), p-a.at)
		}
	}
	return "in no allocation"
}

// close names what is still held.
func (h *heap) close(pinned, streams, events, graphs int) error {
	var held []string
	for _, a := range h.live {
		held = append(held, fmt.Sprintf("%d bytes", len(a.data)))
		if !a.intact() {
			return failed("close", illegalAddress, "something wrote beside the %d bytes at %#x", len(a.data), a.at)
		}
	}
	for _, c := range []struct {
		n    int
		what string
	}{{pinned, "pinned buffers"}, {streams, "streams"}, {events, "events"}, {graphs, "graphs"}} {
		if c.n > 0 {
			held = append(held, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if held != nil {
		return failed("close", invalidValue, "still held: %s", strings.Join(held, ", "))
	}
	return nil
}

// contains says whether part lies in whole.
func contains(whole, part []byte) bool {
	lo, at := uintptr(unsafe.Pointer(&whole[0])), uintptr(unsafe.Pointer(&part[0]))
	return lo <= at && at+uintptr(len(part)) <= lo+uintptr(len(whole))
}
