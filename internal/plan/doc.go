// Package plan lowers the two halves of a Gorgonia graph to a plan: a few
// typed steps over planned buffers, which any device can run.
//
// Gorgonia says what to compute; [Lower] decides how, in small passes:
//
//	import      the nodes that the outputs need, as matrices (no dead work)
//	pictures    convolutions and max-pooling, which Gorgonia writes with several ops
//	fold        constants computed once, broadcasts virtual
//	activations derivatives from the saved activation: sigma' = a (1 - a), ...
//	siblings    X W_1, ..., X W_C become one product, and so do equal operations that follow
//	accumulate  a sum of products becomes one product added to the other
//	fuse        trees of element-wise operations become single passes
//	schedule    two halves; rows that can be walked block by block form regions
//	place       views, in-place results, storage shared by buffers that are never in use together
//	emit        typed steps; the layers' element-wise operations become [BiasActivation] and
//	            [ActivationGrad], for which each device has one kernel
//
// The forward half does not need the coefficients of the constraints. The backward half starts from
// the coefficients and from the values that the forward half kept, so the plan computes no value
// twice. [Plan.FindConsumers] finds the vectors that a device need not write, because the only
// consumer can run in the producer's pass.
//
// A [Region] with Rows > 0 is a sequence of steps that a device may execute block by block: it runs
// all steps on one block of rows, which stays in the cache, before the next block. Each step is
// row-wise or a reduction over rows. Steps read the result of a reduction only after the region.
// Buffers of class [Local] exist for one block only.
//
// A [Device] compiles a plan to a [Program] that runs at the iterate of the
// device's vectors. [Reference] runs a plan with plain loops: it defines every
// step. A device uses [Run] for steps without a kernel.
package plan
