// Package compare runs several methods from equal starts under the same budget and summarises the
// results: every record of every run in one file, means and ranges over the seeds as plots and as a
// table.
//
// A comparison is fair only if every method has the same start, the same budget and the same search
// for its settings. A seed gives every contender the same rows and initial weights. The budget
// counts iterations, training seconds or gradient evaluations. The search tries all points of each
// contender's grid on the first seed, and the best points on the second seed too. It ranks feasible
// results before infeasible results, and then by objective. The search is saved beside the results.
package compare
