// Package constraints states objectives and constraints as nodes of a
// Gorgonia graph, from a model's scores and the rows' groups.
//
// Its terms are few exported Gorgonia ops, each one pass over the rows:
//
//	MarginLoss   S [n, C]  -> l [n]   l_i = sum_{j != c_i} phi(S[i,c_i] - S[i,j])
//	SignedLoss   s [n, 1]  -> l [n]   l_i = phi(y_i s_i)
//	GroupMeans   l [n]     -> m [G]   m = M l - offsets
//
// and their derivatives MarginLossGrad (S, dl -> dS), SignedLossGrad (s, dl ->
// ds) and GroupMeansGrad (w -> M^T w), which gorgonia.Backpropagate and
// gorgonia.Grad reach through the ops' SymDiff. All work in float32 and in
// float64; every sum is accumulated in float64 in a fixed order, so that equal
// inputs give equal bits. Ops hold only constants, fixed when they are made, and
// may be shared between graphs and goroutines; each Do returns memory of its
// own.
//
// NeymanPearson builds the multi-class Neyman-Pearson problem of
//
//	S. B. Moon, J. G. Kim, A. Chandra, C. Brinton, A. Hashemi, Beyond
//	Convexity: Proximal-Perturbed Lagrangian Methods for Efficient
//	Functional Constrained Optimization ("the paper" in this package)
//
// from them, Gaps the paper's demographic parity and equalized odds, and
// Intersectional its intersectional group fairness. Each measures the same
// problem on the host, in float64, beside what its surrogates stand for on the
// model's decisions.
package constraints
