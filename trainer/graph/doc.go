// Package graph makes trainer's problems from Gorgonia nodes: an objective node, constraint nodes and parameters. Gorgonia
// defines and differentiates; an [Engine] runs the two halves of an iteration, the forward pass that gives f and g and the
// backward pass that takes the weights of both.
//
// [Optimizer] is for a training loop of one's own: it stands where a gorgonia.Solver stood.
package graph
