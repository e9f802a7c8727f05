package predictor

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// ONNX's format (onnx.proto3) is a graph of operators with constants, encoded with protobuf's wire
// format.

// The versions of the format and of the operators: ONNX 1.12 and ai.onnx.ml 3, which ONNX Runtime
// reads since 1.12.
const (
	irVersion = 8
	opset     = 17
	opsetML   = 3
)

// Domain of the operators for classical machine learning.
const onnxML = "ai.onnx.ml"

// onnxType is the type of a tensor's elements, TensorProto.DataType.
type onnxType int32

// The types.
const (
	onnxFloat  onnxType = 1
	onnxUint8  onnxType = 2
	onnxInt64  onnxType = 7
	onnxString onnxType = 8
	onnxBool   onnxType = 9
	onnxDouble onnxType = 11
)

// onnxDim is a dimension of a tensor: a size, or the name of a size that a run decides.
type onnxDim struct {
	Size int64
	Name string
}

// onnxRows is the dimension of the rows.
var onnxRows = onnxDim{Name: "rows"}

// onnxSize returns a fixed dimension.
func onnxSize(n int) onnxDim { return onnxDim{Size: int64(n)} }

// onnxEncoder is a graph of operators under construction. Nodes must be added in their order of
// computation.
type onnxEncoder struct {
	Name string
	// Doc describes the model to its users.
	Doc string
	// Producer and Version name the program.
	Producer, Version string

	body []byte // of GraphProto
}

// The numbers of the messages' fields, from onnx.proto3.
const (
	modelIRVersion, modelProducer, modelVersion, modelDoc, modelBody, modelOpset = 1, 2, 3, 6, 7, 8
	opsetDomain, opsetVersion                                                    = 1, 2
	graphNode, graphName, graphInitializer, graphInput, graphOutput              = 1, 2, 5, 11, 12
	nodeInput, nodeOutput, nodeName, nodeOp, nodeAttribute, nodeDomain           = 1, 2, 3, 4, 5, 7
	attributeName, attributeInt, attributeInts, attributeStrings, attributeType  = 1, 3, 8, 9, 20
	typeInt, typeInts, typeStrings                                               = 2, 7, 8
	tensorDims, tensorType, tensorName, tensorRaw                                = 1, 2, 8, 9
	valueName, valueType, valueTensor, valueElement, valueShape                  = 1, 2, 1, 1, 2
	shapeDim, dimValue, dimName                                                  = 1, 1, 2
)

// Input adds an input.
func (g *onnxEncoder) Input(name string, element onnxType, shape ...onnxDim) {
	g.body = onnxMessage(g.body, graphInput, onnxValue(name, element, shape))
}

// Output adds an output, which a node computes.
func (g *onnxEncoder) Output(name string, element onnxType, shape ...onnxDim) {
	g.body = onnxMessage(g.body, graphOutput, onnxValue(name, element, shape))
}

// onnxAttribute is an attribute of a node: an int, or a list of ints or texts.
type onnxAttribute struct {
	Name string
	// one of int64, []int64, []string
	Value any
}

// Node adds a node. domain is "" for ONNX's own operators. The node has the name of its first
// output.
func (g *onnxEncoder) Node(op, domain string, inputs, outputs []string, attributes ...onnxAttribute) {
	var n []byte
	for _, name := range inputs {
		n = onnxText(n, nodeInput, name)
	}
	for _, name := range outputs {
		n = onnxText(n, nodeOutput, name)
	}
	n = onnxText(n, nodeName, outputs[0])
	n = onnxText(n, nodeOp, op)
	for _, a := range attributes {
		n = onnxMessage(n, nodeAttribute, a.encode())
	}
	if domain != "" {
		n = onnxText(n, nodeDomain, domain)
	}
	g.body = onnxMessage(g.body, graphNode, n)
}

// Doubles adds a constant of doubles.
func (g *onnxEncoder) Doubles(name string, data []float64, shape ...int) {
	raw := make([]byte, 0, 8*len(data))
	for _, x := range data {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(x))
	}
	g.constant(name, onnxDouble, raw, shape)
}

// Ints adds a constant of whole numbers.
func (g *onnxEncoder) Ints(name string, data []int64, shape ...int) {
	raw := make([]byte, 0, 8*len(data))
	for _, x := range data {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(x))
	}
	g.constant(name, onnxInt64, raw, shape)
}

func (g *onnxEncoder) constant(name string, element onnxType, raw []byte, shape []int) {
	var t []byte
	for _, n := range shape {
		t = onnxNumber(t, tensorDims, int64(n))
	}
	t = onnxNumber(t, tensorType, int64(element))
	t = onnxText(t, tensorName, name)
	g.body = onnxMessage(g.body, graphInitializer, onnxMessage(t, tensorRaw, raw))
}

// Encode returns the model's file.
func (g *onnxEncoder) Encode() []byte {
	m := onnxNumber(nil, modelIRVersion, irVersion)
	m = onnxText(m, modelProducer, g.Producer)
	m = onnxText(m, modelVersion, g.Version)
	m = onnxText(m, modelDoc, g.Doc)
	m = onnxMessage(m, modelBody, onnxText(g.body, graphName, g.Name))
	for _, set := range []struct {
		domain  string
		version int64
	}{{"", opset}, {onnxML, opsetML}} {
		m = onnxMessage(m, modelOpset, onnxNumber(onnxText(nil, opsetDomain, set.domain), opsetVersion, set.version))
	}
	return m
}

// onnxValue returns a ValueInfoProto of a tensor.
func onnxValue(name string, element onnxType, shape []onnxDim) []byte {
	var dims []byte
	for _, d := range shape {
		var dim []byte
		if d.Name != "" {
			dim = onnxText(nil, dimName, d.Name)
		} else {
			dim = onnxNumber(nil, dimValue, d.Size)
		}
		dims = onnxMessage(dims, shapeDim, dim)
	}
	tensor := onnxMessage(onnxNumber(nil, valueElement, int64(element)), valueShape, dims)
	return onnxMessage(onnxText(nil, valueName, name), valueType, onnxMessage(nil, valueTensor, tensor))
}

// encode returns an AttributeProto.
func (a onnxAttribute) encode() []byte {
	b := onnxText(nil, attributeName, a.Name)
	kind := int64(typeInt)
	switch v := a.Value.(type) {
	case int64:
		b = onnxNumber(b, attributeInt, v)
	case []int64:
		kind = typeInts
		for _, n := range v {
			b = onnxNumber(b, attributeInts, n)
		}
	case []string:
		kind = typeStrings
		for _, s := range v {
			b = onnxText(b, attributeStrings, s)
		}
	default:
		panic("onnx: an attribute of another type")
	}
	return onnxNumber(b, attributeType, kind)
}

// onnxMessage appends a field with bytes.
func onnxMessage(b []byte, field protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), content)
}

// onnxText appends a field with a text.
func onnxText(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

// onnxNumber appends a field with a whole number.
func onnxNumber(b []byte, field protowire.Number, n int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(n))
}
