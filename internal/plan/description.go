package plan

import (
	"errors"
	"fmt"
)

// Described is a Gorgonia op with a description of its computation. Devices run a described op with
// their own kernels and fuse it with neighbouring ops. The CPU runs an op without a description
// through the op's method Do. The GPU refuses such an op. Package trainer/graph exports these types
// to users.
type Described interface{ Describe() Description }

// Description describes the computation of an op. It is one of the types of this file. A vector [n]
// counts as a matrix [n, 1].
type Description interface{ description() }

// ElementwiseOp applies the expression to the op's inputs, element by element. An input with a
// single row, or a single column, is broadcast to the shape of the result.
type ElementwiseOp struct{ Expr *Expr }

// AddBiasOp is Z [n, h], b [1, h] -> Z + 1 b.
type AddBiasOp struct{}

// ColumnSumsOp is D [n, h] -> 1^T D [1, h].
type ColumnSumsOp struct{}

// ColumnsOp is C matrices [n, 1] -> one [n, C].
type ColumnsOp struct{}

// ColumnOp is D [n, C] -> its column Index [n, 1].
type ColumnOp struct{ Index int }

// MarginLossOp is S [n, C] -> l [n].
type MarginLossOp struct{ Margins }

// MarginLossGradOp is S [n, C], dl [n] -> dS [n, C].
type MarginLossGradOp struct{ Margins }

// SignedLossOp is s [n] or [n, 1] -> l [n].
type SignedLossOp struct{ Signs }

// SignedLossGradOp is s, dl [n] -> ds of s's shape.
type SignedLossGradOp struct{ Signs }

// GroupMeansOp is l [n] -> M l - Offsets [G].
type GroupMeansOp struct {
	Groups
	Offsets []float64
}

// GroupMeansGradOp is w [G] -> M^T w [n].
type GroupMeansGradOp struct{ Groups }

func (ElementwiseOp) description()    {}
func (AddBiasOp) description()        {}
func (ColumnSumsOp) description()     {}
func (ColumnsOp) description()        {}
func (ColumnOp) description()         {}
func (MarginLossOp) description()     {}
func (MarginLossGradOp) description() {}
func (SignedLossOp) description()     {}
func (SignedLossGradOp) description() {}
func (GroupMeansOp) description()     {}
func (GroupMeansGradOp) description() {}

// Surrogate is a function of the margin. Devices have kernels for the names (String) sigmoid,
// logistic and hinge. Other surrogates run through their methods on the CPU, and the GPU refuses
// them.
type Surrogate interface {
	Value(y float64) float64
	Deriv(y float64) float64
	String() string
}

// Margins are the constants of the margin losses
// l_i = sum_{j != c_i} phi(S[i,c_i] - S[i,j]) with c_i = Labels[i].
type Margins struct {
	Labels  []int32
	Classes int
	Phi     Surrogate
}

// Signs are the constants of the losses l_i = phi(y_i s_i) with y_i = Labels[i],
// -1 or +1.
type Signs struct {
	Labels []int8
	Phi    Surrogate
}

// Groups is the sparse matrix M [G, n] of group memberships.
//
// If RowStarts is nil, group k consists of the rows Starts[k]..Starts[k+1]-1, each with the weight
// 1/(Starts[k+1]-Starts[k]). Otherwise row i has the pattern p = Patterns[i], or p = i if Patterns
// is nil: it is in the groups RowGroups[RowStarts[p]:RowStarts[p+1]], in increasing order. Its
// weights are the same range of RowWeights, or 1/(Starts[k+1]-Starts[k]) if RowWeights is nil. The
// patterns are different and numbered in the order of their first rows.
type Groups struct {
	Rows, Count int
	Starts      []int    // Count + 1
	Patterns    []uint16 // Rows, or nil
	RowStarts   []int    // patterns + 1
	RowGroups   []int32
	RowWeights  []float64
}

// checkDescription returns an error if a description does not fit the op's inputs.
func checkDescription(d Description, in []*value) error {
	inputs, rows := 1, -1 // rows: the number of rows that the description expects
	switch d := d.(type) {
	case ElementwiseOp:
		if d.Expr == nil {
			return errors.New("described by an expression that is nil")
		}
		return d.Expr.check(len(in))
	case MarginLossOp:
		rows = len(d.Labels)
	case MarginLossGradOp:
		inputs, rows = 2, len(d.Labels)
	case SignedLossOp:
		rows = len(d.Labels)
	case SignedLossGradOp:
		inputs, rows = 2, len(d.Labels)
	case GroupMeansOp:
		rows = d.Rows
	case AddBiasOp:
		inputs = 2
	case ColumnsOp:
		inputs = len(in)
	case ColumnOp:
		if len(in) == 1 && (d.Index < 0 || d.Index >= in[0].cols) {
			return fmt.Errorf("described as column %d of %d", d.Index, in[0].cols)
		}
	}
	switch {
	case len(in) != inputs:
		return fmt.Errorf("described as %T, of %d inputs, and has %d", d, inputs, len(in))
	case rows >= 0 && in[0].rows != rows:
		return fmt.Errorf("described as %T of %d rows, and its input has %d", d, rows, in[0].rows)
	}
	return nil
}

// size returns the number of rows of group k.
func (g Groups) size(k int) float64 { return float64(g.Starts[k+1] - g.Starts[k]) }

// Of returns the range of the entries of row i, if RowStarts is not nil.
func (g Groups) Of(i int) (from, to int) {
	if g.Patterns != nil {
		i = int(g.Patterns[i])
	}
	return g.RowStarts[i], g.RowStarts[i+1]
}

// Entries returns the number of entries of all rows, if RowStarts is not nil.
func (g Groups) Entries() int {
	if g.Patterns == nil {
		return len(g.RowGroups)
	}
	return g.Starts[g.Count] - g.Starts[0]
}
