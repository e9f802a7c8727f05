package plan

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
)

// Plan is what a device runs: first Forward, then, as often as wanted, Backward.
type Plan struct {
	Dtype    tensor.Dtype // of every buffer: Float32 or Float64
	Buffers  []Buffer     // a View names its buffer by the index here
	Forward  []Region
	Backward []Region

	// The inputs and outputs, in the order of the Source. Coefficients are set before Backward.
	// Every gradient has a buffer of its own.
	Parameters, Inputs, Coefficients, Gradients, Watched, Constraints []View
	Objective                                                         View
	// Data are the matrices of Inputs that are read a block of rows at a time; an entry is nil if the
	// input node has a value.
	Data []matrix.Matrix

	// Slots are the sizes, in elements, of the storage that Kept and Temporary
	// buffers live in. Scratch are the widths, in columns, of the storage for a
	// block of rows that Local buffers live in: each worker needs its own.
	Slots, Scratch []int
}

// DataOf returns the matrix of a buffer, nil where it has a node's value.
func (p *Plan) DataOf(buffer int) matrix.Matrix {
	for i, v := range p.Inputs {
		if v.Buffer == buffer && i < len(p.Data) {
			return p.Data[i]
		}
	}
	return nil
}

// Region is a run of steps. With Rows > 0 its steps are row-wise or reductions
// over Rows rows and may be run block by block; with Rows = 0 they are run one
// after the other, each whole.
type Region struct {
	Rows  int
	Steps []Step
}

// Class says where a buffer's memory comes from and how long it lives.
type Class uint8

// The classes of buffers.
const (
	Parameter   Class = iota // bound by the device: the iterate's part
	Leaf                     // an input node's value: data, or what is exchanged
	Constant                 // values fixed in the graph: Buffer.Values
	Coefficient              // bound or written by the device before Backward
	Gradient                 // written by Backward only; may be bound to where it is wanted
	Kept                     // a slot of its own: written by Forward, valid until the next
	Temporary                // a slot shared with others, within one half
	Local                    // a scratch slot, for one block of one region's rows
)

// String names the class.
func (c Class) String() string {
	return [...]string{"parameter", "leaf", "constant", "coefficient", "gradient", "kept", "temporary", "local"}[c]
}

// Buffer is a row-major matrix of the plan's dtype without gaps.
type Buffer struct {
	Name       string
	Class      Class
	Rows, Cols int
	RowWise    bool // the rows are the data's rows

	Slot   int            // index in Plan.Slots (Kept, Temporary) or Plan.Scratch (Local)
	Node   *gorgonia.Node // of Parameter, Leaf and Coefficient
	Values []float64      // of Constant
}

// Len is the number of elements.
func (b Buffer) Len() int { return b.Rows * b.Cols }

// View is a matrix inside a buffer: element (i, j) is at Offset + i Stride + j.
type View struct {
	Buffer, Offset, Stride int
	Rows, Cols             int
}

// Len is the number of elements.
func (v View) Len() int { return v.Rows * v.Cols }

// Access says which rows of a matrix a step touches for a block of rows.
type Access uint8

// The ways of access.
const (
	ByRow Access = iota // reads or writes the block's rows
	Whole               // reads or writes all of it, whatever the block
	Sum                 // a reduction's result: complete after the region
)

// Operand is one of a step's matrices.
type Operand struct {
	View
	Access Access
}

// Step is one of *Product, *BiasActivation, *ActivationGrad, *Map, *Copy, *Sums, *MarginLoss,
// *MarginLossGrad, *SignedLoss, *SignedLossGrad, *GroupMeans, *GroupMeansGrad and *Opaque. The
// access of its operands holds for a step in a region with rows; outside of such regions a step
// runs whole.
type Step interface {
	// Reads and Writes are the matrices. One that is added to is in both.
	Reads() []Operand
	Writes() []Operand
	// FLOPs counts the arithmetic: 2 for a multiply-add, 1 for a function.
	FLOPs() int64
	// Nodes are the ids of the Gorgonia nodes that the step computes.
	Nodes() []int64
	// String is the step's formula over its operands' buffers.
	String() string
}

// Source is what a plan is made from: nodes of one graph and one dtype, both
// outputs and inputs, and the gradients in the order of the parameters.
type Source struct {
	Graph        *gorgonia.ExprGraph
	Dtype        tensor.Dtype
	Objective    *gorgonia.Node
	Constraints  gorgonia.Nodes
	Watched      gorgonia.Nodes
	Parameters   gorgonia.Nodes
	Inputs       gorgonia.Nodes  // input nodes whose values may be exchanged
	Data         []matrix.Matrix // of the inputs, in place of values; nil, or entries that are nil: the nodes' values
	Coefficients gorgonia.Nodes  // the backward half's inputs
	Gradients    gorgonia.Nodes
}

// Lower makes the plan. It fails where the graph holds values that are neither
// float32 nor float64, or mixes them.
func Lower(s Source) (*Plan, error) {
	g, err := importGraph(s)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	g.foldConstants()
	g.virtualBroadcasts()
	g.simplifyActivations()
	g.mergeSiblings()
	g.accumulate()
	g.isolateOutputs()
	g.fuse()
	p := g.place(g.schedule())
	p.Data = s.Data
	p.CountEntries()
	return p, nil
}
