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
	"runtime"
	"slices"
	"sync"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/relay"
	"ppal/trainer/graph/describe"
)

// ErrSecondDerivative says that a derivative op of this package was differentiated again. The
// methods of this program are of first order.
var ErrSecondDerivative = errors.New("constraints: second derivatives are not implemented")

// float is the set of element types that the ops support.
type float interface{ float32 | float64 }

// pureOp implements the methods that the ops of this package share. The ops are pure functions:
// they return newly allocated memory, overwrite no input and call no foreign code. Gorgonia merges
// nodes whose 32-bit hashes are equal, so the hash covers the op's kind and, through a digest, all
// of its constants.
type pureOp struct {
	kind   string
	arity  int
	digest lazyDigest
}

// lazyDigest returns the digest of an op's constants. The first call computes the digest. Only a
// graph needs digests, so ops that only compute values on the host never compute one.
type lazyDigest func() [sha256.Size]byte

// digestLater returns a lazyDigest of the data that add writes. add must read only immutable data.
func digestLater(add func(d digester)) lazyDigest {
	return sync.OnceValue(func() (sum [sha256.Size]byte) {
		d := digester{sha256.New()}
		add(d)
		d.Sum(sum[:0])
		return sum
	})
}

// Arity returns the number of inputs.
func (o *pureOp) Arity() int { return o.arity }

// ReturnsPtr returns false: the result is new memory, which no other op may reuse.
func (o *pureOp) ReturnsPtr() bool { return false }

// CallsExtern returns false: the op calls no foreign code.
func (o *pureOp) CallsExtern() bool { return false }

// OverwritesInput returns -1: the op overwrites no input.
func (o *pureOp) OverwritesInput() int { return -1 }

// WriteHash writes the op's kind and a digest of its constants.
func (o *pureOp) WriteHash(h hash.Hash) {
	_, _ = io.WriteString(h, o.kind) // a hash's Write never returns an error
	sum := o.digest()
	_, _ = h.Write(sum[:])
}

// Hashcode returns the 32-bit FNV-1a hash of the bytes that WriteHash writes.
func (o *pureOp) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

// digester writes constants to SHA-256. Each slice is preceded by its length, so different contents
// never write the same bytes.
type digester struct{ hash.Hash }

func (d digester) ints(v ...int) {
	write(d, v, func(b []byte, x int) []byte { return binary.LittleEndian.AppendUint64(b, uint64(x)) })
}

// text writes a text after its length.
func (d digester) text(s string) {
	d.ints(len(s))
	_, _ = io.WriteString(d, s)
}

func (d digester) int8s(v []int8) {
	write(d, v, func(b []byte, x int8) []byte { return append(b, byte(x)) })
}

func (d digester) uint16s(v []uint16) {
	write(d, v, func(b []byte, x uint16) []byte { return binary.LittleEndian.AppendUint16(b, x) })
}

func (d digester) int32s(v []int32) {
	write(d, v, func(b []byte, x int32) []byte { return binary.LittleEndian.AppendUint32(b, uint32(x)) })
}

func (d digester) floats(v []float64) {
	write(d, v, func(b []byte, x float64) []byte { return binary.LittleEndian.AppendUint64(b, math.Float64bits(x)) })
}

// write writes the elements piece by piece. The bytes of all elements of large data would take too
// much memory.
func write[T any](d digester, v []T, put func(b []byte, x T) []byte) {
	const piece = 4 << 10
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, min(8*len(v)+8, piece+8)), uint64(len(v)))
	for _, x := range v {
		if b = put(b, x); len(b) >= piece {
			_, _ = d.Write(b)
			b = b[:0]
		}
	}
	_, _ = d.Write(b)
}

// tensorOf returns the type of a tensor with dims dimensions over the type variable a; 0 dimensions
// give a itself, a scalar.
func tensorOf(dims int) hm.Type {
	a := hm.TypeVariable('a')
	if dims == 0 {
		return a
	}
	return gorgonia.TensorType{Dims: dims, Of: a}
}

// contents returns the elements of v in row-major order as []float32 or []float64, after checking
// their number. A scalar becomes a slice of length 1. A transposed or sliced tensor is copied;
// otherwise contents returns v's own memory.
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
		return nil, fmt.Errorf("constraints: %v: elements of type %v are not supported (supported: float32, float64)", op, v.Dtype())
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

// newTensor wraps out, without copying, as a tensor of the given shape.
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

// leastPart is the least number of rows for which another goroutine is worth its start.
const leastPart = 4096

// inParts calls do for consecutive ranges that cover the rows 0..n-1, and waits for all calls. The
// calls run at the same time, on all cores.
func inParts(n int, do func(from, to int)) {
	parts := max(1, min(runtime.GOMAXPROCS(0), n/leastPart))
	tasks := make([]func(), parts)
	for k := range tasks {
		tasks[k] = func() { do(n*k/parts, n*(k+1)/parts) }
	}
	concurrently(tasks...)
}

