package plan

import (
	"fmt"
	"reflect"
	"strings"

	"gorgonia.org/gorgonia"

	"ppal/trainer/graph/describe"
)

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
	case "maxOp", "maxPoolOp", "clampOp", "sparsemaxOp", "yoloOp":
		return Operation{Kinks: true}
	case "constantScalar", "constantTensor", "sizeOp", "reshapeOp", "repeatOp":
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
