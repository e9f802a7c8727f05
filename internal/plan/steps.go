package plan

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/trainer/graph/describe"
)

// Axis is the direction of sums.
type Axis uint8

// The axes.
const (
	OverRows    Axis = iota // column sums [1, c]
	OverColumns             // row sums [r, 1]
	OverAll                 // one number
)

// nodes are the ids of the Gorgonia nodes that a step computes.
type nodes []int64

// Nodes implements Step.
func (n nodes) Nodes() []int64 { return n }

// Product is Out = A B, or A^T B, A B^T, A^T B^T. Add adds the product to Out.
//
//	for i, j: sum = 0; for l: sum += A[i,l] B[l,j]; Out[i,j] = sum (+ Out[i,j])
//
// In a region, A B is row-wise and reads all of B, and A^T B is a reduction. If A is sparse data
// (Sparse), a device may skip the elements that are not entries, because these elements are 0.
type Product struct {
	nodes
	A, B, Out      View
	TransA, TransB bool
	Add            bool
	Sparse         bool // A has Entries entries
	Entries        int
}

// Map is Out[i,j] = Expr(Args[0][i,j], ...). An operand with a single row, or a single column, is
// broadcast to the shape of Out. If an operand is Out itself, the pass runs in place.
type Map struct {
	nodes
	Expr *describe.Expr
	Args []View
	Out  View
}

// Copy is To[i,j] = From[i,j].
type Copy struct {
	nodes
	From, To View
}

// Sums are the sums of In over an axis, accumulated in float64 in a fixed order.
//
//	OverRows: Out[0,j] = sum_i In[i,j]   OverColumns: Out[i,0] = sum_j In[i,j]   OverAll: both
type Sums struct {
	nodes
	Over    Axis
	In, Out View
}

// MarginLoss is Out[i] = sum_{j != c} phi(S[i,c] - S[i,j]), c = Labels[i]. Equal
// scores have margin 0, infinite ones too. Margins and sums are in float64.
type MarginLoss struct {
	nodes
	describe.Margins
	S, Out View
}

// MarginLossGrad is the derivative of MarginLoss times dl = D[i]:
//
//	Out[i,j] = -dl phi'(S[i,c] - S[i,j]) for j != c;   Out[i,c] = dl sum_{j != c} phi'(...)
type MarginLossGrad struct {
	nodes
	describe.Margins
	S, D, Out View
}

// GroupMeans is Out = M In - Offsets, sums in float64 in the rows' order.
type GroupMeans struct {
	nodes
	describe.Groups
	Offsets []float64
	In, Out View
}

// GroupMeansGrad is Out = M^T W. Add adds the product to Out.
//
//	Out[i] = sum over the groups k of row i of (weight of i in k) W[k]
type GroupMeansGrad struct {
	nodes
	describe.Groups
	W, Out View
	Add    bool
}

// Opaque is an op that the plan does not know: Out = Op.Do(Args...). The arguments are dense
// tensors of Shapes.
type Opaque struct {
	nodes
	Op     gorgonia.Op
	Args   []View
	Shapes []tensor.Shape
	Out    View
}

func read(v View, a Access) Operand { return Operand{v, a} }

// Reads implements Step.
func (s *Product) Reads() []Operand {
	r := []Operand{read(s.A, ByRow), read(s.B, ByRow)}
	if !s.TransA {
		r[1].Access = Whole
	}
	if s.Add {
		r = append(r, s.Writes()...)
	}
	return r
}

// Writes implements Step.
func (s *Product) Writes() []Operand {
	if s.TransA {
		return []Operand{{s.Out, Sum}}
	}
	return []Operand{{s.Out, ByRow}}
}

// FLOPs implements Step.
func (s *Product) FLOPs() int64 {
	if s.Sparse {
		return 2 * int64(s.Entries) * int64(s.Out.Cols)
	}
	return 2 * int64(s.Out.Len()) * int64(s.Inner())
}

// Inner returns the number of terms in each sum of a product.
func (s *Product) Inner() int {
	if s.TransA {
		return s.A.Rows
	}
	return s.A.Cols
}

