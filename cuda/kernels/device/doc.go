// Package device is the kernels' sources, CUDA C++. NVRTC makes the PTX of them (cuda/kernels/compile.py); with the build tag gpu the
// package also compiles them for the host, where [Kernels] lists them and [Kernel.Launch] runs them, a thread of a block after the
// other, as far as the next barrier.
package device

import "embed"

// Sources are the sources. That they are embedded also makes the go command compile the package again when they change.
//
//go:embed *.cu *.cuh
var Sources embed.FS
