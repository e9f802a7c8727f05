// Package decisions compares ppal with other libraries on constraints that hold on decisions
// (`ppal reproduce decisions`): fairlearn's ExponentiatedGradient, GridSearch and
// ThresholdOptimizer, the proxy-Lagrangian of TensorFlow Constrained Optimization, Cooper with
// proxy constraints, and logistic regression with a moved threshold.
//
// All contenders see the same rows: Rows writes the features, labels, groups and splits of a table
// to NumPy files. The contenders of other libraries are Python processes (internal/peers). Without
// the environment of these processes, Run measures only ppal. Every contender returns the number
// of accepted rows in each cell (split, group, label). The package computes all rates and errors
// from these counts, in the same way for every contender.
//
// The first split tunes the settings of the other libraries. Then all contenders run on every
// split in turns. The verdicts compare ppal with each other contender at equal measured gap.
package decisions
