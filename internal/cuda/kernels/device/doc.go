// Package device holds the kernels' sources in CUDA C++. NVRTC compiles the sources to PTX
// (internal/cuda/kernels/compile.py). With the build tag gpu the package also compiles the sources
// for the host: [Kernels] lists the kernels, and [Kernel.Launch] runs the threads of a block in
// turn, each as far as the next barrier.
package device

import "embed"

// Sources holds the source files. The go command compiles the package again when an embedded file
// changes.
//
//go:embed *.cu *.cuh
var Sources embed.FS
