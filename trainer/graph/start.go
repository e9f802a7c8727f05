package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"ppal/datasets/matrix"
)

// stacked is the start of an iterate: the values of the parameters, one after the other, as a
// column. It copies nothing.
type stacked struct {
	parts []matrix.Matrix
	size  int
}

var _ matrix.Matrix = (*stacked)(nil)

// start returns the parameters' values as a column.
func start(parameters gorgonia.Nodes) (*stacked, error) {
	x := &stacked{}
	for i, n := range parameters {
		size := n.Shape().TotalSize()
		var part matrix.Matrix
		switch data := n.Value().Data().(type) {
		case float32:
			part = &values[float32]{1, 1, []float32{data}}
		case float64:
			part = &values[float64]{1, 1, []float64{data}}
		case []float32:
			part = &values[float32]{size, 1, data}
		case []float64:
			part = &values[float64]{size, 1, data}
		default:
			return nil, fmt.Errorf("parameter %d (%s) holds %T, want a dense tensor", i, n.Name(), data)
		}
		x.parts = append(x.parts, part)
		rows, _ := part.Dims()
		x.size += rows
	}
	return x, nil
}

// Dims implements matrix.Matrix.
func (x *stacked) Dims() (rows, cols int) { return x.size, 1 }

// Float32 implements matrix.Matrix.
func (x *stacked) Float32(dst []float32, from, to int) { copyStacked(dst, x, from, to) }

// Float64 implements matrix.Matrix.
func (x *stacked) Float64(dst []float64, from, to int) { copyStacked(dst, x, from, to) }

// copyStacked writes the elements from to to-1 of x to dst.
func copyStacked[T matrix.Float](dst []T, x *stacked, from, to int) {
	matrix.CheckRows(x, len(dst), from, to)
	begin := 0
	for _, part := range x.parts {
		n, _ := part.Dims()
		if lo, hi := max(from, begin), min(to, begin+n); lo < hi {
			matrix.Widen(dst[lo-from:hi-from], part, lo-begin, hi-begin)
		}
		begin += n
	}
}
