package cpu

import (
	"fmt"
	"unsafe"

	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/mapped"
	"ppal/internal/plan"
)

// Bind copies a matrix to an input. Bytes are packed as bytes, and the entries of a sparse matrix
// stay entries if the input is sparse. Other rows make a sparse input dense: the executor compiles
// its products again.
func (e *executor[T]) Bind(v plan.View, m matrix.Matrix) error {
	if err := e.plan.CheckBind(v, m); err != nil {
		return err
	}
	i, b, changed := v.Buffer, e.plan.Buffers[v.Buffer], false
	if err := e.checkBytes(i, m); err != nil {
		return err
	}
	if x := e.pictures[i]; x != nil {
		if bytes, ok := m.(matrix.EightBit); ok {
			x.bind(bytes)
			return nil
		}
		e.leavePictures(i)
		changed = true
	}
	if x := e.sparse[i]; x != nil {
		if s, ok := m.(matrix.Sparse); ok {
			if err := x.Set(s.Entries()); err != nil {
				return fmt.Errorf("cpu: the rows bound to %s: %w", b.Name, err)
			}
			e.load(i, m) // for steps that read all elements
			return nil
		}
		delete(e.sparse, i)
		if err := e.packWide(i); err != nil {
			return err
		}
		if e.data[i] == nil && e.Data[i] == nil {
			e.setData(i, make([]T, b.Len()))
		}
		changed = true
	}
	if e.lent[i] { // another owner's memory
		e.lent[i] = false
		delete(e.loads, i)
		if e.Data[i] != nil {
			e.setData(i, make([]T, b.Len()))
		}
		if e.data[i] != nil {
			e.data[i] = e.k.NewPackedFloats(b.Rows, b.Cols)
			changed = true
		}
		if x := e.bfloat16[i]; x != nil {
			e.bfloat16[i] = kernel.NewPackedBFloat16(b.Rows, b.Cols, x.Digits())
			changed = true
		}
		if x := e.bytes[i]; x != nil {
			e.bytes[i] = e.device.NewBytes(b.Rows, b.Cols, x.ByteScale())
			changed = true
		}
	}
	e.load(i, m)
	e.noteScale(i, m)
	if changed {
		e.forward, e.backward = e.compile(e.plan.Forward), e.compile(e.plan.Backward)
	}
	return nil
}

// checkBytes returns an error if products of digits read a leaf and m is not 8-bit data of the same
// scale.
func (e *executor[T]) checkBytes(buffer int, m matrix.Matrix) error {
	x := e.bytes[buffer]
	if x == nil {
		return nil
	}
	if bytes, ok := m.(matrix.EightBit); ok && bytes.ByteScale() == x.ByteScale() {
		return nil
	}
	return fmt.Errorf("cpu: %w %v: bind 8-bit rows of that scale to %s, or choose float32 products",
		plan.ErrNotBytes, x.ByteScale(), e.plan.Buffers[buffer].Name)
}

// noteScale keeps the scale of 8-bit data that a leaf of floats holds, for Stored.
func (e *executor[T]) noteScale(buffer int, m matrix.Matrix) {
	e.scales[buffer] = 0
	if x, ok := m.(matrix.EightBit); ok {
		e.scales[buffer] = x.ByteScale()
	}
}

// load fills every form of a leaf that steps read, except entries, from a matrix of its shape.
// The workers share the rows. If m is nil, load packs the values that the leaf's memory holds.
func (e *executor[T]) load(buffer int, m matrix.Matrix) {
	if x := e.bytes[buffer]; x != nil && m != matrix.Matrix(x) {
		e.loadBytes(buffer, x, m.(matrix.EightBit))
	}
	if e.data[buffer] == nil && e.bfloat16[buffer] == nil && (e.Data[buffer] == nil || m == nil) {
		return
	}
	p := e.loads[buffer]
	if p == nil {
		b := e.plan.Buffers[buffer]
		lo, hi := e.division.window(b)
		p = newLoading(lo, hi, b.Cols, e.Data[buffer], e.data[buffer], e.bfloat16[buffer], e.threads)
		e.loads[buffer] = p
	}
	p.from = m
	e.pool.run(p.workers, p)
	p.from = nil
}

