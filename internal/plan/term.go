package plan

// Described is implemented by the Gorgonia ops of this module: a plan then needs
// no reflection to know them.
type Described interface{ PlanTerm() Term }

// Term says what an op computes. It is one of the types of this file.
type Term interface{ term() }

// AddBiasTerm is Z [n, h], b [1, h] -> Z + 1 b.
type AddBiasTerm struct{}

// ColumnSumsTerm is D [n, h] -> 1^T D [1, h].
type ColumnSumsTerm struct{}

// ColumnsTerm is C matrices [n, 1] -> one [n, C].
type ColumnsTerm struct{}

// ColumnTerm is D [n, C] -> its column Index [n, 1].
type ColumnTerm struct{ Index int }

// MarginLossTerm is S [n, C] -> l [n].
type MarginLossTerm struct{ Margins }

// MarginLossGradTerm is S [n, C], dl [n] -> dS [n, C].
type MarginLossGradTerm struct{ Margins }

// SignedLossTerm is s [n] or [n, 1] -> l [n].
type SignedLossTerm struct{ Signs }

// SignedLossGradTerm is s, dl [n] -> ds of s's shape.
type SignedLossGradTerm struct{ Signs }

// GroupMeansTerm is l [n] -> M l - Offsets [G].
type GroupMeansTerm struct {
	Groups
	Offsets []float64
}

// GroupMeansGradTerm is w [G] -> M^T w [n].
type GroupMeansGradTerm struct{ Groups }

func (AddBiasTerm) term()        {}
func (ColumnSumsTerm) term()     {}
func (ColumnsTerm) term()        {}
func (ColumnTerm) term()         {}
func (MarginLossTerm) term()     {}
func (MarginLossGradTerm) term() {}
func (SignedLossTerm) term()     {}
func (SignedLossGradTerm) term() {}
func (GroupMeansTerm) term()     {}
func (GroupMeansGradTerm) term() {}

// Surrogate is a function of the margin. A device knows it by its name
// (String): sigmoid, logistic, hinge.
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
// Without RowStarts group k is the rows Starts[k]..Starts[k+1]-1, each weighing
// 1/(Starts[k+1]-Starts[k]). With them row i is in the groups
// RowGroups[RowStarts[i]:RowStarts[i+1]], in increasing order, and weighs the
// same range of RowWeights or, where that is nil, 1/(Starts[k+1]-Starts[k]).
type Groups struct {
	Rows, Count int
	Starts      []int // Count + 1
	RowStarts   []int // Rows + 1
	RowGroups   []int32
	RowWeights  []float64
}

// size is the number of rows of group k.
func (g Groups) size(k int) float64 { return float64(g.Starts[k+1] - g.Starts[k]) }
