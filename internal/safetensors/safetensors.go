// Package safetensors reads and writes the safetensors file format: named tensors after a JSON
// header, with nothing in the file that could be executed.
//
// A file is
//
//	8 bytes    N, the header's length, unsigned, little-endian
//	N bytes    JSON: {"__metadata__": {string: string},
//	                  name: {"dtype": D, "shape": [...], "data_offsets": [begin, end]}, ...},
//	           padded with spaces so that 8+N is a multiple of 8
//	the rest   the tensors' elements, row-major, little-endian, at [begin, end) from here
//
// and the tensors cover the rest without gap or overlap. Only float32 ("F32") and float64 ("F64")
// are supported; an error names any other type. [Write] produces the same bytes as the reference
// implementation (https://github.com/huggingface/safetensors) with sorted metadata keys, so equal
// files have equal bytes.
package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Dtype is the header's name of an element type.
type Dtype string

// The supported element types.
const (
	F32 Dtype = "F32" // IEEE 754 binary32
	F64 Dtype = "F64" // IEEE 754 binary64
)

// Size returns the bytes of one element, or 0 if the type is not supported.
func (d Dtype) Size() int {
	switch d {
	case F32:
		return 4
	case F64:
		return 8
	}
	return 0
}

// Tensor is a named array of row-major, little-endian elements.
type Tensor struct {
	Name  string
	Dtype Dtype
	Shape []int  // empty for a scalar
	Data  []byte // product(Shape) * Dtype.Size() bytes
}

// New returns a tensor with the values rounded to dtype. It panics if dtype is not supported, which
// is a bug of the caller. [Write] checks that the values fill the shape.
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

// Float64s returns the elements, widened exactly to float64.
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

// File is the content of a file. Tensors are in the order of their data.
type File struct {
	Metadata map[string]string // nil if the file has none
	Tensors  []Tensor
}
