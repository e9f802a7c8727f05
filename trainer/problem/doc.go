// Package problem defines the problems that the methods of trainer solve. A Problem evaluates f and
// g and the gradient of their weighted sum. Its Space holds the iterate and vectors of the same
// length.
//
// The vectors stay where the problem computes. A device implements Vectors, a small arithmetic
// whose steps are data (Step, Map). HostVectors implements them in host memory; its plain loops are
// the reference for all devices.
//
// MakePiecewise and NewAffine make constraints of the constraints of another problem: maxima of
// pieces, and affine functions whose bounds can move between two solves.
//
// Functions makes a problem of Go functions. A problem that computes in its own way on the host
// embeds a HostSpace and adds Dims, Forward and Backward.
package problem
