package ranks

import (
	"hash/fnv"
	"unsafe"
)

// Start is MPI in a program with MPI (tag mpi), and nil in another.
var Start func() (c Collective, end func() error, err error)

// Collective joins the processes of a run. The methods are those of session.Processes, which
// describes them.
type Collective interface {
	Rank() int
	Size() int
	Sum(x []float64) error
	SumFloat32(x []float32) error
	Broadcast(message []byte) error
	Barrier() error
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
