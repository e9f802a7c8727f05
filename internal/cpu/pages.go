package cpu

import (
	"sync"
	"unsafe"

	"ppal/internal/cpu/kernel"
	"ppal/internal/mapped"
	"ppal/internal/plan"
)

// InPages returns the device with its large floats in pages: the rows of the data, packed or not,
// and the activations of all rows. The same holds for bytes and digits that the device packs, and
// for the copies that it makes of the entries of sparse rows. The regions then read the pages
// ahead, and give them back when the memory is short. The results have the same bits.
func (d *Device) InPages(pages *mapped.Dir) *Device {
	own := *d
	own.pages = pages
	return &own
}

// leastPaged is the number of bytes from which memory lies in pages. The program touches smaller
// memory all the time.
const leastPaged = 1 << 20

// rowMemory returns n zeros: in the device's pages if they are many. A nil device has no pages.
func rowMemory[T plan.Float](d *Device, n int) ([]T, error) {
	if d == nil || d.pages == nil || n*int(unsafe.Sizeof(T(0))) < leastPaged {
		return make([]T, n), nil
	}
	return mapped.Make[T](d.pages, n)
}

// allocator returns the memory of packed rows that are not floats: the device's pages if the rows
// are many, nil without pages.
func (d *Device) allocator() kernel.Allocator {
	if d == nil || d.pages == nil {
		return nil
	}
	return func(n int) ([]byte, error) {
		if n < leastPaged {
			return kernel.Alloc[uint8](n), nil
		}
		return mapped.Make[byte](d.pages, n)
	}
}

// anyMemory is rowMemory for a caller that cannot fail: without space on the disk, the zeros lie in
// the process's own memory.
func anyMemory[T plan.Float](d *Device, n int) []T {
	x, err := rowMemory[T](d, n)
	if err != nil {
		return make([]T, n)
	}
	return x
}

// newRows returns zeros for the rows of a buffer.
func (e *executor[T]) newRows(buffer, n int) ([]T, error) {
	x, err := rowMemory[T](e.device, n)
	e.noteRows(buffer, n)
	return x, err
}

func (e *executor[T]) noteRows(buffer, n int) {
	e.inPages[buffer] = e.device.pages != nil && n*int(unsafe.Sizeof(T(0))) >= leastPaged
}

// findPages finds the buffers of the plan's slots that lie in pages.
func (e *executor[T]) findPages() {
	for i, b := range e.plan.Buffers {
		if b.Class == plan.Kept || b.Class == plan.Temporary {
			e.noteRows(i, e.plan.Slots[b.Slot])
		}
	}
}

// window is the number of bytes of rows that a worker processes while the next window is read.
const window = 8 << 20

// stream runs a region over rows in pages: window by window, with the next window read ahead.
type stream struct {
	rows  int               // of a window
	width int               // bytes of a row
	read  []memoryOf        // what the region reads
	ahead func(part []byte) // reads the pages of a part of the memory
	bound func()            // gives pages back if they are too many
}

// memoryOf returns the memory of rows lo to hi-1 of a buffer.
type memoryOf func(lo, hi int) [][]byte

// newStream returns the stream of a region; nil if its rows are in memory.
func (e *executor[T]) newStream(r plan.Region, block int) *stream {
	if e.device.pages == nil {
		return nil
	}
	s := &stream{ahead: mapped.Ahead, bound: e.device.pages.Bound}
	seen := map[form]bool{}
	for _, step := range r.Steps {
		for _, o := range append(step.Reads(), step.Writes()...) {
			b := e.plan.Buffers[o.Buffer]
			f := e.formOf(step, o.Buffer)
			if seen[f] || b.Rows != r.Rows {
				continue
			}
			seen[f] = true
			if b.Class == plan.Leaf {
				e.addPacked(s, f, b.Rows)
			}
			if !e.inPages[o.Buffer] {
				continue
			}
			s.width += b.Cols * int(unsafe.Sizeof(T(0)))
			if b.Class != plan.Leaf {
				continue // mostly written; reading ahead would map the pages twice
			}
			if packed := e.data[o.Buffer]; packed != nil {
				s.read = append(s.read, func(lo, hi int) [][]byte { return [][]byte{kernel.BytesOf(packed.Rows(lo, hi))} })
			}
			if e.Data[o.Buffer] != nil {
				s.read = append(s.read, func(lo, hi int) [][]byte {
					return [][]byte{kernel.BytesOf(e.Data[o.Buffer][lo*b.Cols : hi*b.Cols])}
				})
			}
		}
	}
	if s.width == 0 {
		return nil
	}
	s.rows = max(1, window/s.width/block) * block
	return s
}

// form is a buffer in the form that a step reads. Bytes and digits have two copies: the second is
// for products with the transposed matrix.
type form struct {
	buffer     int
	transposed bool
}

// formOf returns the form in which a step reads a buffer.
func (e *executor[T]) formOf(s plan.Step, buffer int) form {
	twice := e.bytes[buffer] != nil || e.bfloat16[buffer] != nil
	p, product := s.(*plan.Product)
	return form{buffer, twice && product && p.TransA && p.A.Buffer == buffer}
}

// addPacked adds a leaf to the stream if it has many rows as bytes, digits or entries.
func (e *executor[T]) addPacked(s *stream, f form, rows int) {
	var memory memoryOf
	if x := e.bytes[f.buffer]; x != nil {
		memory = func(lo, hi int) [][]byte { return [][]byte{x.Rows(lo, hi, f.transposed)} }
	} else if x := e.bfloat16[f.buffer]; x != nil {
		memory = func(lo, hi int) [][]byte { return [][]byte{x.Rows(lo, hi, f.transposed)} }
	} else if x := e.sparse[f.buffer]; x != nil {
		memory = x.Rows
	} else {
		return
	}
	size := 0
	for _, part := range memory(0, rows) {
		size += len(part)
	}
	if size < leastPaged {
		return
	}
	s.width += size/rows + 1
	s.read = append(s.read, memory)
}

// each calls run for the windows of rows lo to hi-1. A window has whole blocks, so the order of all
// additions is that of a run without windows. While all threads compute, a goroutine that reads
// ahead does not start, nor one that watches the memory. So the worker itself reads its window,
// unless a goroutine has read it, and bounds the memory after it.
func (s *stream) each(lo, hi int, run func(lo, hi int) error) error {
	read := s.reading(lo, min(lo+s.rows, hi))
	for at := lo; at < hi; {
		end := min(at+s.rows, hi)
		read()
		if end < hi {
			read = s.reading(end, min(end+s.rows, hi))
			go read()
		}
		if err := run(at, end); err != nil {
			return err
		}
		s.bound()
		at = end
	}
	return nil
}

// reading returns a function that reads the pages of rows lo to hi-1 once, however often it is
// called. reading finds their memory first, because Keep may change a leaf later.
func (s *stream) reading(lo, hi int) func() {
	var parts [][]byte
	for _, memory := range s.read {
		parts = append(parts, memory(lo, hi)...)
	}
	return sync.OnceFunc(func() {
		for _, part := range parts {
			s.ahead(part)
		}
	})
}
