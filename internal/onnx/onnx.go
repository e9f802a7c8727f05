// Package onnx writes models in ONNX's format (onnx.proto3): a graph of operators with constants,
// encoded with protobuf's wire format.
package onnx

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The versions of the format and of the operators: ONNX 1.12 and ai.onnx.ml 3, which ONNX Runtime
// reads since 1.12.
const (
	irVersion = 8
	opset     = 17
	opsetML   = 3
)

// Domain of the operators for classical machine learning.
const ML = "ai.onnx.ml"

// Type is the type of a tensor's elements, TensorProto.DataType.
type Type int32

// The types.
const (
	Float  Type = 1
	Uint8  Type = 2
	Int64  Type = 7
	String Type = 8
	Bool   Type = 9
	Double Type = 11
)

// Dim is a dimension of a tensor: a size, or the name of a size that a run decides.
type Dim struct {
	Size int64
	Name string
}

// Rows is the dimension of the rows.
var Rows = Dim{Name: "rows"}

// Size returns a fixed dimension.
func Size(n int) Dim { return Dim{Size: int64(n)} }

// Graph is a graph of operators under construction. Nodes must be added in their order of
// computation.
type Graph struct {
	Name string
	// Doc describes the model to its users.
	Doc string
	// Producer and Version name the program.
	Producer, Version string

	body []byte // of GraphProto
}

// The numbers of the messages' fields, from onnx.proto3.
const (
	modelIRVersion, modelProducer, modelVersion, modelDoc, modelGraph, modelOpset = 1, 2, 3, 6, 7, 8
	opsetDomain, opsetVersion                                                     = 1, 2
	graphNode, graphName, graphInitializer, graphInput, graphOutput               = 1, 2, 5, 11, 12
	nodeInput, nodeOutput, nodeName, nodeOp, nodeAttribute, nodeDomain            = 1, 2, 3, 4, 5, 7
	attributeName, attributeInt, attributeInts, attributeStrings, attributeType   = 1, 3, 8, 9, 20
	typeInt, typeInts, typeStrings                                                = 2, 7, 8
	tensorDims, tensorType, tensorName, tensorRaw                                 = 1, 2, 8, 9
	valueName, valueType, valueTensor, valueElement, valueShape                   = 1, 2, 1, 1, 2
	shapeDim, dimValue, dimName                                                   = 1, 1, 2
)

// Input adds an input.
func (g *Graph) Input(name string, element Type, shape ...Dim) {
	g.body = message(g.body, graphInput, valueInfo(name, element, shape))
}

// Output adds an output, which a node computes.
func (g *Graph) Output(name string, element Type, shape ...Dim) {
	g.body = message(g.body, graphOutput, valueInfo(name, element, shape))
}

// Attribute is an attribute of a node: an int, or a list of ints or texts.
type Attribute struct {
	Name string
	// one of int64, []int64, []string
	Value any
}

// Node adds a node. domain is "" for ONNX's own operators. The node has the name of its first
// output.
func (g *Graph) Node(op, domain string, inputs, outputs []string, attributes ...Attribute) {
	var n []byte
	for _, name := range inputs {
		n = text(n, nodeInput, name)
	}
	for _, name := range outputs {
		n = text(n, nodeOutput, name)
	}
	n = text(n, nodeName, outputs[0])
	n = text(n, nodeOp, op)
	for _, a := range attributes {
		n = message(n, nodeAttribute, a.encode())
	}
	if domain != "" {
		n = text(n, nodeDomain, domain)
	}
	g.body = message(g.body, graphNode, n)
}

// Doubles adds a constant of doubles.
func (g *Graph) Doubles(name string, data []float64, shape ...int) {
	raw := make([]byte, 0, 8*len(data))
	for _, x := range data {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(x))
	}
	g.constant(name, Double, raw, shape)
}

// Ints adds a constant of whole numbers.
func (g *Graph) Ints(name string, data []int64, shape ...int) {
	raw := make([]byte, 0, 8*len(data))
	for _, x := range data {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(x))
	}
	g.constant(name, Int64, raw, shape)
}

func (g *Graph) constant(name string, element Type, raw []byte, shape []int) {
	var t []byte
	for _, n := range shape {
		t = number(t, tensorDims, int64(n))
	}
	t = number(t, tensorType, int64(element))
	t = text(t, tensorName, name)
	g.body = message(g.body, graphInitializer, message(t, tensorRaw, raw))
}

// Encode returns the model's file.
func (g *Graph) Encode() []byte {
	m := number(nil, modelIRVersion, irVersion)
	m = text(m, modelProducer, g.Producer)
	m = text(m, modelVersion, g.Version)
	m = text(m, modelDoc, g.Doc)
	m = message(m, modelGraph, text(g.body, graphName, g.Name))
	for _, set := range []struct {
		domain  string
		version int64
	}{{"", opset}, {ML, opsetML}} {
		m = message(m, modelOpset, number(text(nil, opsetDomain, set.domain), opsetVersion, set.version))
	}
	return m
}

// valueInfo returns a ValueInfoProto of a tensor.
func valueInfo(name string, element Type, shape []Dim) []byte {
	var dims []byte
	for _, d := range shape {
		var dim []byte
		if d.Name != "" {
			dim = text(nil, dimName, d.Name)
		} else {
			dim = number(nil, dimValue, d.Size)
		}
		dims = message(dims, shapeDim, dim)
	}
	tensor := message(number(nil, valueElement, int64(element)), valueShape, dims)
	return message(text(nil, valueName, name), valueType, message(nil, valueTensor, tensor))
}

// encode returns an AttributeProto.
func (a Attribute) encode() []byte {
	b := text(nil, attributeName, a.Name)
	kind := int64(typeInt)
	switch v := a.Value.(type) {
	case int64:
		b = number(b, attributeInt, v)
	case []int64:
		kind = typeInts
		for _, n := range v {
			b = number(b, attributeInts, n)
		}
	case []string:
		kind = typeStrings
		for _, s := range v {
			b = text(b, attributeStrings, s)
		}
	default:
		panic("onnx: an attribute of another type")
	}
	return number(b, attributeType, kind)
}

// message appends a field with bytes.
func message(b []byte, field protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), content)
}

// text appends a field with a text.
func text(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

// number appends a field with a whole number.
func number(b []byte, field protowire.Number, n int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(n))
}
