// Package problem defines the problems that the methods of trainer solve. A Problem evaluates f and
// g and the gradient of their weighted sum. Its Space holds the iterate and vectors of the same
// length.
//
// The vectors stay on the device of the problem. A device implements Vectors, a small set of vector
// operations. Step and Map describe the steps of the methods as data. HostVectors implements
// Vectors in host memory; its plain loops are the reference for all devices.
//
// MakePiecewise and NewAffine make new constraints from the constraints of another problem: maxima
// of pieces, and affine functions whose bounds can move between two solves.
//
// Functions makes a problem from Go functions. To write another problem that computes on the host,
// embed a HostSpace and add Dims, Forward and Backward.
package problem
