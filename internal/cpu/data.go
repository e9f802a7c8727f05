package cpu

import (
	"fmt"
	"unsafe"

	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// packData packs every leaf that is a factor over the data's rows, or reads the leaf's entries.
// packData also widens the data matrices that other steps read, except pictures (pictureRows).
func (e *executor[T]) packData() error {
	others := map[int]bool{} // buffers that some step reads without packing
	for _, r := range append(append([]plan.Region{}, e.plan.Forward...), e.plan.Backward...) {
		for _, s := range r.Steps {
			packed := -1
			if p, ok := s.(*plan.Product); ok && r.Rows > 0 && e.packable(p, r.Rows) {
				if err := e.packed(p.A.Buffer); err != nil {
					return err
				}
				if e.read(p.A.Buffer) {
					packed = p.A.Buffer
				}
			}
			for _, o := range s.Reads() {
				if o.Buffer != packed {
					others[o.Buffer] = true
				}
			}
		}
	}
	e.findPictures()
	for i, b := range e.plan.Buffers {
		if b.Class == plan.Leaf && e.plan.DataOf(i) != nil && e.pictures[i] == nil && (others[i] || !e.read(i)) {
			if e.Data[i] = inPlace[T](e.plan.DataOf(i)); e.Data[i] != nil && e.division.rows == 0 {
				e.lent[i] = true
				e.noteRows(i, b.Len())
				continue
			}
			var err error
			if e.Data[i], err = e.newRows(i, b.Len()); err != nil {
				return err
			}
		}
	}
	if err := e.checkPacked(); err != nil {
		return err
	}
	for i, b := range e.plan.Buffers {
		if b.Class != plan.Leaf {
			continue
		}
		data := e.plan.DataOf(i)
		if e.lent[i] {
			e.load(i, nil) // the leaf's memory has the rows
		} else {
			e.lent[i] = data == nil || data == matrix.Matrix(e.bytes[i])
			e.load(i, data)
		}
		e.noteScale(i, data)
	}
	return nil
}

// inPlace returns the elements of a matrix of float32, which a leaf of float32 reads without a
// copy; nil: the leaf needs a copy.
func inPlace[T plan.Float](data matrix.Matrix) []T {
	if m, ok := data.(*matrix.Singles); ok {
		x, _ := any(m.Data).([]T)
		return x
	}
	return nil
}

// checkPacked calls the device's check with the memory that the plan's buffers and all forms of its
// data take, before the rows fill the memory. Data that the device reads without a copy do not
// count.
func (e *executor[T]) checkPacked() error {
	if e.device.check == nil {
		return nil
	}
	bytes := e.plan.LeastBytes()
	for i := range e.plan.Buffers {
		data := e.plan.DataOf(i)
		if data == nil {
			continue
		}
		if !e.lent[i] {
			bytes += uint64(len(e.Data[i])) * uint64(unsafe.Sizeof(T(0)))
		}
		if x := e.data[i]; x != nil {
			bytes += uint64(x.Size())
		}
		if x := e.bfloat16[i]; x != nil {
			bytes += uint64(x.Size())
		}
		if x := e.bytes[i]; x != nil && data != matrix.Matrix(x) {
			bytes += uint64(x.Size())
		}
	}
	if err := e.device.check(bytes); err != nil {
		return fmt.Errorf("cpu: %w", err)
	}
	return nil
}

// read reports whether products read a special form of a leaf: packed, sparse, 8-bit or digits of
// bfloat16.
func (e *executor[T]) read(buffer int) bool {
	return e.data[buffer] != nil || e.sparse[buffer] != nil || e.bytes[buffer] != nil || e.bfloat16[buffer] != nil
}

// packed allocates the packed form of a leaf, or reads the leaf's entries. A leaf with only narrow
// products stays unpacked.
func (e *executor[T]) packed(buffer int) error {
	if e.read(buffer) {
		return nil
	}
	if x, err := e.byteLeaf(buffer); x != nil || err != nil {
		e.bytes[buffer] = x
		return err
	}
	if x, err := e.sparseLeaf(buffer); x != nil || err != nil {
		e.sparse[buffer] = x
		return err
	}
	if x, err := e.bfloat16Leaf(buffer); x != nil || err != nil {
		e.bfloat16[buffer] = x
		return err
	}
	return e.packWide(buffer)
}

// packWide allocates the packed form of a leaf if a product with it is wide.
func (e *executor[T]) packWide(buffer int) (err error) {
	if e.widest(buffer) > NarrowWidth {
		b := e.plan.Buffers[buffer]
		e.data[buffer], err = e.k.NewPackedFloatsOf(b.Rows, b.Cols, func(n int) ([]T, error) { return e.newRows(buffer, n) })
	}
	return err
}

// NarrowWidth is the largest width of products that read the data unpacked. The kernels of the
// packed form compute as many columns as a vector has elements. A single column would use an
// eighth of their time, eight columns use half.
const NarrowWidth = 8

// widest returns the largest number of columns of the products with a leaf.
func (e *executor[T]) widest(buffer int) int {
	most := 0
	for _, r := range append(append([]plan.Region{}, e.plan.Forward...), e.plan.Backward...) {
		for _, s := range r.Steps {
			if p, ok := s.(*plan.Product); ok && p.A.Buffer == buffer {
				most = max(most, p.Out.Cols)
			}
		}
	}
	return most
}

// packable reports whether the product's kernel reads a whole leaf in its packed form.
func (e *executor[T]) packable(p *plan.Product, rows int) bool {
	b := e.plan.Buffers[p.A.Buffer]
	known := p.TransA && !p.TransB || !p.TransA && !p.Add
	return b.Class == plan.Leaf && p.A.Rows == rows && p.A.Len() == b.Len() && known
}

// storedBytes is an 8-bit matrix s v in the memory of a leaf of floats. The leaf holds T(s v). The
// leaf determines v exactly, and the program needs no copy of v beside the floats.
type storedBytes[T plan.Float] struct {
	rows, cols     int
	scale, inverse float64                 // s and 1/s
	plain          []T                     // elements row by row; nil: packed has the elements
	packed         *kernel.PackedFloats[T] // packed elements; nil: plain has the elements
}

var _ matrix.EightBit = (*storedBytes[float32])(nil)

// newStoredBytes returns nil if T(s v) does not determine v for all 256 values.
func newStoredBytes[T plan.Float](rows, cols int, scale float64, plain []T, packed *kernel.PackedFloats[T]) *storedBytes[T] {
	x := &storedBytes[T]{rows: rows, cols: cols, scale: scale, inverse: 1 / scale, plain: plain, packed: packed}
	for v := range 256 {
		if stored := float64(T(float64(v) * scale)); !(stored*x.inverse < 256) || int(x.value(T(stored))) != v {
			return nil
		}
	}
	return x
}

// value returns v for the element T(s v).
func (x *storedBytes[T]) value(element T) uint8 { return uint8(float64(element)*x.inverse + 0.5) }

func (x *storedBytes[T]) Dims() (rows, cols int) { return x.rows, x.cols }

func (x *storedBytes[T]) ByteScale() float64 { return x.scale }

func (x *storedBytes[T]) ByteRow(i int, buffer []uint8) []uint8 {
	elements, step := []T(nil), 1
	if x.plain != nil {
		elements = x.plain[i*x.cols:]
	} else {
		elements, step = x.packed.Row(i)
	}
	buffer = buffer[:x.cols]
	for j := range buffer {
		buffer[j] = x.value(elements[j*step])
	}
	return buffer
}

func (x *storedBytes[T]) Float32(dst []float32, from, to int) { matrix.WidenBytes(dst, x, from, to) }
func (x *storedBytes[T]) Float64(dst []float64, from, to int) { matrix.WidenBytes(dst, x, from, to) }

// Stored implements plan.Program. 8-bit data are readable in each form that products read. A later
// Bind does not change the matrix, because Bind moves the input to other memory.
func (e *executor[T]) Stored(v plan.View) matrix.EightBit {
	if e.division.rows > 0 {
		return nil // other processes have rows
	}
	if x := e.bytes[v.Buffer]; x != nil {
		e.lent[v.Buffer] = true
		return x
	}
	if x := e.pictures[v.Buffer]; x != nil {
		return x.stored()
	}
	scale := e.scales[v.Buffer]
	if scale == 0 || e.bfloat16[v.Buffer] != nil && e.Data[v.Buffer] == nil {
		return nil
	}
	b := e.plan.Buffers[v.Buffer]
	x := newStoredBytes(b.Rows, b.Cols, scale, e.Data[v.Buffer], e.data[v.Buffer])
	if x == nil {
		return nil
	}
	e.lent[v.Buffer] = true
	return x
}
