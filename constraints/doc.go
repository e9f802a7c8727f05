// Package constraints builds objectives and constraints as nodes of a Gorgonia graph from a model's
// scores and the rows' groups.
//
// The nodes use a few exported Gorgonia ops, each one pass over the rows:
//
//	MarginLoss   S [n, C]  -> l [n]   l_i = sum_{j != c_i} phi(S[i,c_i] - S[i,j])
//	SignedLoss   s [n, 1]  -> l [n]   l_i = phi(y_i s_i)
//	GroupMeans   l [n]     -> m [G]   m = M l - offsets
//
// gorgonia.Backpropagate and gorgonia.Grad reach their derivatives through the ops' SymDiff. All
// ops work in float32 and in float64. Every sum is accumulated in float64 in a fixed order, so
// equal inputs give equal bits. An op holds only constants, which are fixed when the op is made;
// graphs and goroutines may share an op. Each Do returns newly allocated memory.
//
// Parse reads a constraint in the constraint language, such as gap(tpr, sex) <= 0.02
// (docs/reference/language.md). Rate, Measure and Constraint build the same constraints in Go.
// NewSystem resolves constraints on rows as inequalities of elementary rates, with probabilities as
// the surrogates of decisions. NewMarginSystem has the surrogates of
//
//	S. B. Moon, J. G. Kim, A. Chandra, C. Brinton, A. Hashemi, Beyond
//	Convexity: Proximal-Perturbed Lagrangian Methods for Efficient
//	Functional Constrained Optimization ("the paper" in this package)
//
// instead: functions of margins. Sample adds the smooth rates to a graph, computes them on the host
// in float64, and counts decisions.
package constraints
