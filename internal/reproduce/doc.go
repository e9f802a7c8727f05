// Package reproduce repeats the experiments of Moon et al., "Beyond Convexity": it runs the methods
// of each figure on the figure's data and gives a verdict on each claim that the paper derives from
// it.
//
// Every figure has two comparisons. "Published" gives each method its published kind of step, plain
// gradient or subgradient steps, and searches the same number of settings for each method.
// "Automatic" gives the same primal step (momentum with the curvature rule) to every method that
// supports it, tunes nothing, and adds the plain methods that a user would try first; a remaining
// difference is due to the dual updates. Starts, data and budgets are the same for all methods.
package reproduce
