package graph

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
)

// Values returns the elements of a dense float32 or float64 tensor as a matrix, for Problem.Bind
// and Definition.Data. The matrix shares the tensor's memory. A vector [n] is n x 1, a tensor
// [n, ...] has n rows.
func Values(v gorgonia.Value) (matrix.Matrix, error) {
	rows, cols := dims(v.Shape())
	switch data := v.Data().(type) {
	case []float32:
		return &values[float32]{rows, cols, data}, nil
	case []float64:
		return &values[float64]{rows, cols, data}, nil
	}
	return nil, fmt.Errorf("graph: a value of type %T is not a dense tensor of floats", v.Data())
}

// Float64s returns the elements of a float32 or float64 tensor or scalar, and nil for any other
// value. For a float64 tensor the result is the tensor's own memory.
func Float64s(v gorgonia.Value) []float64 {
	if own, ok := v.Data().([]float64); ok {
		return own
	}
	list, err := appendFloat64s(make([]float64, 0, v.Size()), v)
	if err != nil {
		return nil
	}
	return list
}

// appendFloat64s appends the elements of a float32 or float64 tensor or scalar.
func appendFloat64s(dst []float64, v gorgonia.Value) ([]float64, error) {
	if v == nil {
		return dst, errors.New("no value")
	}
	switch data := v.Data().(type) {
	case float32:
		return append(dst, float64(data)), nil
	case float64:
		return append(dst, data), nil
	case []float32:
		dst = slices.Grow(dst, len(data))
		for _, x := range data {
			dst = append(dst, float64(x))
		}
		return dst, nil
	case []float64:
		return append(dst, data...), nil
	}
	return dst, fmt.Errorf("a value of type %T", v.Data())
}

// fill sets dst to the elements of a float32 or float64 tensor or scalar.
func fill(dst []float64, v gorgonia.Value) error {
	list, err := appendFloat64s(dst[:0:len(dst)], v)
	if err == nil && len(list) != len(dst) {
		err = fmt.Errorf("%d values, want %d", len(list), len(dst))
	}
	return err
}

// dims returns the numbers of rows and columns of a shape read as a matrix.
func dims(s tensor.Shape) (rows, cols int) {
	rows, cols = 1, 1
	for i, d := range s {
		if i == 0 {
			rows = d
		} else {
			cols *= d
		}
	}
	return rows, cols
}

// values is a matrix in the memory of a tensor.
type values[T matrix.Float] struct {
	rows, cols int
	data       []T
}

// Dims implements matrix.Matrix.
func (m *values[T]) Dims() (rows, cols int) { return m.rows, m.cols }

// Float32 implements matrix.Matrix.
func (m *values[T]) Float32(dst []float32, from, to int) { convert(dst, m, from, to) }

// Float64 implements matrix.Matrix.
func (m *values[T]) Float64(dst []float64, from, to int) { convert(dst, m, from, to) }

// convert writes the rows from to to-1 of m to dst, row by row.
func convert[D, T matrix.Float](dst []D, m *values[T], from, to int) {
	matrix.CheckRows(m, len(dst), from, to)
	for i, x := range m.data[from*m.cols : to*m.cols] {
		dst[i] = D(x)
	}
}
