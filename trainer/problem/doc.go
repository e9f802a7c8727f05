// Package problem says what the methods of trainer train: a Problem evaluates f and g and takes
// weighted gradients, and its Space holds the iterate and the vectors of its size.
//
// The vectors stay where the problem computes. A device implements Vectors, a small arithmetic
// whose steps are data (Step, Map). HostVectors implements them in host memory; its plain loops are
// the reference for all devices.
//
// Functions makes a problem of Go functions. A problem with arithmetic of its own embeds a
// HostSpace and adds Dims, Forward and Backward.
package problem
