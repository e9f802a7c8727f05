package cpu

import (
	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

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

func (x *storedBytes[T]) ByteRow(i int, room []uint8) []uint8 {
	elements, step := []T(nil), 1
	if x.plain != nil {
		elements = x.plain[i*x.cols:]
	} else {
		elements, step = x.packed.Row(i)
	}
	room = room[:x.cols]
	for j := range room {
		room[j] = x.value(elements[j*step])
	}
	return room
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
