// Package nvidia is the driver.Driver of NVIDIA GPUs. It calls gorgonia.org/cu, and uses its own
// cgo for the functions that cu lacks: pinned memory, launches without allocations, captured
// graphs, the compiler's messages, cuBLAS.
//
// No CUDA library is linked. shim.c stands in for libcuda, and the first Open or Devices connects
// the shim to the driver's library. cuBLAS 11, 12 or 13 is opened at run time too. A program
// therefore starts without a GPU, and can say what is missing.
//
// Calls may come from any goroutine, one at a time. A call holds its OS thread and makes the
// device's primary context current on that thread.
package nvidia
