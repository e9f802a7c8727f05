package cpu

import (
	"fmt"
	"unsafe"

	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/mapped"
	"ppal/internal/plan"
)

// packedRows are rows for a leaf in every form that the steps read; nil: no step reads the form.
type packedRows[T plan.Float] struct {
	sparse *kernel.Sparse[T]
	bytes  *kernel.PackedBytes
	packed *kernel.PackedFloats[T]
	digits *kernel.PackedBFloat16
	plain  []T
	scale  float64 // of 8-bit data in floats; 0: other data
	size   int     // bytes in the device's pages
}

// Keep packs a matrix for an input beside the input's present rows, and returns a function that
// makes it the input. The function copies no row: the steps then read the kept memory. Keep
// returns nil for rows that Bind would widen, because Bind then compiles the products again.
func (e *executor[T]) Keep(v plan.View, m matrix.Matrix) (use func(), err error) {
	if err := e.plan.CheckBind(v, m); err != nil {
		return nil, err
	}
	i := v.Buffer
	if _, ok := m.(matrix.Sparse); !ok && e.sparse[i] != nil {
		return nil, nil
	}
	if err := e.checkBytes(i, m); err != nil {
		return nil, err
	}
	own := &packedRows[T]{}
	if x := e.sparse[i]; x != nil {
		starts, columns, values := m.(matrix.Sparse).Entries()
		if own.sparse, err = e.k.NewSparseLike(e.keptRoom(own), x, starts, columns, values); err != nil {
			return nil, fmt.Errorf("cpu: the rows kept for %s: %w", e.plan.Buffers[i].Name, err)
		}
	}
	if x := e.bytes[i]; x != nil {
		rows, cols := x.Dims()
		if own.bytes, err = e.device.NewBytesIn(e.keptRoom(own), rows, cols, x.ByteScale()); err != nil {
			return nil, err
		}
		e.loadBytes(i, own.bytes, m.(matrix.EightBit))
	}
	if err := e.keepFloats(i, own, m); err != nil {
		return nil, err
	}
	return func() { e.use(i, own) }, nil
}

// keepFloats fills the forms of own in floats that steps read.
func (e *executor[T]) keepFloats(buffer int, own *packedRows[T], m matrix.Matrix) (err error) {
	b := e.plan.Buffers[buffer]
	if e.Data[buffer] != nil {
		if own.plain, err = e.keptMemory(own, b.Len()); err != nil {
			return err
		}
	}
	if e.data[buffer] != nil {
		own.packed, err = e.k.NewPackedFloatsOf(b.Rows, b.Cols, func(n int) ([]T, error) { return e.keptMemory(own, n) })
		if err != nil {
			return err
		}
	}
	if x := e.bfloat16[buffer]; x != nil {
		if own.digits, err = kernel.NewPackedBFloat16In(e.keptRoom(own), b.Rows, b.Cols, x.Digits()); err != nil {
			return err
		}
	}
	if own.plain == nil && own.packed == nil && own.digits == nil {
		return nil
	}
	if x, ok := m.(matrix.EightBit); ok {
		own.scale = x.ByteScale()
	}
	lo, hi := e.division.window(b)
	p := newLoading(lo, hi, b.Cols, own.plain, own.packed, own.digits, e.threads)
	p.pages, p.from = e.device.pages, m
	e.pool.run(p.workers, p)
	return nil
}

// use makes kept rows the rows of a leaf. A later Bind writes to other memory.
func (e *executor[T]) use(buffer int, own *packedRows[T]) {
	if own.sparse != nil {
		*e.sparse[buffer] = *own.sparse
	}
	if own.bytes != nil {
		*e.bytes[buffer] = *own.bytes
	}
	if own.packed != nil {
		*e.data[buffer] = *own.packed
	}
	if own.digits != nil {
		*e.bfloat16[buffer] = *own.digits
	}
	if own.plain != nil {
		e.setData(buffer, own.plain)
	}
	e.scales[buffer] = own.scale
	e.lent[buffer] = true
	e.device.pages.Touch(own.size)
}

// slab is the size of the device's memory in pages of which kept rows take parts: a file for each
// small matrix would be too many files.
const slab = 16 << 20

// keptMemory returns n zeros for kept rows: in the device's pages, if it has any.
func (e *executor[T]) keptMemory(own *packedRows[T], n int) ([]T, error) {
	room := e.keptRoom(own)
	if room == nil || n == 0 {
		return kernel.Alloc[T](n), nil
	}
	bytes, err := room(n * int(unsafe.Sizeof(T(0))))
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&bytes[0])), n), nil
}

// keptRoom returns the memory of kept rows in the device's pages; nil if it has none.
func (e *executor[T]) keptRoom(own *packedRows[T]) kernel.Room {
	if e.device.pages == nil {
		return nil
	}
	return func(size int) ([]byte, error) {
		own.size += size
		if size >= slab {
			return mapped.Make[byte](e.device.pages, size)
		}
		if size > len(e.slab) {
			var err error
			if e.slab, err = mapped.Make[byte](e.device.pages, slab); err != nil {
				return nil, err
			}
		}
		x := e.slab[:size:size]
		const line = 64
		e.slab = e.slab[min(len(e.slab), (size+line-1)/line*line):]
		return x, nil
	}
}
