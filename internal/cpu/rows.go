package cpu

import (
	"ppal/datasets/matrix"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// Rows implements plan.RowReader for leaves that are packed, or read as they are.
func (e *executor[T]) Rows(v plan.View) matrix.Matrix {
	if x := e.data[v.Buffer]; x != nil {
		return packedRows[T]{x}
	}
	if x := e.bytes[v.Buffer]; x != nil {
		return x
	}
	if e.sparse[v.Buffer] == nil && e.Data[v.Buffer] != nil {
		return plainRows[T]{e, v}
	}
	return nil
}

// plainRows is a matrix that is kept as it is, row after row.
type plainRows[T plan.Float] struct {
	e *executor[T]
	v plan.View
}

func (p plainRows[T]) Dims() (rows, cols int)              { return p.v.Rows, p.v.Cols }
func (p plainRows[T]) Float32(dst []float32, from, to int) { convert(dst, p.rows(from, to)) }
func (p plainRows[T]) Float64(dst []float64, from, to int) { convert(dst, p.rows(from, to)) }

func (p plainRows[T]) rows(from, to int) []T {
	return p.e.Data[p.v.Buffer][from*p.v.Cols : to*p.v.Cols]
}

func convert[D, T plan.Float](dst []D, from []T) {
	for i, x := range from {
		dst[i] = D(x)
	}
}

// packedRows is a packed matrix that gives its rows back.
type packedRows[T plan.Float] struct{ *kernel.PackedFloats[T] }

func (p packedRows[T]) Float32(dst []float32, from, to int) { unpack(dst, p.PackedFloats, from, to) }
func (p packedRows[T]) Float64(dst []float64, from, to int) { unpack(dst, p.PackedFloats, from, to) }

// unpack writes rows from to to-1, row by row.
func unpack[D, T plan.Float](dst []D, x *kernel.PackedFloats[T], from, to int) {
	_, cols := x.Dims()
	for i := from; i < to; i++ {
		kernel.Row(dst[(i-from)*cols:(i-from+1)*cols], x, i)
	}
}
