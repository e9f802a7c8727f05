package graphcases

import (
	"fmt"
	"hash"
	"hash/fnv"
	"math"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph/describe"
)

// Swish is an op as a user writes it: y = x sigmoid(x), element-wise on a matrix, with a
// description for the devices.
type Swish struct{ plain bool }

// NewSwish applies the op to a node. If plain is true, the op has no description.
func NewSwish(x *gorgonia.Node, plain bool) (*gorgonia.Node, error) {
	if plain {
		return gorgonia.ApplyOp(undescribed{Swish{true}}, x)
	}
	return gorgonia.ApplyOp(Swish{}, x)
}

// undescribed hides the op's method Describe.
type undescribed struct{ gorgonia.SDOp }

// swishGrad is the derivative of Swish: it maps x, dy to dy y'(x) with y' = s (1 + x (1 - s)), s =
// sigmoid(x).
type swishGrad struct{ Swish }

var (
	_ describe.Described = Swish{}
	_ describe.Described = swishGrad{}
)

// Describe implements describe.Described.
func (Swish) Describe() describe.Description {
	x := describe.Input(0)
	return describe.Elementwise{Expr: describe.Mul.Of(x, describe.Sigmoid.Of(x))}
}

// Describe implements describe.Described.
func (swishGrad) Describe() describe.Description {
	x, dy, one := describe.Input(0), describe.Input(1), describe.Number(1)
	s := describe.Sigmoid.Of(x)
	return describe.Elementwise{Expr: describe.Mul.Of(dy, describe.Mul.Of(s,
		describe.Add.Of(one, describe.Mul.Of(x, describe.Sub.Of(one, s)))))}
}

func (Swish) Arity() int             { return 1 }
func (swishGrad) Arity() int         { return 2 }
func (Swish) ReturnsPtr() bool       { return false }
func (Swish) CallsExtern() bool      { return false }
func (Swish) OverwritesInput() int   { return -1 }
func (Swish) String() string         { return "swish" }
func (swishGrad) String() string     { return "swish'" }
func (Swish) DiffWRT(n int) []bool   { return []bool{true} }
func (s Swish) Hashcode() uint32     { return hashcode(s) }
func (s swishGrad) Hashcode() uint32 { return hashcode(s) }

// WriteHash distinguishes ops with different names.
func (Swish) WriteHash(h hash.Hash)     { fmt.Fprint(h, "graphcases.swish") }
func (swishGrad) WriteHash(h hash.Hash) { fmt.Fprint(h, "graphcases.swish'") }

func hashcode(op interface{ WriteHash(hash.Hash) }) uint32 {
	h := fnv.New32a()
	op.WriteHash(h)
	return h.Sum32()
}

// Type returns matrix -> matrix.
func (Swish) Type() hm.Type {
	m := gorgonia.TensorType{Dims: 2, Of: hm.TypeVariable('a')}
	return hm.NewFnType(m, m)
}

// Type returns matrix -> matrix -> matrix.
func (swishGrad) Type() hm.Type {
	m := gorgonia.TensorType{Dims: 2, Of: hm.TypeVariable('a')}
	return hm.NewFnType(m, m, m)
}

// InferShape returns the shape of x.
func (Swish) InferShape(inputs ...gorgonia.DimSizer) (tensor.Shape, error) {
	return inputs[0].(tensor.Shape).Clone(), nil
}

// SymDiff returns the op of the derivative.
func (s Swish) SymDiff(inputs gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	var op gorgonia.Op = swishGrad{s}
	if s.plain {
		op = struct{ gorgonia.Op }{op}
	}
	d, err := gorgonia.ApplyOp(op, inputs[0], grad)
	return gorgonia.Nodes{d}, err
}

// Do computes the op in float64.
func (Swish) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return each(inputs, func(x []float64) float64 { return x[0] / (1 + math.Exp(-x[0])) })
}

// Do computes the derivative in float64.
func (swishGrad) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return each(inputs, func(x []float64) float64 {
		s := 1 / (1 + math.Exp(-x[0]))
		return x[1] * s * (1 + x[0]*(1-s))
	})
}

// each applies f to the elements of float64 matrices.
func each(inputs []gorgonia.Value, f func(x []float64) float64) (gorgonia.Value, error) {
	first := inputs[0].Data().([]float64)
	out, x := make([]float64, len(first)), make([]float64, len(inputs))
	for i := range first {
		for k, v := range inputs {
			x[k] = v.Data().([]float64)[i]
		}
		out[i] = f(x)
	}
	return tensor.New(tensor.WithShape(inputs[0].Shape()...), tensor.WithBacking(out)), nil
}
