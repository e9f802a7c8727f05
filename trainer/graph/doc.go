// Package graph makes problems from Gorgonia nodes: an objective node, constraint nodes and
// parameters. Gorgonia defines and differentiates the graph. An [Engine] runs the forward pass,
// which computes f and g, and the backward pass, which computes the gradient of their weighted sum.
// [CPU] runs both passes on this machine's cores, [On] on a GPU of [OpenGPU], and [Tape]
// by Gorgonia's own ops.
//
// [New] refuses operations whose gradients are wrong in Gorgonia 0.9.18, and names what to use
// instead: [InverseSqrt], [Sum] and [Mean] over several axes, [AveragePool2D], [GlobalMean] and
// [Embedding]. [GroupNorm] is a group norm or a layer norm that devices compute on all cores. New
// also refuses dropout and other random operations, because f and g are then not functions of the
// parameters. If a graph has operations that no test of ppal compares with finite differences,
// New compares derivatives with them once, of f and g and of each such operation alone;
// problem.CheckGradients compares more. Whether f and g have kinks, and whether the model has
// hidden layers, New sees from the graph.
//
// The errors of a definition wrap problem.ErrSettings. Operations that a device's CPU runs by
// Gorgonia, on one core, are named in [Problem.Explain] and in a note of the run.
//
// [Optimizer] replaces the gorgonia.Solver in a user's own training loop. A user's own op
// implements [Described] to describe its computation to the devices.
package graph
