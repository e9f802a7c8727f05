// Package estimate measures a problem at a point by differences of gradients and values:
// curvatures, Lipschitz constants, norms of Jacobians and slopes of constraints.
package estimate
