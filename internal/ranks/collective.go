package ranks

import (
	"hash/fnv"
	"unsafe"
)

// Collective joins the processes of a run. The processes have the ranks 0, 1, ..., Size() - 1. All
// processes call Sum, SumFloat32, Broadcast and Barrier in the same order. Each of these calls
// waits until all processes make the call. After an error, the run cannot continue.
type Collective interface {
	// Rank returns the number of this process, from 0.
	Rank() int
	// Size returns the number of processes.
	Size() int
	// Sum replaces x by the sum of the x of all processes, which have the same length. Each element
	// is ((x_0 + x_1) + x_2) + ..., in the order of the ranks, so all processes get the same bits.
	Sum(x []float64) error
	// SumFloat32 is Sum for float32: it adds in float64 and rounds each sum once.
	SumFloat32(x []float32) error
	// Broadcast replaces the message by the message of rank 0, which has the same length.
	Broadcast(message []byte) error
	// Barrier waits until all processes call Barrier.
	Barrier() error
	// Abort ends the run of all processes, with the reason. Calls that wait return an error, or the
	// processes end. Only the first call counts.
	Abort(reason error)
}

// Bytes returns the memory of the numbers x.
func Bytes[S number](x []S) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(S(0))))
}

// Numbers returns the numbers in a message that a procedure got.
func Numbers[S number](message []byte) []S {
	return unsafe.Slice((*S)(unsafe.Pointer(unsafe.SliceData(message))), len(message)/int(unsafe.Sizeof(S(0))))
}

// number is the type of the numbers of a sum.
type number interface{ float32 | float64 }

// addUp sets sums to the sums of the terms, in the order of the ranks. The terms of the ranks
// follow each other in memory.
func addUp[S number](sums, terms []S) {
	for i := range sums {
		sum := float64(terms[i])
		for at := i + len(sums); at < len(terms); at += len(sums) {
			sum += float64(terms[at])
		}
		sums[i] = S(sum)
	}
}

// Digest returns a checksum of 53 bits, which processes exchange as a number.
func Digest(text []byte) float64 {
	h := fnv.New64a()
	h.Write(text)
	return float64(h.Sum64() >> 11)
}