// Reads implements Step.
func (s *Map) Reads() []Operand {
	var list []Operand
	for _, a := range s.Args {
		o := read(a, ByRow)
		if a.Rows != s.Out.Rows {
			o.Access = Whole
		}
		list = append(list, o)
	}
	return list
}

// Writes implements Step.
func (s *Map) Writes() []Operand { return []Operand{{s.Out, ByRow}} }

// FLOPs implements Step.
func (s *Map) FLOPs() int64 { return s.Expr.FLOPs() * int64(s.Out.Len()) }

// Reads implements Step.
func (s *Copy) Reads() []Operand { return []Operand{{s.From, ByRow}} }

// Writes implements Step.
func (s *Copy) Writes() []Operand { return []Operand{{s.To, ByRow}} }

// FLOPs implements Step.
func (s *Copy) FLOPs() int64 { return 0 }

// Reads implements Step.
func (s *Sums) Reads() []Operand { return []Operand{{s.In, ByRow}} }

// Writes implements Step.
func (s *Sums) Writes() []Operand {
	if s.Over == OverColumns {
		return []Operand{{s.Out, ByRow}}
	}
	return []Operand{{s.Out, Sum}}
}

// FLOPs implements Step.
func (s *Sums) FLOPs() int64 { return int64(s.In.Len()) }

// Reads implements Step.
func (s *MarginLoss) Reads() []Operand { return []Operand{{s.S, ByRow}} }

// Writes implements Step.
func (s *MarginLoss) Writes() []Operand { return []Operand{{s.Out, ByRow}} }

// FLOPs implements Step.
func (s *MarginLoss) FLOPs() int64 { return 3 * int64(s.S.Len()) }

// Reads implements Step.
func (s *MarginLossGrad) Reads() []Operand { return []Operand{{s.S, ByRow}, {s.D, ByRow}} }

// Writes implements Step.
func (s *MarginLossGrad) Writes() []Operand { return []Operand{{s.Out, ByRow}} }

// FLOPs implements Step.
func (s *MarginLossGrad) FLOPs() int64 { return 4 * int64(s.S.Len()) }

// Reads implements Step.
func (s *GroupMeans) Reads() []Operand { return []Operand{{s.In, ByRow}} }

// Writes implements Step.
func (s *GroupMeans) Writes() []Operand { return []Operand{{s.Out, Sum}} }

// FLOPs implements Step.
func (s *GroupMeans) FLOPs() int64 { return memberships(&s.Groups) }

// memberships returns the number of entries of M.
func memberships(g *describe.Groups) int64 { return int64(g.Starts[g.Count] - g.Starts[0]) }

// Reads implements Step.
func (s *GroupMeansGrad) Reads() []Operand {
	r := []Operand{{s.W, Whole}}
	if s.Add {
		r = append(r, s.Writes()...)
	}
	return r
}

// Writes implements Step.
func (s *GroupMeansGrad) Writes() []Operand { return []Operand{{s.Out, ByRow}} }

// FLOPs implements Step.
func (s *GroupMeansGrad) FLOPs() int64 { return memberships(&s.Groups) }

// Reads implements Step.
func (s *Opaque) Reads() []Operand {
	var list []Operand
	for _, a := range s.Args {
		list = append(list, read(a, Whole))
	}
	return list
}

// Writes implements Step.
func (s *Opaque) Writes() []Operand { return []Operand{{s.Out, Whole}} }

// FLOPs implements Step. The arithmetic is not known, so it returns 0.
func (s *Opaque) FLOPs() int64 { return 0 }

func (s *Product) String() string {
	f := operand(s.A) + trans(s.TransA) + " " + operand(s.B) + trans(s.TransB)
	return assign(s.Out, f, s.Add)
}

func (s *Map) String() string {
	f := s.Expr.String()
	for i, a := range s.Args {
		if i == 0 {
			f += " with"
		}
		f += fmt.Sprintf(" $%d = %s", i, operand(a))
	}
	return assign(s.Out, f, false)
}

func (s *Copy) String() string { return assign(s.To, operand(s.From), false) }

