// Package kernels holds the device code and its launches: CUDA C++ sources, one idea per file, the PTX that `make kernels` makes of them,
// and for each kind of a plan's steps the function that launches it.
//
// The sources also compile for the host (cuda/emulator), where the tests run them against the plan's reference loops.
package kernels
