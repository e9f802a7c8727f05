//go:build gpu

// Package nvidia is the driver.Driver of NVIDIA's GPUs: gorgonia.org/cu, and cgo of its own for what cu lacks (pinned memory, launches
// without allocations, captured graphs, the compiler's messages, cuBLAS).
//
// No library of CUDA is linked. shim.c stands in for libcuda and is filled at the first Open or Devices; cuBLAS, in any of its major
// versions, is opened at run time too. So the program starts, and says what is missing, where there is no GPU.
//
// Calls may come from any goroutine, one at a time: each holds its OS thread and makes the device's primary context current there.
package nvidia

//go:generate go run ./gen -o symbols.h
