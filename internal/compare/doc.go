// Package compare runs several methods from equal starts under one budget, and sums them up: every record of every run in one file,
// means and ranges over the seeds as pictures and as a table.
//
// A comparison is honest only where every method has the same start, the same budget and the same search for its settings. All three
// are here: a seed gives every contender the same rows and weights, the budget is counted in iterations, training seconds or gradient
// evaluations, and a grid tries its points for each contender on the first seed and the best of them on the second too, feasible results
// before infeasible ones, then by the objective. The search is written down beside the results.
package compare
