// Package graph makes problems from Gorgonia nodes: an objective node, constraint nodes and
// parameters. Gorgonia defines and differentiates the graph. An [Engine] runs the forward pass,
// which computes f and g, and the backward pass, which computes the gradient of their weighted sum.
// [CPU] runs both passes on this machine's cores, [On] on a device such as *cuda.Device, and [Tape]
// on Gorgonia's own machine.
//
// [Optimizer] replaces the gorgonia.Solver in a user's own training loop. A user's own op
// implements [Described] to describe its computation to the devices.
package graph
