// Package estimate measures a problem at a point: curvatures, Lipschitz constants, norms of
// Jacobians and slopes of constraints, by differences of gradients and values.
package estimate
