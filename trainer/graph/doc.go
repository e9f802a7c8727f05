// Package graph makes problems from Gorgonia nodes: an objective node, constraint nodes and
// parameters. Gorgonia defines and differentiates. An [Engine] runs the forward pass, which
// computes f and g, and the backward pass, which computes the gradient for the coefficients of
// both: [CPU] on this machine's cores, [On] a device such as *cuda.Device, [Tape] on Gorgonia's own
// machine.
//
// [Optimizer] replaces the gorgonia.Solver in a user's own training loop. A user's own op tells the
// devices what it computes by [Described].
package graph