// loadBytes packs rows of a leaf's shape into x.
func (e *executor[T]) loadBytes(buffer int, x *kernel.PackedBytes, from matrix.EightBit) {
	p := e.byteLoads[buffer]
	if p == nil {
		lo, hi := e.division.window(e.plan.Buffers[buffer])
		_, cols := x.Dims()
		p = newByteLoading(cols, lo, hi, e.threads)
		e.byteLoads[buffer] = p
	}
	p.x, p.from = x, from
	e.pool.run(len(p.buffers), p)
	p.x, p.from = nil, nil
}

// loadRows is the least number of rows that a worker reads at a time: twice the height of a panel
// of packed floats and a multiple of the four rows that are packed bytes' unit.
const loadRows = 24

// loadSize is the approximate number of bytes of floats that a worker reads at a time. A matrix
// that is stored by columns is several times faster to read if a call takes many rows.
const loadSize = 64 << 10

// loading is the job of filling a leaf of floats: its plain memory and its packed forms.
type loading[T plan.Float] struct {
	from    matrix.Matrix // nil: plain has the values
	lo, hi  int           // the rows that are filled
	cols    int
	plain   []T                     // nil if no step reads it
	packed  *kernel.PackedFloats[T] // nil if no step reads it
	digits  *kernel.PackedBFloat16  // nil if no step reads it
	workers int
	step    int   // rows that a worker reads at a time
	buffers [][]T // for rows on their way to the packed form if plain is nil, by worker
}

func newLoading[T plan.Float](lo, hi, cols int, plain []T, packed *kernel.PackedFloats[T], digits *kernel.PackedBFloat16, threads int) *loading[T] {
	p := &loading[T]{lo: lo, hi: hi, cols: cols, plain: plain, packed: packed, digits: digits, workers: max(1, min(threads, blocks(hi-lo)))}
	p.step = max(1, loadSize/(loadRows*cols*int(unsafe.Sizeof(T(0))))) * loadRows
	if plain == nil {
		for range p.workers {
			p.buffers = append(p.buffers, make([]T, p.step*cols))
		}
	}
	return p
}

func (p *loading[T]) work(worker int) {
	from, to := share(blocks(p.hi-p.lo), worker, p.workers)
	end := min(p.lo+to*kernel.RowBlock, p.hi)
	for i := p.lo + from*kernel.RowBlock; i < end; i += p.step {
		n := min(p.step, end-i)
		var rows []T
		if p.plain != nil {
			rows = p.plain[i*p.cols : (i+n)*p.cols]
		} else {
			rows = p.buffers[worker][:n*p.cols]
		}
		if p.from != nil {
			matrix.Widen(rows, p.from, i, i+n)
		}
		if p.packed != nil {
			for r := range n {
				p.packed.SetRow(i+r, rows[r*p.cols:(r+1)*p.cols])
			}
		}
		if p.digits != nil {
			single := any(rows).([]float32)
			for r := range n {
				p.digits.SetRow(i+r, single[r*p.cols:(r+1)*p.cols])
			}
		}
	}
}

// byteLoading is the job of packing 8-bit rows.
type byteLoading struct {
	x       *kernel.PackedBytes
	lo, hi  int // the rows that are packed
	from    matrix.EightBit
	buffers [][]uint8   // for copies of rows, by worker
	lists   [][][]uint8 // the rows of a call of SetRows, by worker
}

func newByteLoading(cols, lo, hi, threads int) *byteLoading {
	p := &byteLoading{lo: lo, hi: hi}
	for range max(1, min(threads, blocks(hi-lo))) {
		p.buffers = append(p.buffers, make([]uint8, loadRows*cols))
		p.lists = append(p.lists, make([][]uint8, loadRows))
	}
	return p
}

