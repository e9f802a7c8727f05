// Package describe has the types by which a Gorgonia op describes its computation to devices. A
// device runs a described op with its own kernels, fused with other steps. If an op is not
// described, the CPU calls its Do on one core, and the GPU returns an error.
package describe

// Described is a Gorgonia op that describes its computation. The op's Do and SymDiff are the
// reference.
type Described interface{ Describe() Description }

// Description describes the computation of an op. It is one of the types below, PairMeans or
// PairMeansGrad. A vector [n] counts as a matrix [n, 1].
type Description interface{ description() }

// Elementwise applies the expression, which Op.Of builds, to the op's inputs, element
// by element. An input with a single row, or a single column, is broadcast to the shape of the
// result.
type Elementwise struct{ Expr *Expr }

// AddBias is Z [n, h], b [1, h] -> Z + 1 b.
type AddBias struct{}

// ColumnSums is D [n, h] -> 1^T D [1, h].
type ColumnSums struct{}

// Columns is C matrices [n, 1] -> one [n, C].
type Columns struct{}

// Column is D [n, C] -> its column Index [n, 1].
type Column struct{ Index int }

// MarginLoss is S [n, C] -> l [n] with the losses of Margins.
type MarginLoss struct{ Margins }

// MarginLossGrad is S [n, C], dl [n] -> dS [n, C].
type MarginLossGrad struct{ Margins }

// SignedLoss is s [n] or [n, 1] -> l [n] with the losses of Signs.
type SignedLoss struct{ Signs }

// SignedLossGrad is s, dl [n] -> ds of s's shape.
type SignedLossGrad struct{ Signs }

// GroupMeans is l [n] -> M l - Offsets [G].
type GroupMeans struct {
	Groups
	Offsets []float64
}

// GroupMeansGrad is w [G] -> M^T w [n].
type GroupMeansGrad struct{ Groups }

// Normalize is X [n, d] -> Y [n, d] with the groups of Normalization.
type Normalize struct{ Normalization }

// NormalizeGrad is X [n, d], D [n, d] -> the derivative of Normalize with respect to X, times D.
type NormalizeGrad struct{ Normalization }

// MaxPool is pictures [n, Pixels] -> the largest element under each window, channel by channel
// [n, Channels Places]. NaN elements do not count. A window without other elements gives the lowest
// finite number.
type MaxPool struct{ Window }

// MaxPoolGrad is pictures [n, Pixels], D [n, Channels Places] -> [n, Pixels]: each element of D is
// added to the element of the picture that MaxPool returned, the first of equal elements, line by
// line.
type MaxPoolGrad struct{ Window }

func (Elementwise) description()    {}
func (AddBias) description()        {}
func (ColumnSums) description()     {}
func (Columns) description()        {}
func (Column) description()         {}
func (MarginLoss) description()     {}
func (MarginLossGrad) description() {}
func (SignedLoss) description()     {}
func (SignedLossGrad) description() {}
func (GroupMeans) description()     {}
func (GroupMeansGrad) description() {}
func (Normalize) description()      {}
func (NormalizeGrad) description()  {}
func (MaxPool) description()        {}
func (MaxPoolGrad) description()    {}

// Normalization divides each row into Groups ranges of as many columns. The elements x of a range
// become y = (x - mean) / root with root = sqrt(variance + Epsilon) and the mean and the variance,
// over the number of elements, of the range. The derivative times d is
//
//	(d - mean of d - y (mean of d y)) / root
type Normalization struct {
	Groups  int
	Epsilon float64
}

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

// Size returns the number of rows of group k.
func (g Groups) Size(k int) float64 { return float64(g.Starts[k+1] - g.Starts[k]) }

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