func (s *Sums) String() string {
	return assign(s.Out, [...]string{"columnsums", "rowsums", "sum"}[s.Over]+"("+operand(s.In)+")", false)
}

func (s *MarginLoss) String() string {
	return assign(s.Out, fmt.Sprintf("marginloss %v(%s)", s.Phi, operand(s.S)), false)
}

func (s *MarginLossGrad) String() string {
	return assign(s.Out, fmt.Sprintf("marginloss' %v(%s, %s)", s.Phi, operand(s.S), operand(s.D)), false)
}

func (s *GroupMeans) String() string {
	return assign(s.Out, fmt.Sprintf("M[%dx%d] %s - offsets", s.Count, s.Rows, operand(s.In)), false)
}

func (s *GroupMeansGrad) String() string {
	return assign(s.Out, fmt.Sprintf("M[%dx%d]ᵀ %s", s.Count, s.Rows, operand(s.W)), s.Add)
}

func (s *Opaque) String() string {
	f := s.Op.String()
	for _, a := range s.Args {
		f += " " + operand(a)
	}
	return assign(s.Out, f+" (by Gorgonia, on one core)", false)
}

func assign(out View, formula string, add bool) string {
	if add {
		return operand(out) + " += " + formula
	}
	return operand(out) + " = " + formula
}

func trans(t bool) string {
	if t {
		return "ᵀ"
	}
	return ""
}

// operand names a view by its buffer, and adds the columns if the view is only a part of the
// buffer.
func operand(v View) string {
	name := fmt.Sprintf("b%d", v.Buffer)
	if v.Stride != v.Cols || v.Offset > 0 {
		name += fmt.Sprintf("[%d:%d]", v.Offset, v.Offset+v.Cols)
	}
	return name
}

// SignedLoss is Out[i] = phi(y S[i]), y = Labels[i] = -1 or +1, in float64.
type SignedLoss struct {
	nodes
	describe.Signs
	S, Out View
}

// SignedLossGrad is the derivative of SignedLoss times D[i]. Add adds the result to Out.
//
//	Out[i] = D[i] y phi'(y S[i]) (+ Out[i])
type SignedLossGrad struct {
	nodes
	describe.Signs
	S, D, Out View
	Add       bool
}

// Reads implements Step.
func (s *SignedLoss) Reads() []Operand { return []Operand{{s.S, ByRow}} }

// Writes implements Step.
func (s *SignedLoss) Writes() []Operand { return []Operand{{s.Out, ByRow}} }

// FLOPs implements Step.
func (s *SignedLoss) FLOPs() int64 { return 2 * int64(s.S.Len()) }

// Reads implements Step.
func (s *SignedLossGrad) Reads() []Operand {
	r := []Operand{{s.S, ByRow}, {s.D, ByRow}}
	if s.Add {
		r = append(r, s.Writes()...)
	}
	return r
}

// Writes implements Step.
func (s *SignedLossGrad) Writes() []Operand { return []Operand{{s.Out, ByRow}} }

// FLOPs implements Step.
func (s *SignedLossGrad) FLOPs() int64 { return 3 * int64(s.S.Len()) }

func (s *SignedLoss) String() string {
	return assign(s.Out, fmt.Sprintf("signedloss %v(%s)", s.Phi, operand(s.S)), false)
}

func (s *SignedLossGrad) String() string {
	return assign(s.Out, fmt.Sprintf("signedloss' %v(%s, %s)", s.Phi, operand(s.S), operand(s.D)), s.Add)
}

func signedLosses[T Float](s *SignedLoss, m *Memory[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		y := float64(s.Labels[i])
		m.Row(s.Out, i)[0] = T(s.Phi.Value(y * float64(m.Row(s.S, i)[0])))
	}
}

func signedLossGrads[T Float](s *SignedLossGrad, m *Memory[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		out, y := m.Row(s.Out, i), float64(s.Labels[i])
		d := float64(m.Row(s.D, i)[0]) * y * s.Phi.Deriv(y*float64(m.Row(s.S, i)[0]))
		if s.Add {
			d += float64(out[0])
		}
		out[0] = T(d)
	}
}
