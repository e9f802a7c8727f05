// Package step implements the primal steps of the first-order methods: x+ = step along grad f + J^T
// w. The proximal gradient step and Nesterov's momentum share a step size rule that measures the
// curvature along the path; Adam has its own step size. NewInner and NewProxLinear return PLADA's
// x-steps for non-smooth constraints. QuasiNewton minimises an augmented Lagrangian with a model of
// the curvature.
package step
