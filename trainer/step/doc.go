// Package step has the primal steps of the first-order methods: x+ = step along grad f + J^T w. The
// proximal gradient step and Nesterov's momentum share a step size rule that measures the curvature
// along the way; Adam has its own. Inner and ProxLinear are the steps of PLADA on non-smooth
// constraints.
package step
