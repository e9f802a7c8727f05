// Package cpu runs plans on the CPU: regions block by block of rows on all cores, with the kernels of package kernel.
//
// A region's rows are cut into blocks of kernel.RowBlock, the blocks into as many consecutive ranges as there are threads.
// Each worker takes one range through all steps, a block at a time, so that a block's activations are in cache from the product that
// made them to the last step that reads them. Reductions are kept by worker and added in the workers' order, each worker adding a part
// of the elements: results depend on the number of threads, never on which core was faster. Steps outside the plan's regions are
// regions of their own, on one thread where they are small. Data matrices that tell their entries (plan.Sparse) are read by these alone
// and not widened, but where a step other than a product reads them. What the kernels lack runs through the plan's reference loops.
//
// The arithmetic on the iterate between two runs (Device.Vectors32) goes by chunks of the vectors, shared out likewise; its sums are kept
// by chunk, so that they do not depend on the number of threads either.
//
// A device's workers are goroutines that stay: between two regions they look for the next for a while before they sleep, since waking
// takes longer than most gaps. They start with the first work for more than one and end with [Device.Close] or the garbage collector.
// All memory is taken when a plan is compiled or, for intermediate results, in the first iteration; then an iteration allocates nothing.
package cpu
