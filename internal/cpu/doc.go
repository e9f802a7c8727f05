// Package cpu runs plans on the CPU: regions of steps block of rows by block of rows, on all cores,
// with the kernels of package kernel.
//
// The rows of a region are divided into shares, and each share into blocks: of kernel.RowBlock
// rows, or of some thousand rows if the steps work on single columns. A worker takes a share
// through all steps, one block at a time, so that the activations of a block stay in cache from the
// product that computes them to the last step that reads them. Each share has its own sums. Sums of
// neighbouring shares are added in the order of a binary tree; the last few sums are added by all
// workers, each for a part of the elements. The number of shares depends only on the shapes:
// results have the same bits for any number of threads. Steps outside the plan's regions are
// regions of their own; small ones run on one thread.
//
// Each worker has a range of shares, so that its rows stay in its cache from one iteration to the
// next. A worker that has finished its range takes shares from other ranges.
//
// Products read sparse data (matrix.Sparse) by its entries; the data is widened only if a step
// other than a product reads it. Products with 8-bit data (matrix.EightBit) read bytes if they use
// digits (Device.Products). Steps without a kernel run through the loops of plan.Run.
//
// A row of a region with convolutions or max-pooling is a whole picture, so blocks have few rows. A
// convolution is a product of the filters with the patches of one picture (kernel.Window). The
// patches are packed part by part: a part has about 200 kB, or 96 places if they take more.
//
// Compilation fuses producers and consumers. All smooth losses of one column of scores, and their
// derivatives, take one exponential for each row (kernel.LogisticTails). Logistic losses that only
// group means read are not written: the means take the logarithms of products. The factors of a
// derivative are not written if they have at most two different values. A product with 8-bit data
// applies the bias and the activation that follow.
//
// Pairs of documents (plan.PairMeans) are computed query by query and are not stored. The queries
// are divided into tasks of about equal work, and a long query into parts. Within a query, the
// sigmoid of a difference of scores is a quotient of exponential functions of the single scores, so
// that a pair takes one division; scores too far apart take an exponential function for each pair.
//
// Primal steps run on vectors (Device.NewVectors) chunk by chunk. Each chunk has its own sums.
//
// The workers are goroutines that stay. Between two regions they look for work for a while before
// they sleep, because waking takes longer than most gaps; meanwhile they let other goroutines run.
// The goroutines start with the first work for several threads and end with [Device.Close] or the
// garbage collector.
//
// Memory is allocated when a plan is compiled, in the first iteration for intermediate results, and
// for a share's sums when more shares have sums at the same time than before. Other iterations
// allocate nothing.
package cpu
