package cpu

import (
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// Rows implements plan.RowReader for leaves that are packed.
func (e *executor[T]) Rows(v plan.View) plan.Matrix {
	if x := e.data[v.Buffer]; x != nil {
		return packedRows[T]{x}
	}
	if x := e.bytes[v.Buffer]; x != nil {
		return &Bytes{x}
	}
	return nil
}

// packedRows is a packed matrix that gives its rows back.
type packedRows[T plan.Float] struct{ *kernel.Matrix[T] }

func (p packedRows[T]) Float32(dst []float32, from, to int) { unpack(dst, p.Matrix, from, to) }
func (p packedRows[T]) Float64(dst []float64, from, to int) { unpack(dst, p.Matrix, from, to) }

// unpack writes rows from to to-1, row by row.
func unpack[D, T plan.Float](dst []D, x *kernel.Matrix[T], from, to int) {
	_, cols := x.Dims()
	for i := from; i < to; i++ {
		kernel.Row(dst[(i-from)*cols:(i-from+1)*cols], x, i)
	}
}
