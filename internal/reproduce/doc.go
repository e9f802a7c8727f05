// Package reproduce repeats the experiments of Moon et al., "Beyond Convexity": the methods of each figure on its data, and a verdict
// for each claim that the paper draws from it.
//
// Every figure is compared twice. "Published" gives each method its published kind of step, plain gradient or subgradient steps,
// with a search over the same number of settings for each. "Automatic" gives the same primal step (momentum with the curvature rule) to
// every method that can take it, nothing tuned, and adds the plain methods that a user would try first: what remains of a
// difference there is the dual side's. Starts, data and budgets are equal throughout.
package reproduce
