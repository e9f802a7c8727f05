package plan

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

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
	case describe.PairMeans:
		return recognized{kind: pairsKind, description: t}
	case describe.PairMeansGrad:
		return recognized{kind: pairsGrad, description: t}
	case describe.Normalize:
		return recognized{kind: normKind, description: t}
	case describe.NormalizeGrad:
		return recognized{kind: normGrad, description: t}
	case describe.MaxPool:
		return recognized{kind: poolKind, description: t}
	case describe.MaxPoolGrad:
		return recognized{kind: poolGrad, description: t}
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

// checkDescription returns an error if a description does not fit the op's inputs.
func checkDescription(d describe.Description, in []*value) error {
	inputs, rows := 1, -1 // rows: the number of rows that the description expects
	switch d := d.(type) {
	case describe.Elementwise:
		if d.Expr == nil {
			return errors.New("described by an expression that is nil")
		}
		return d.Expr.Check(len(in))
	case describe.MarginLoss:
		rows = len(d.Labels)
	case describe.MarginLossGrad:
		inputs, rows = 2, len(d.Labels)
	case describe.SignedLoss:
		rows = len(d.Labels)
	case describe.SignedLossGrad:
		inputs, rows = 2, len(d.Labels)
	case describe.GroupMeans:
		rows = d.Rows
	case describe.PairMeans:
		rows = d.Documents
	case describe.PairMeansGrad:
		inputs, rows = 2, d.Documents
		if len(in) == 2 && in[1].size() != d.Cells() {
			return fmt.Errorf("described as %T of %d cells, but the second input has %d elements", d, d.Cells(), in[1].size())
		}
	case describe.AddBias:
		inputs = 2
	case describe.Normalize:
		return checkNormalization(d.Normalization, in, 1)
	case describe.NormalizeGrad:
		return checkNormalization(d.Normalization, in, 2)
	case describe.MaxPool:
		return checkPooling(d.Window, in, d.Pixels())
	case describe.MaxPoolGrad:
		return checkPooling(d.Window, in, d.Pixels(), d.Channels*d.Places())
	case describe.Columns:
		inputs = len(in)
	case describe.Column:
		if len(in) == 1 && (d.Index < 0 || d.Index >= in[0].cols) {
			return fmt.Errorf("described as column %d of %d", d.Index, in[0].cols)
		}
	}
	switch {
	case len(in) != inputs:
		return fmt.Errorf("described as %T, which takes %d inputs, but the op has %d", d, inputs, len(in))
	case rows >= 0 && in[0].rows != rows:
		return fmt.Errorf("described as %T of %d rows, but its input has %d", d, rows, in[0].rows)
	}
	return nil
}

// Operation says what is known of the op of a node before the node is differentiated.
type Operation struct {
	// Fault says why the op cannot be trained with, and what to use instead; "" for other ops.
	Fault string
	// Random says that Fault holds for values, too: each evaluation draws anew.
	Random bool
	// Lowered says that Fault holds for devices only.
	Lowered bool
	// Tested says that tests compare the op's derivative with differences, in all its forms.
	Tested bool
	// Kinks says that the value may have kinks where the inputs have none.
	Kinks bool
	// Product says that the op multiplies its inputs as matrices, or pictures by filters.
	Product bool
}

// nonSmooth is an op that declares whether it has kinks, as problem.NonSmooth.
type nonSmooth interface{ NonSmooth() bool }

// OperationOf returns what is known of the op of a node that has one. Gorgonia's ops are those of
// version 0.9.18. A user's op has kinks unless its description or its method NonSmooth says that it
// has none.
func OperationOf(n *gorgonia.Node) Operation {
	v := reflect.Indirect(reflect.ValueOf(n.Op()))
	path := v.Type().PkgPath()
	if path == "gorgonia.org/gorgonia" {
		return ofGorgoniasOp(v, n)
	}
	o := Operation{Kinks: true, Tested: strings.HasPrefix(path, "ppal/constraints") || strings.HasPrefix(path, "ppal/models")}
	if s, ok := n.Op().(nonSmooth); ok {
		o.Kinks = s.NonSmooth()
	} else if d, ok := n.Op().(describe.Described); ok {
		o.Kinks = kinked(d.Describe())
	}
	return o
}

