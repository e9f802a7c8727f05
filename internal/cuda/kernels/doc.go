// Package kernels holds the device code and its launches: CUDA C++ sources (package device), one
// idea per file; the PTX for sm_80 and newer that `make kernels-ptx` compiles from them; and, for
// each kind of plan step and each pass of a primal step, the function that launches the kernel.
//
// Every launch is deterministic. Sums are float64 trees whose shape depends on the matrices' shapes
// only, and no float is added atomically. A reduction is one launch: the blocks leave partial sums
// in scratch memory, and the last block to finish, known by a counter, adds the partial sums in a
// fixed order.
//
// The sources also compile for the host (internal/cuda/double), where tests compare them with the
// plan's reference loops.
package kernels
