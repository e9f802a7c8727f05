// Package cpu runs plans on the CPU: regions block by block of rows on all cores, with the kernels of package kernel.
//
// A region's rows are cut into as many consecutive ranges as there are threads, and these into blocks: of kernel.RowBlock rows, or of some
// thousand where all that a row has are a few single numbers. Each worker takes one range through all steps, a block at a time, so that a block's activations are in cache from the product that
// made them to the last step that reads them. Reductions are kept by worker and added in the workers' order, each worker adding a part
// of the elements: results depend on the number of threads, never on which core was faster. Steps outside the plan's regions are
// regions of their own, on one thread where they are small. Data matrices that tell their entries (matrix.Sparse) are read by these alone
// and not widened, but where a step other than a product reads them. Those of 8-bit values (matrix.EightBit) stay bytes where products with
// them are done in slices (Products). What the kernels lack runs through the plan's reference loops.
//
// Steps that share work are joined when a plan is compiled: the smooth losses of one column of scores and their derivatives, in both
// halves, take one exponential a row (kernel.LogisticTails); logistic losses that are only averaged are not written, their logarithms are those of
// products; nor are derivatives' weights of which rows have one or two.
//
// The arithmetic on the iterate between two runs (Device.Vectors32) goes by chunks of the vectors, shared out likewise; its sums are kept
// by chunk, so that they do not depend on the number of threads either.
//
// A device's workers are goroutines that stay: between two regions they look for the next for a while before they sleep, since waking
// takes longer than most gaps, and let other goroutines run meanwhile. They start with the first work for more than one and end with
// [Device.Close] or the garbage collector.
// All memory is taken when a plan is compiled or, for intermediate results, in the first iteration; then an iteration allocates nothing.
package cpu
