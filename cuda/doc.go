// Package cuda runs plans on an NVIDIA GPU through a driver.Driver.
//
// A [Device] implements plan.Device: it has a memory pool, pinned buffers for uploads, one stream
// that runs all work in order, and the compiled kernels. A [Program] is a plan on the device. Each
// step, or several fused steps, is a launch over buffers in the device's memory. The first run of
// the forward or backward half launches one kernel after the other, which settles all allocations;
// the second run is captured as a graph, and later runs launch that graph.
//
// The forward half's graph downloads f and g, m + 1 float64 numbers, to pinned memory; the backward
// half's graph uploads m + 1 coefficients. The iterate, the gradients and the data stay on the
// device.
package cuda
