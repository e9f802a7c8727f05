// Package kernels holds the device code and its launches: CUDA C++ sources (cuda/kernels/device), one idea per file, the PTX that
// `make kernels-ptx` makes of them for sm_80 and newer, and for each kind of a plan's steps and of a primal step's passes the function
// that launches it.
//
// Every launch is deterministic: sums are trees whose shape depends on the matrices' alone, of float64, and no float is added atomically.
// A reduction is one launch: its blocks leave partial sums in scratch memory, and the last of them to finish, known by a counter, adds
// them in their order.
//
// The sources also compile for the host (cuda/double), where the tests run them against the plan's reference loops.
package kernels
