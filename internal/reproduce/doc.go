// Package reproduce repeats the experiments of Moon et al., "Beyond Convexity". The package runs
// the methods of each figure on the figure's data. For each claim that the paper derives from a
// figure, the package gives a verdict.
//
// Every figure has two comparisons. "Published" gives each method its published kind of step,
// plain gradient or subgradient steps, and searches the same number of settings for each method.
// "Automatic" gives the same primal step (momentum with the curvature rule) to every method that
// supports it, tunes nothing, and adds the plain methods that a user would try first. A remaining
// difference then comes from the dual updates. Initial weights, data and budgets are the same for
// all methods.
package reproduce
