// Package double is the test double of a GPU: a driver.Driver that records every call, checks that
// a GPU could run it and, with the build tag gpu, runs it.
//
// New returns a device that computes nothing: what is downloaded is zero. Computing returns a
// device whose memory is the host's, whose kernels are their own sources compiled for the host
// (cuda/kernels/device), and whose products are plain loops.
//
// Both devices refuse a wrong call with a Violation:
//
//	memory     every launch, copy and product stays inside one live allocation; nothing is freed twice
//	contents   no byte is read that nothing wrote since its allocation
//	order      two streams touch the same bytes, one of them writing, only with an event between them
//	captures   while a stream is captured nothing is allocated, synchronized or copied with pageable host memory; every run of the
//	           graph reads and writes again what was captured, in memory that is still allocated
//	staging    pinned memory keeps its contents until the upload from it is done, and holds a download's bytes only after the stream
//	           was synchronized
//	the end    Close names what was not given back
//
// A computing device also checks its kernels:
//
//	modules    every kernel of a module is compiled for the host, with the same parameters as in PTX
//	bounds     nothing is written beside an allocation
//	barriers   all threads of a block reach a barrier
//	sums       a sum of products of integers is a 32-bit integer
//	strict     a launch reads and writes only what it declares, and its results do not depend on the order of blocks and threads
//
// A test can make the k-th call of a kind fail, and limit the memory.
package double
