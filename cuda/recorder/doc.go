// Package recorder is a driver.Driver that computes nothing: it keeps the calls and checks that they could be run.
//
// What it asserts, at the call at fault:
//
//	memory     every launch, copy and product stays inside one allocation that is live; nothing is freed twice
//	contents   nothing is read whose bytes were never written since their allocation
//	order      two streams touch the same bytes, one of them writing, only with an event between them
//	captures   no allocation, synchronisation or copy of pageable host memory while a stream is captured; a replay reads and writes
//	           again what was captured, in memory that is still there
//	staging    pinned memory keeps its contents until the upload from it is done, and is not read before the download to it is
//	the end    Close names what was not given back
//
// Wrapped around another driver (the emulator) it checks, and the other one computes. Errors can be made to happen at the k-th call of a
// kind, and a limit on the memory makes allocations fail.
package recorder
