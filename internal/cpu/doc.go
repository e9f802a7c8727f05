// Package cpu runs plans on the CPU: regions block by block of rows on all cores, with the kernels of package kernel.
//
// A region's rows are cut into blocks of kernel.RowBlock, the blocks into as many consecutive ranges as there are threads.
// Each worker takes one range through all steps, a block at a time, so that a block's activations are in cache from the product that
// made them to the last step that reads them. Reductions are kept by worker and added in the workers' order: results depend on the
// number of threads, never on which core was faster. Data matrices that tell their entries (plan.Sparse) are read by these alone and not
// widened, but where a step other than a product reads them. What the kernels lack runs through the plan's reference loops.
//
// The arithmetic on the iterate between two runs (Device.Vectors32) goes by chunks of the vectors, shared out likewise; its sums are kept
// by chunk, so that they do not depend on the number of threads either.
package cpu