// ofGorgoniasOp is OperationOf for Gorgonia's ops.
func ofGorgoniasOp(v reflect.Value, n *gorgonia.Node) Operation {
	const wrong = "its gradient is wrong in Gorgonia: use "
	switch v.Type().Name() {
	case "randomOp":
		return Operation{Random: true, Fault: "it draws new numbers at each evaluation, so that f and g are not functions of the parameters: draw once and use an input node"}
	case "dropoutOp":
		return Operation{Random: true, Fault: "it draws a new mask at each evaluation, so that f and g are not functions of the parameters and no certificate holds: " +
			"leave it out, and bound or regularise the weights instead"}
	case "avgPoolOp":
		return Operation{Fault: wrong + "graph.AveragePool2D"}
	case "globalAveragePoolOp":
		return Operation{Fault: "it has no gradient in Gorgonia: use graph.GlobalMean"}
	case "byIndicesOp":
		return Operation{Lowered: true, Fault: "devices compute with floats only: use graph.Embedding"}
	case "sumOp":
		if along, dims := v.FieldByName("along").Len(), int(v.FieldByName("d").Int()); along > 1 && along < dims {
			return Operation{Fault: fmt.Sprintf("the gradient of a sum or mean over %d of %d axes is wrong in Gorgonia: use graph.Sum or graph.Mean", along, dims)}
		}
		return Operation{Tested: true}
	case "elemUnaryOp":
		op, known := unaryNames()[n.Op().(interface{ String() string }).String()]
		switch {
		case known && op == describe.InverseSqrt:
			return Operation{Fault: wrong + "graph.InverseSqrt"}
		case known && op == describe.Log2:
			return Operation{Fault: wrong + "gorgonia.Log and divide by log 2"}
		}
		return Operation{Tested: known, Kinks: !known || op.Kinked()}
	case "elemBinOp":
		r, known := ofBinary(v)
		return Operation{Tested: known, Kinks: !known || r.op.Kinked()}
	case "linAlgBinOp":
		const outerProduct = 3 // see ofLinearAlgebra
		if kind := v.Field(0); kind.Kind() == reflect.Uint8 && kind.Uint() == outerProduct {
			return Operation{Fault: wrong + "gorgonia.Mul of a matrix of one column and a matrix of one row"}
		}
		return Operation{Tested: true, Product: true}
	case "tensordotOp":
		return Operation{Product: true}
	case "maxPoolOp":
		return Operation{Tested: true, Kinks: true}
	case "maxOp", "clampOp", "sparsemaxOp", "yoloOp":
		return Operation{Kinks: true}
	case "constantScalar", "constantTensor", "sizeOp", "reshapeOp", "repeatOp", "im2colOp", "transposeOp":
		return Operation{Tested: true}
	}
	return Operation{}
}

// kinked reports whether a described computation may have kinks.
func kinked(d describe.Description) bool {
	phi := func(phi describe.Surrogate) bool {
		s, ok := phi.(interface{ Smooth() bool })
		return !ok || !s.Smooth()
	}
	switch d := d.(type) {
	case describe.Elementwise:
		return d.Expr.Kinked()
	case describe.MarginLoss:
		return phi(d.Phi)
	case describe.MarginLossGrad:
		return phi(d.Phi)
	case describe.SignedLoss:
		return phi(d.Phi)
	case describe.SignedLossGrad:
		return phi(d.Phi)
	case describe.PairMeans:
		return phi(d.Phi)
	case describe.PairMeansGrad:
		return phi(d.Phi)
	case describe.MaxPool, describe.MaxPoolGrad:
		return true
	}
	return false
}

// Inputs returns the inputs of nodes of a graph. Gorgonia's own lists of a graph's edges miss nodes
// after Gorgonia has removed a node, as it does for log(1 - x), so Inputs reads the nodes.
type Inputs struct{ byID map[int64]*gorgonia.Node }

// InputsOf returns the Inputs of the nodes that a graph has at present.
func InputsOf(g *gorgonia.ExprGraph) Inputs {
	all := g.AllNodes()
	in := Inputs{make(map[int64]*gorgonia.Node, len(all))}
	for _, n := range all {
		in.byID[n.ID()] = n
	}
	return in
}

// Of returns the inputs of a node in order. It returns an error if they are not as many as the
// node's op takes.
func (in Inputs) Of(n *gorgonia.Node) (gorgonia.Nodes, error) {
	children := reflect.ValueOf(n).Elem().FieldByName("children")
	list := make(gorgonia.Nodes, children.Len())
	for i := range list {
		child := children.Index(i)
		if child.IsNil() {
			return nil, fmt.Errorf("input %d of node %d (%v) is nil", i, n.ID(), n)
		}
		if list[i] = in.byID[child.Elem().FieldByName("id").Int()]; list[i] == nil || list[i].ID() >= n.ID() { // Gorgonia uses removed nodes again
			return nil, fmt.Errorf("input %d of node %d (%v) is not in the graph any more: Gorgonia has removed it, "+
				"as it does when log(1+x) or log(1-x) becomes log1p: use the inner node only once", i, n.ID(), n)
		}
	}
	if n.Op() != nil && n.Op().Arity() > 0 && len(list) != n.Op().Arity() {
		return nil, fmt.Errorf("node %d (%v) has %d inputs, its op takes %d", n.ID(), n, len(list), n.Op().Arity())
	}
	return list, nil
}

// Compares reports whether the op of a node is a comparison of Gorgonia.
func Compares(n *gorgonia.Node) bool {
	r := recognize(n)
	return r.kind == mapKind && r.description == nil && describe.Lt <= r.op && r.op <= describe.Ne
}
