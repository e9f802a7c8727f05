package cpu

import (
	"fmt"
	"unsafe"

	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/paged"
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
		if own.sparse, err = e.k.NewSparseLike(x, starts, columns, values); err != nil {
			return nil, fmt.Errorf("cpu: the rows kept for %s: %w", e.plan.Buffers[i].Name, err)
		}
	}
	if x := e.bytes[i]; x != nil {
		rows, cols := x.Dims()
		own.bytes = e.device.NewBytes(rows, cols, x.ByteScale())
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
		own.digits = kernel.NewPackedBFloat16(b.Rows, b.Cols, x.Digits())
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
	if e.device.pages == nil {
		return kernel.Alloc[T](n), nil
	}
	size := n * int(unsafe.Sizeof(T(0)))
	own.size += size
	if size >= slab {
		return paged.Make[T](e.device.pages, n)
	}
	if n > len(e.slab) {
		var err error
		if e.slab, err = paged.Make[T](e.device.pages, slab/int(unsafe.Sizeof(T(0)))); err != nil {
			return nil, err
		}
	}
	x := e.slab[:n:n]
	line := 64 / int(unsafe.Sizeof(T(0)))
	e.slab = e.slab[min(len(e.slab), (n+line-1)/line*line):]
	return x, nil
}
