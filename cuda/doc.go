// Package cuda runs plans on an NVIDIA GPU through a driver.Driver.
//
// A [Device] has a pool of memory, pinned buffers for uploads, one stream on which all work runs in
// order, and the compiled kernels. A [Program] is a plan on a device: every step, or several fused
// steps, is a launch over buffers in the device's memory. The first run of a half is launch by
// launch and allocates all memory; the second run is captured as a graph, which later runs launch.
// [Device.NewVectors] returns the vectors of the primal steps.
//
// An iteration moves 2 (m + 1) float64 numbers between host and device: the forward half's graph
// downloads f and g to pinned memory, and the backward half's graph uploads the coefficients. The
// iterate, the gradients and the data stay on the device.
package cuda
