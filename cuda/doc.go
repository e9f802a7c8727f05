// Package cuda runs plans on an NVIDIA GPU through a driver.Driver.
//
// A [Device] is memory from a pool, pinned buffers for what is uploaded, one stream that everything runs on in order, and the compiled
// kernels. A [Program] is a plan on it: every step, or several steps that a kernel does at once, is a launch over buffers in the
// device's memory. The first run of a half is launch by launch, which settles what is allocated; the second is captured as a graph, and
// from then on that graph is launched. [Vectors] are the arithmetic of primal steps on vectors of the iterate's size.
//
// What a run takes from the device: f and g as m + 1 float64 numbers, downloaded by the forward half's graph into pinned memory. What
// it gives: m + 1 weights, uploaded by the backward half's. The iterate, the gradients and the data stay there.
package cuda
