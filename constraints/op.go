package constraints

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"math"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ErrSecondDerivative is returned when a derivative op of this package is
// differentiated in its turn: the methods here are of first order.
var ErrSecondDerivative = errors.New("constraints: second derivatives are not implemented")

// float are the element types that the ops compute with.
type float interface{ float32 | float64 }

// pureOp is what the ops of this package have in common: they are pure
// functions that return fresh memory, overwrite no input and call no foreign
// code. Gorgonia merges nodes whose 32-bit hashes agree, so the hash covers
// the op's kind and, through a digest, all of its constants.
type pureOp struct {
	kind   string
	arity  int
	digest [sha256.Size]byte
}

// Arity is the number of inputs.
func (o *pureOp) Arity() int { return o.arity }

// ReturnsPtr is false: the result is new memory, which no other op may reuse.
func (o *pureOp) ReturnsPtr() bool { return false }

// CallsExtern is false.
func (o *pureOp) CallsExtern() bool { return false }

// OverwritesInput is -1: no input is overwritten.
func (o *pureOp) OverwritesInput() int { return -1 }

// WriteHash writes the op's kind and a digest of its constants.
func (o *pureOp) WriteHash(h hash.Hash) {
	_, _ = io.WriteString(h, o.kind) // a hash's Write returns no error
	_, _ = h.Write(o.digest[:])
}

// Hashcode is the 32-bit FNV-1a hash of what WriteHash writes.
func (o *pureOp) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

// digester feeds constants to SHA-256, each slice with its length in front, so
// that different contents never write the same bytes.
type digester struct{ hash.Hash }

func newDigester() digester { return digester{sha256.New()} }

func (d digester) ints(v ...int) {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(v)))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	_, _ = d.Write(b)
}

func (d digester) int8s(v []int8) {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(v)))
	for _, x := range v {
		b = append(b, byte(x))
	}
	_, _ = d.Write(b)
}

func (d digester) int32s(v []int32) {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(v)))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	_, _ = d.Write(b)
}

func (d digester) floats(v []float64) {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(v)))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	_, _ = d.Write(b)
}

func (d digester) sum() (s [sha256.Size]byte) {
	d.Sum(s[:0])
	return s
}

// tensorOf is the type of a tensor with that many dimensions over the type
// variable a; a scalar is a itself.
func tensorOf(dims int) hm.Type {
	a := hm.TypeVariable('a')
	if dims == 0 {
		return a
	}
	return gorgonia.TensorType{Dims: dims, Of: a}
}

// inferShape checks the inputs' shapes against want and returns out.
func inferShape(op gorgonia.Op, out tensor.Shape, in []gorgonia.DimSizer, want ...tensor.Shape) (tensor.Shape, error) {
	if len(in) != len(want) {
		return nil, fmt.Errorf("constraints: %v takes %d inputs, got %d", op, len(want), len(in))
	}
	for k, w := range want {
		if s, ok := in[k].(tensor.Shape); !ok || !s.Eq(w) {
			return nil, fmt.Errorf("constraints: %v: input %d has shape %v, want %v", op, k, in[k], w)
		}
	}
	return out, nil
}

// contents returns the elements of v in row-major order as []float32 or
// []float64, a scalar as a slice of one, after checking their number. A
// transposed or sliced tensor is copied; otherwise v's own memory is returned.
func contents(op gorgonia.Op, v gorgonia.Value, size int) (any, error) {
	if d, ok := v.(*tensor.Dense); ok && (d.RequiresIterator() || d.DataOrder().IsColMajor()) {
		if !d.IsMaterializable() {
			return nil, fmt.Errorf("constraints: %v needs a row-major tensor", op)
		}
		v = d.Materialize()
	}
	var n int
	data := v.Data()
	switch x := data.(type) {
	case float64:
		data, n = []float64{x}, 1
	case float32:
		data, n = []float32{x}, 1
	case []float64:
		n = len(x)
	case []float32:
		n = len(x)
	default:
		return nil, fmt.Errorf("constraints: %v has no form for elements of type %v: take float32 or float64", op, v.Dtype())
	}
	if n != size {
		return nil, fmt.Errorf("constraints: %v: input has %d elements, want %d", op, n, size)
	}
	return data, nil
}

// inputs returns the contents of an op's input values.
func inputs(op gorgonia.Op, values []gorgonia.Value, sizes ...int) ([]any, error) {
	if len(values) != len(sizes) {
		return nil, fmt.Errorf("constraints: %v takes %d inputs, got %d", op, len(sizes), len(values))
	}
	data := make([]any, len(values))
	for k, v := range values {
		var err error
		if data[k], err = contents(op, v, sizes[k]); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// newTensor wraps out, which it takes over, as a tensor of that shape.
func newTensor[T float](out []T, shape ...int) gorgonia.Value {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(out))
}

// apply adds the op's node to the children's graph.
func apply(op gorgonia.Op, children ...*gorgonia.Node) (*gorgonia.Node, error) {
	n, err := gorgonia.ApplyOp(op, children...)
	if err != nil {
		return nil, fmt.Errorf("constraints: apply %v: %w", op, err)
	}
	return n, nil
}