// concurrently runs the tasks at the same time, and waits for all tasks. A task's panic is a panic
// of concurrently.
func concurrently(tasks ...func()) {
	var group sync.WaitGroup
	var panics relay.Relay
	for _, task := range tasks[1:] {
		group.Go(func() { _ = panics.Do(func() error { task(); return nil }) })
	}
	tasks[0]()
	group.Wait()
	panics.Throw()
}

var (
	_ gorgonia.SDOp      = (*function)(nil)
	_ describe.Described = (*function)(nil)
)

// function is a differentiable op with inputs of fixed shapes: MarginLoss, SignedLoss, GroupMeans
// and PairMeans, and their derivatives.
type function struct {
	pureOp
	text        string // what String adds to the kind
	in          []tensor.Shape
	out         tensor.Shape
	description describe.Description
	// double and single compute the result in the element type of the inputs.
	double func(in [][]float64) []float64
	single func(in [][]float32) []float32
	// derivative returns the op (in[0], gradient of the result) -> gradient of in[0], or without
	// in[0], on which the derivative of a linear op does not depend. nil: a derivative, which cannot
	// be differentiated again.
	derivative func() *function
}

// Describe implements describe.Described.
func (f *function) Describe() describe.Description { return f.description }

// Type is the function type of the inputs' and the result's dimensions.
func (f *function) Type() hm.Type {
	var types []hm.Type
	for _, s := range f.in {
		types = append(types, tensorOf(s.Dims()))
	}
	return hm.NewFnType(append(types, tensorOf(f.out.Dims()))...)
}

// InferShape returns the shape of the result.
func (f *function) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	if len(in) != len(f.in) {
		return nil, fmt.Errorf("constraints: %v takes %d inputs, got %d", f, len(f.in), len(in))
	}
	for k, want := range f.in {
		if s, ok := in[k].(tensor.Shape); !ok || !s.Eq(want) {
			return nil, fmt.Errorf("constraints: %v: input %d has shape %v, want %v", f, k, in[k], want)
		}
	}
	return f.out.Clone(), nil
}

// Do returns the result for the values of the inputs.
func (f *function) Do(values ...gorgonia.Value) (gorgonia.Value, error) {
	sizes := make([]int, len(f.in))
	for k, s := range f.in {
		sizes[k] = s.TotalSize()
	}
	in, err := inputs(f, values, sizes...)
	if err != nil {
		return nil, err
	}
	if x, ok := allOf[float64](in); ok {
		return valueOf(f.double(x), f.out), nil
	}
	if x, ok := allOf[float32](in); ok {
		return valueOf(f.single(x), f.out), nil
	}
	return nil, fmt.Errorf("constraints: %v: inputs have different element types %T and %T", f, in[0], in[1])
}

// allOf returns the inputs if all of them have the element type.
func allOf[T float](in []any) ([][]T, bool) {
	all := make([][]T, len(in))
	for k := range in {
		x, ok := in[k].([]T)
		if !ok {
			return nil, false
		}
		all[k] = x
	}
	return all, true
}

// valueOf returns the elements as a value of the shape.
func valueOf[T float](out []T, shape tensor.Shape) gorgonia.Value {
	if !shape.IsScalar() {
		return newTensor(out, shape...)
	}
	if x, single := any(out[0]).(float32); single {
		return gorgonia.NewF32(x)
	}
	return gorgonia.NewF64(float64(out[0]))
}

// DiffWRT reports all inputs as differentiable. For a derivative, Gorgonia then calls SymDiff,
// which refuses.
func (f *function) DiffWRT(int) []bool { return slices.Repeat([]bool{true}, f.arity) }

// SymDiff returns the node of the derivative, or ErrSecondDerivative.
func (f *function) SymDiff(in gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	if f.derivative == nil {
		return nil, fmt.Errorf("%w: %s", ErrSecondDerivative, f.kind)
	}
	if len(in) != 1 {
		return nil, fmt.Errorf("constraints: %v takes 1 input, got %d", f, len(in))
	}
	d := f.derivative()
	n, err := apply(d, gorgonia.Nodes{in[0], grad}[2-d.arity:]...)
	if err != nil {
		return nil, err
	}
	return gorgonia.Nodes{n}, nil
}

// String returns the op's kind and shape.
func (f *function) String() string { return f.kind + "{" + f.text + "}" }

// ofScores returns the shape [n, 1] or [n] of one score for each of n rows.
func ofScores(n, dims int) tensor.Shape { return tensor.Shape{n, 1}[:dims] }
