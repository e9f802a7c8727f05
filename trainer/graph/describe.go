package graph

import "ppal/internal/plan"

// Described is a Gorgonia op that describes its computation to devices. A device runs a described
// op with its own kernels, fused with other steps. If a user's op is not described, the CPU calls
// its Do on one core, and the GPU returns an error. The op's Do and SymDiff are the reference.
type Described = plan.Described

// Description describes the computation of an op by one of the types below. A vector [n] counts as
// a matrix [n, 1].
type Description = plan.Description

// The descriptions of ops.
type (
	// Elementwise is an expression over the op's inputs (package elementwise).
	Elementwise = plan.ElementwiseOp
	// AddBias is Z [n, h], b [1, h] -> Z + 1 b.
	AddBias = plan.AddBiasOp
	// ColumnSums is D [n, h] -> 1^T D [1, h].
	ColumnSums = plan.ColumnSumsOp
	// Columns is C matrices [n, 1] -> one [n, C].
	Columns = plan.ColumnsOp
	// Column is D [n, C] -> its column Index [n, 1].
	Column = plan.ColumnOp
	// MarginLoss is S [n, C] -> l [n] with the losses of Margins.
	MarginLoss = plan.MarginLossOp
	// MarginLossGrad is S [n, C], dl [n] -> dS [n, C].
	MarginLossGrad = plan.MarginLossGradOp
	// SignedLoss is s [n] or [n, 1] -> l [n] with the losses of Signs.
	SignedLoss = plan.SignedLossOp
	// SignedLossGrad is s, dl [n] -> ds of the shape of s.
	SignedLossGrad = plan.SignedLossGradOp
	// GroupMeans is l [n] -> M l - Offsets [G].
	GroupMeans = plan.GroupMeansOp
	// GroupMeansGrad is w [G] -> M^T w [n].
	GroupMeansGrad = plan.GroupMeansGradOp
)

// The constants of descriptions.
type (
	// Margins are the labels and the surrogate of the margin losses
	// l_i = sum_{j != c_i} phi(S[i,c_i] - S[i,j]) with c_i = Labels[i].
	Margins = plan.Margins
	// Signs are the labels -1 or +1 and the surrogate of the losses l_i = phi(Labels[i] s_i).
	Signs = plan.Signs
	// Groups is the sparse matrix M [G, n] of group memberships.
	Groups = plan.Groups
	// Surrogate is a function phi of the margin.
	Surrogate = plan.Surrogate
)
