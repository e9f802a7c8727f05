// Package double is the test double of a GPU: a driver.Driver that records every call, checks that
// a GPU could run it and, with the build tag gpu, runs it.
//
// Library builds a driver and a cuBLAS without a GPU, for tests of package nvidia.
//
// New returns a device that computes nothing: what is downloaded is zero. Computing returns a
// device whose memory is the host's, whose kernels are their own sources compiled for the host
// (internal/cuda/kernels/device), and whose products are plain loops.
//
// Both devices refuse a wrong call with a Violation:
//
//	memory     every launch, copy and product stays inside one live allocation;
//	           no allocation is freed twice
//	contents   a byte is read only after a write since its allocation
//	order      if two streams touch the same bytes and one of them writes, an event
//	           lies between them
//	captures   a captured stream does not allocate, synchronize or copy pageable host
//	           memory; each run of the graph repeats the captured reads and writes, in
//	           memory that is still allocated
//	staging    pinned memory keeps its contents until the upload from it is done, and
//	           holds a download's bytes only after the stream was synchronized
//	mapped     the same holds for launches that read and write mapped pinned memory; the
//	           host, which says so by HostReads, reads what the device wrote only after
//	           the stream was synchronized
//	the end    Close names every resource that was not freed
//
// A computing device also checks its kernels:
//
//	modules    every kernel of a module is compiled for the host, with the same parameters as in PTX
//	bounds     no kernel writes outside an allocation
//	barriers   all threads of a block reach a barrier
//	sums       a sum of products of integers fits in 32 bits
//	strict     a launch reads and writes only the operands that it declares, and its
//	           results do not depend on the order of blocks and threads
//
// A test can make the k-th call of a kind fail, and limit the memory.
package double
