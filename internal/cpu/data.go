package cpu

import (
	"fmt"
	"unsafe"

	"ppal/datasets/matrix"
	"ppal/internal/plan"
)

// packData packs every leaf that is a factor over the data's rows, or reads the leaf's entries.
// packData also widens the data matrices that other steps read.
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
	for i, b := range e.plan.Buffers {
		if b.Class == plan.Leaf && e.plan.DataOf(i) != nil && (others[i] || !e.read(i)) {
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
		e.lent[i] = data == nil || data == matrix.Matrix(e.bytes[i])
		e.load(i, data)
		e.noteScale(i, data)
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
		bytes += uint64(len(e.Data[i])) * uint64(unsafe.Sizeof(T(0)))
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