func (p *byteLoading) work(worker int) {
	_, cols := p.x.Dims()
	from, to := share(blocks(p.hi-p.lo), worker, len(p.buffers))
	buffer, list := p.buffers[worker], p.lists[worker]
	end := min(p.lo+to*kernel.RowBlock, p.hi)
	for i := p.lo + from*kernel.RowBlock; i < end; i += loadRows {
		n := min(loadRows, end-i)
		for r := range n {
			list[r] = p.from.ByteRow(i+r, buffer[r*cols:(r+1)*cols])
		}
		p.x.SetRows(i, list[:n])
	}
	clear(list) // drops the references to the matrix
}

// packedRows are rows for a leaf in every form that the steps read; nil: no step reads the form.
type packedRows[T plan.Float] struct {
	sparse *kernel.Sparse[T]
	bytes  *kernel.PackedBytes
	packed *kernel.PackedFloats[T]
	digits *kernel.PackedBFloat16
	plain  []T
	scale  float64 // of 8-bit data in floats; 0: other data
}

// Keep packs a matrix for an input beside the input's present rows, and returns a function that
// makes it the input. The function copies no row: the steps then read the kept memory. Keep
// returns nil for rows that Bind would widen, because Bind then compiles the products again, and
// for pictures, whose rows are bytes in any case.
func (e *executor[T]) Keep(v plan.View, m matrix.Matrix) (use func(), err error) {
	if err := e.plan.CheckBind(v, m); err != nil {
		return nil, err
	}
	i := v.Buffer
	if _, ok := m.(matrix.Sparse); !ok && e.sparse[i] != nil || e.pictures[i] != nil {
		return nil, nil
	}
	if err := e.checkBytes(i, m); err != nil {
		return nil, err
	}
	own := &packedRows[T]{}
	if x := e.sparse[i]; x != nil {
		starts, columns, values := m.(matrix.Sparse).Entries()
		if own.sparse, err = e.k.NewSparseLike(e.keptAllocator(), x, starts, columns, values); err != nil {
			return nil, fmt.Errorf("cpu: the rows kept for %s: %w", e.plan.Buffers[i].Name, err)
		}
	}
	if x := e.bytes[i]; x != nil {
		rows, cols := x.Dims()
		if own.bytes, err = e.device.NewBytesIn(e.keptAllocator(), rows, cols, x.ByteScale()); err != nil {
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
		if own.plain, err = e.keptMemory(b.Len()); err != nil {
			return err
		}
	}
	if e.data[buffer] != nil {
		own.packed, err = e.k.NewPackedFloatsOf(b.Rows, b.Cols, func(n int) ([]T, error) { return e.keptMemory(n) })
		if err != nil {
			return err
		}
	}
	if x := e.bfloat16[buffer]; x != nil {
		if own.digits, err = kernel.NewPackedBFloat16In(e.keptAllocator(), b.Rows, b.Cols, x.Digits()); err != nil {
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
	p.from = m
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
}

// slab is the size of the device's memory in pages of which kept rows take parts: a file for each
// small matrix would be too many files.
const slab = 16 << 20

// keptMemory returns n zeros for kept rows: in the device's pages, if it has any.
func (e *executor[T]) keptMemory(n int) ([]T, error) {
	allocate := e.keptAllocator()
	if allocate == nil || n == 0 {
		return kernel.Alloc[T](n), nil
	}
	bytes, err := allocate(n * int(unsafe.Sizeof(T(0))))
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&bytes[0])), n), nil
}

// keptAllocator returns the memory of kept rows in the device's pages; nil if it has none.
func (e *executor[T]) keptAllocator() kernel.Allocator {
	if e.device.pages == nil {
		return nil
	}
	return func(size int) ([]byte, error) {
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
