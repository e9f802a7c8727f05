package plan

import (
	"reflect"

	"gorgonia.org/gorgonia"

	"ppal/trainer/graph/describe"
)

// recognized describes a node's op in terms of values. If an op is not recognized, kind is zero and
// the importer sets opaqueKind.
type recognized struct {
	constant    bool
	kind        kind
	op          describe.Op
	trans       [2]bool
	vectors     [2]bool // operands of a product that are vectors
	axis        Axis
	column      int
	description describe.Description
	ignoreRest  bool // only the first child is data, the other children are sizes
}

// recognize classifies the op of a node: described ops by their descriptions, Gorgonia's ops, whose
// types are not exported, by the name of the type and its fields.
func recognize(n *gorgonia.Node) recognized {
	op := n.Op()
	if op == nil {
		return recognized{}
	}
	if d, ok := op.(describe.Described); ok {
		return ofDescription(d.Describe())
	}
	v := reflect.Indirect(reflect.ValueOf(op))
	if v.Kind() == reflect.Struct && v.Type().PkgPath() == "gorgonia.org/gorgonia" {
		if r, ok := ofGorgonia(v, n); ok {
			return r
		}
	}
	return recognized{kind: opaqueKind}
}

func ofDescription(t describe.Description) recognized {
	switch t := t.(type) {
	case describe.Elementwise:
		return recognized{kind: mapKind, description: t}
	case describe.AddBias:
		return recognized{kind: mapKind, op: describe.Add, description: t}
	case describe.ColumnSums:
		return recognized{kind: sumsKind, axis: OverRows, description: t}
	case describe.Columns:
		return recognized{kind: concatKind, description: t}
	case describe.Column:
		return recognized{kind: rangeKind, column: t.Index, description: t}
	case describe.MarginLoss:
		return recognized{kind: marginKind, description: t}
	case describe.MarginLossGrad:
		return recognized{kind: marginGrad, description: t}
	case describe.SignedLoss:
		return recognized{kind: signedKind, description: t}
	case describe.SignedLossGrad:
		return recognized{kind: signedGrad, description: t}
	case describe.GroupMeans:
		return recognized{kind: meansKind, description: t}
	case describe.GroupMeansGrad:
		return recognized{kind: meansGrad, description: t}
	}
	return recognized{kind: opaqueKind}
}

// ofGorgonia reads fields of an op by reflection and never calls its methods.
func ofGorgonia(v reflect.Value, n *gorgonia.Node) (recognized, bool) {
	dims := n.Dims()
	switch v.Type().Name() {
	case "constantScalar", "constantTensor", "sizeOp":
		return recognized{constant: true}, true
	case "linAlgBinOp":
		transA, transB := v.FieldByName("transA"), v.FieldByName("transB")
		kind := v.Field(0)
		if !transA.IsValid() || !transB.IsValid() || kind.Kind() != reflect.Uint8 {
			return recognized{}, false
		}
		return ofLinearAlgebra(kind.Uint(), [2]bool{transA.Bool(), transB.Bool()})
	case "elemBinOp":
		return ofBinary(v)
	case "elemUnaryOp":
		// The operator is a *sf32UnaryOperator or *sf64UnaryOperator. Only its name identifies the
		// function.
		op, ok := unaryNames()[n.Op().(interface{ String() string }).String()]
		return recognized{kind: mapKind, op: op}, ok
	case "sumOp":
		return ofSum(v.FieldByName("along"), v.FieldByName("d"))
	case "reshapeOp":
		return recognized{kind: reshapeKind}, true
	case "repeatOp":
		along, from := v.FieldByName("along"), v.FieldByName("inputShape")
		if dims > 2 || !along.IsValid() || !from.IsValid() {
			return recognized{}, false
		}
		if a := int(along.Int()); a < from.Len() && from.Index(a).Int() != 1 {
			return recognized{}, false // a tiling, not a broadcast
		}
		return recognized{kind: mapKind, op: describe.Identity, ignoreRest: true}, true
	}
	return recognized{}, false
}

// ofLinearAlgebra recognizes Gorgonia's matMul, matVecMul, vecDot and outerProd. kind follows the
// order of Gorgonia's constants. Vectors are columns in plans.
func ofLinearAlgebra(kind uint64, trans [2]bool) (recognized, bool) {
	r := recognized{kind: productKind, trans: trans}
	switch kind {
	case 0:
	case 1:
		r.vectors[1] = true
	case 2:
		r.trans, r.vectors = [2]bool{true, false}, [2]bool{true, true}
	case 3:
		r.trans, r.vectors = [2]bool{false, true}, [2]bool{true, true}
	default:
		return recognized{}, false
	}
	return r, true
}

func ofBinary(v reflect.Value) (recognized, bool) {
	operator := v.Field(0)
	if operator.Kind() != reflect.Interface || operator.IsNil() {
		return recognized{}, false
	}
	kind := reflect.Indirect(operator.Elem()).Field(0) // scalarBinOp and tBinOp embed it first
	if kind.Kind() != reflect.Uint8 || describe.Add+describe.Op(kind.Uint()) > describe.Ne {
		return recognized{}, false
	}
	op := describe.Add + describe.Op(kind.Uint())
	return recognized{kind: mapKind, op: op}, true
}

func ofSum(along, dims reflect.Value) (recognized, bool) {
	if !along.IsValid() || !dims.IsValid() {
		return recognized{}, false
	}
	switch {
	case along.Len() == int(dims.Int()):
		return recognized{kind: sumsKind, axis: OverAll}, true
	case dims.Int() != 2 || along.Len() != 1:
		return recognized{}, false
	case along.Index(0).Int() == 0:
		return recognized{kind: sumsKind, axis: OverRows}, true
	}
	return recognized{kind: sumsKind, axis: OverColumns}, true
}

// unaryNames returns the ops by Gorgonia's names of the functions, in the order of Gorgonia's
// constants.
func unaryNames() map[string]describe.Op {
	names := map[string]describe.Op{}
	for i, name := range []string{"abs", "sign", "ceil", "floor", "sin", "cos", "exp", "ln", "log2", "neg", "square", "sqrt",
		"inv", "invSqrt", "cube", "tanh", "sigmoid", "log1p", "expm1", "softplus"} {
		names[name] = describe.Op(i)
	}
	return names
}

// sizeAxis returns the axis whose size a sizeOp returns.
func sizeAxis(op gorgonia.Op) (int, bool) {
	v := reflect.Indirect(reflect.ValueOf(op))
	if v.Type().Name() != "sizeOp" {
		return 0, false
	}
	return int(v.FieldByName("axis").Int()), true
}
