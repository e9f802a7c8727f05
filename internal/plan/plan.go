package plan

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
)

// Plan lists the steps that a device runs: Forward, and then Backward any number of times.
type Plan struct {
	Dtype    tensor.Dtype // of every buffer: Float32 or Float64
	Buffers  []Buffer     // a View names its buffer by the index here
	Forward  []Region
	Backward []Region

	// Views of the inputs and outputs, in the order of the Source. The caller sets the coefficients
	// before Backward. Every gradient has a separate buffer.
	Parameters, Inputs, Coefficients, Gradients, Watched, Constraints []View
	Objective                                                         View
	// Data are the matrices of Inputs that steps read a block of rows at a time. An entry is nil if
	// the input node has a value.
	Data []matrix.Matrix

	// Slots lists the sizes, in elements, of the storage of Kept and Temporary buffers. Scratch
	// lists the widths, in columns, of the storage of Local buffers for a block of rows. Each
	// worker needs separate scratch storage.
	Slots, Scratch []int
}

// LeastBytes returns the memory of the plan's buffers in bytes, without parameters, data and the
// scratch storage of the workers. Every device allocates at least this memory.
func (p *Plan) LeastBytes() uint64 {
	elements := uint64(0)
	for _, n := range p.Slots {
		elements += uint64(n)
	}
	if p.Dtype == tensor.Float32 {
		return 4 * elements
	}
	return 8 * elements
}

// DataOf returns the matrix of a buffer, or nil if the buffer holds a node's value.
func (p *Plan) DataOf(buffer int) matrix.Matrix {
	for i, v := range p.Inputs {
		if v.Buffer == buffer && i < len(p.Data) {
			return p.Data[i]
		}
	}
	return nil
}

// Region is a sequence of steps. With Rows > 0 its steps are row-wise or reductions over Rows rows,
// and may run block by block. With Rows = 0 the steps run one after the other, each as a whole.
type Region struct {
	Rows  int
	Steps []Step
}

// Class says where a buffer's memory comes from and how long it lives.
type Class uint8

// The classes of buffers.
const (
	Parameter   Class = iota // bound by the device to a part of the iterate
	Leaf                     // value of an input node: data, or an input that Bind exchanges
	Constant                 // values fixed in the graph: Buffer.Values
	Coefficient              // bound or written by the device before Backward
	Gradient                 // written only by Backward; may be bound to other memory
	Kept                     // a separate slot: written by Forward, valid until the next Forward
	Temporary                // a shared slot, within one half
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

// Len returns the number of elements.
func (b Buffer) Len() int { return b.Rows * b.Cols }

// View is a matrix inside a buffer: element (i, j) is at Offset + i Stride + j.
type View struct {
	Buffer, Offset, Stride int
	Rows, Cols             int
}

// Len returns the number of elements.
func (v View) Len() int { return v.Rows * v.Cols }

// Access says which rows of a matrix a step accesses for a block of rows.
type Access uint8

// The kinds of access.
const (
	ByRow Access = iota // reads or writes the block's rows
	Whole               // reads or writes all rows for every block
	Sum                 // a reduction's result: complete after the region
)

// Operand is a matrix that a step reads or writes.
type Operand struct {
	View
	Access Access
}

// Step is one of *Product, *BiasActivation, *ActivationGrad, *Map, *Copy, *Sums, *MarginLoss,
// *MarginLossGrad, *SignedLoss, *SignedLossGrad, *GroupMeans, *GroupMeansGrad, *PairMeans,
// *PairMeansGrad, *Convolution, *ConvolutionInputGrad, *ConvolutionFilterGrad, *MaxPool,
// *MaxPoolGrad, *Normalize, *NormalizeGrad and *Opaque. The access of its operands applies to a
// step in a region with rows. In other regions a step runs as a whole.
type Step interface {
	// Reads and Writes return the operands. A matrix that the step adds to is in both lists.
	Reads() []Operand
	Writes() []Operand
	// FLOPs counts the arithmetic: 2 for a multiply-add, 1 for a function.
	FLOPs() int64
	// Nodes returns the ids of the Gorgonia nodes that the step computes.
	Nodes() []int64
	// String returns the step's formula over its operands' buffers.
	String() string
}

// Source is the input of Lower: nodes of a single graph and dtype. It lists the outputs, the
// inputs, and the gradients in the order of the parameters.
type Source struct {
	Graph        *gorgonia.ExprGraph
	Dtype        tensor.Dtype
	Objective    *gorgonia.Node
	Constraints  gorgonia.Nodes
	Watched      gorgonia.Nodes
	Parameters   gorgonia.Nodes
	Inputs       gorgonia.Nodes  // input nodes whose values Bind may exchange
	Data         []matrix.Matrix // matrices that replace the inputs' values; nil entries keep the nodes' values
	Coefficients gorgonia.Nodes  // the backward half's inputs
	Gradients    gorgonia.Nodes
	KeptBytes    int // see LayerKeeper; 0: 256 MiB
}

// Lower returns the plan of the source. It returns an error if the graph contains values that are
// neither float32 nor float64, or mixes both.
func Lower(s Source) (*Plan, error) {
	g, err := importGraph(s)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	g.recognizePictures()
	g.skipReshapes()
	g.foldConstants()
	g.virtualBroadcasts()
	g.simplifyActivations()
	g.mergeSiblings()
	g.accumulate()
	g.isolateOutputs()
	g.fuse()
	g.recompute()
	p := g.place(g.schedule())
	p.Data = s.Data
	p.CountEntries()
	return p, nil
}

// CountEntries sets the number of entries of each product whose factor is a whole sparse matrix.
// Lower calls CountEntries.
func (p *Plan) CountEntries() {
	for _, r := range slices.Concat(p.Forward, p.Backward) {
		for _, s := range r.Steps {
			if s, ok := s.(*Product); ok {
				if x := p.sparseOf(s.A); x != nil {
					s.Sparse, s.Entries = true, entries(x)
				}
			}
		}
	}
}

// sparseOf returns the sparse matrix if the view covers the whole matrix, else nil.
func (p *Plan) sparseOf(v View) matrix.Sparse {
	if x, ok := p.DataOf(v.Buffer).(matrix.Sparse); ok && v.Len() == p.Buffers[v.Buffer].Len() {
		return x
	}
	return nil
}

// entries returns the number of entries of a sparse matrix, which may be a window of rows of a
// larger matrix.
func entries(x matrix.Sparse) int {
	starts, _, _ := x.Entries()
	if len(starts) == 0 { // malformed; the device reports the error
		return 0
	}
	return starts[len(starts)-1] - starts[0]
}

// sparseBytes returns the memory of a sparse matrix whose values have size bytes.
func sparseBytes(x matrix.Sparse, size int64) int64 {
	starts, _, values := x.Entries()
	entry := int64(4)
	if values != nil {
		entry += size
	}
	return 8*int64(len(starts)) + entry*int64(entries(x))
}

// bytes returns the number of bytes that a step reads and writes.
func (p *Plan) bytes(s Step) int64 {
	var n int64
	size := int64(p.Dtype.Size())
	for _, o := range append(s.Reads(), s.Writes()...) {
		product, ok := s.(*Product)
		if x := p.sparseOf(o.View); x != nil && ok && product.Sparse && o.View == product.A {
			n += sparseBytes(x, size)
			continue
		}
		n += size * int64(o.Len())
	}
	return n
}
