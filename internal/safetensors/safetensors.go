// Package safetensors reads and writes the safetensors file format: named
// tensors behind a JSON header, with nothing in the file that could be executed.
//
// A file is
//
//	8 bytes    N, the header's length, unsigned, little-endian
//	N bytes    JSON: {"__metadata__": {string: string},
//	                  name: {"dtype": D, "shape": [...], "data_offsets": [begin, end]}, ...},
//	           padded with spaces so that 8+N is a multiple of 8
//	the rest   the tensors' elements, row-major, little-endian, at [begin, end) from here
//
// and the tensors cover the rest without hole or overlap. Only float32 ("F32")
// and float64 ("F64") are supported; any other type is refused by name.
// [Write] gives the same bytes as the reference implementation
// (https://github.com/huggingface/safetensors), with metadata keys in order,
// so equal files have equal bytes.
package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Dtype is an element type as the header names it.
type Dtype string

// The supported element types.
const (
	F32 Dtype = "F32" // IEEE 754 binary32
	F64 Dtype = "F64" // IEEE 754 binary64
)

// Size returns the bytes of one element, and 0 for a type that is not supported.
func (d Dtype) Size() int {
	switch d {
	case F32:
		return 4
	case F64:
		return 8
	}
	return 0
}

// Tensor is one named array: row-major, little-endian elements.
type Tensor struct {
	Name  string
	Dtype Dtype
	Shape []int  // no dimension at all for a scalar
	Data  []byte // product(Shape) * Dtype.Size() bytes
}

// New returns a tensor that holds values, rounded to dtype. It panics when dtype
// is not supported: that is a caller's bug. That values fill the shape is
// checked by [Write].
func New(name string, dtype Dtype, shape []int, values []float64) Tensor {
	data := make([]byte, 0, len(values)*dtype.Size())
	for _, v := range values {
		switch dtype {
		case F32:
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
		case F64:
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		default:
			panic(fmt.Sprintf("safetensors: New with dtype %q", dtype))
		}
	}
	return Tensor{Name: name, Dtype: dtype, Shape: shape, Data: data}
}

// Float64s returns the elements, widened to float64 (exactly).
func (t Tensor) Float64s() []float64 {
	switch t.Dtype {
	case F32:
		values := make([]float64, len(t.Data)/4)
		for i := range values {
			values[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:])))
		}
		return values
	case F64:
		values := make([]float64, len(t.Data)/8)
		for i := range values {
			values[i] = math.Float64frombits(binary.LittleEndian.Uint64(t.Data[8*i:]))
		}
		return values
	}
	return nil
}

// File is a file's content. Tensors are in the order of their data.
type File struct {
	Metadata map[string]string // nil when the file has none
	Tensors  []Tensor
}
