//go:build mpi

package ranks

/*
#include <mpi.h>
#include <stdlib.h>

// The constants of mpi.h are macros, which differ between Open MPI and MPICH.
static int ppalInit(int *rank, int *size) {
	int given, e = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given);
	if (e) return e;
	if (given < MPI_THREAD_SERIALIZED) return MPI_ERR_OTHER;
	if ((e = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN))) return e;
	if ((e = MPI_Comm_rank(MPI_COMM_WORLD, rank))) return e;
	return MPI_Comm_size(MPI_COMM_WORLD, size);
}

static MPI_Datatype ppalType(int bytes) { return bytes == 4 ? MPI_FLOAT : MPI_DOUBLE; }

// Every process receives the slice of count[rank] numbers of each process, one after the other.
static int ppalScatter(int bytes, void *x, int *counts, int *starts,
		void *in, int *incounts, int *instarts) {
	return MPI_Alltoallv(x, counts, starts, ppalType(bytes),
		in, incounts, instarts, ppalType(bytes), MPI_COMM_WORLD);
}

static int ppalGather(int bytes, void *own, int n, void *x, int *counts, int *starts) {
	return MPI_Allgatherv(own, n, ppalType(bytes),
		x, counts, starts, ppalType(bytes), MPI_COMM_WORLD);
}

static int ppalBroadcast(double *x, int n) {
	return MPI_Bcast(x, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
static int ppalBarrier(void) { return MPI_Barrier(MPI_COMM_WORLD); }
static int ppalAbort(void) { return MPI_Abort(MPI_COMM_WORLD, 1); }
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"unsafe"
)

// MPI starts MPI and returns the rank of this process. The caller calls close at the end of the
// program, after the last exchange. MPI may be started once in a process.
func MPI() (c Collective, close func() error, err error) {
	var rank, size C.int
	if e := C.ppalInit(&rank, &size); e != 0 {
		return nil, nil, mpiError("start", e)
	}
	p := &process{rank: int(rank), size: int(size)}
	return p, func() error { return mpiError("end", C.MPI_Finalize()) }, nil
}

// process is a rank among the processes of MPI_COMM_WORLD.
type process struct {
	rank, size int
	double     slicesOf[float64]
	single     slicesOf[float32]
	abort      sync.Once
}

// slicesOf is the room for the exchange of a vector of numbers of type S.
type slicesOf[S number] struct {
	own      []S     // the sums of this process's slice
	in       []S     // the slices of all processes
	counts   []C.int // of the slices, by rank
	starts   []C.int
	incounts []C.int
	instarts []C.int
}

// Rank implements Collective.
func (p *process) Rank() int { return p.rank }

// Size implements Collective.
func (p *process) Size() int { return p.size }

// Sum implements Collective. Each process adds one slice of the vector in the order of the
// ranks, and gives the sums to all. A process sends and receives about 2 len(x) numbers, whatever
// the number of processes. The reductions of the MPI library are not used, because they choose
// their own order.
func (p *process) Sum(x []float64) error { return sum(p, &p.double, x) }

// SumFloat32 implements Collective: see Sum.
func (p *process) SumFloat32(x []float32) error { return sum(p, &p.single, x) }

func sum[S number](p *process, s *slicesOf[S], x []S) error {
	n, bytes := len(x), C.int(unsafe.Sizeof(S(0)))
	if n == 0 {
		return p.Barrier()
	}
	if n > math.MaxInt32/8 {
		return fmt.Errorf("ranks: %d numbers are too many for one sum, want at most %d", n, math.MaxInt32/8)
	}
	s.divide(n, p.rank, p.size)
	mine := int(s.counts[p.rank])
	if err := mpiError("exchange", C.ppalScatter(bytes, first(x), &s.counts[0], &s.starts[0], first(s.in), &s.incounts[0], &s.instarts[0])); err != nil {
		return err
	}
	copy(s.own, s.in[:mine])
	for rank := 1; rank < p.size; rank++ {
		for i, v := range s.in[rank*mine : (rank+1)*mine] {
			s.own[i] += v
		}
	}
	return mpiError("exchange", C.ppalGather(bytes, first(s.own), C.int(mine), first(x), &s.counts[0], &s.starts[0]))
}

// divide sets the slices of a vector of n numbers, and makes room for the exchange.
func (s *slicesOf[S]) divide(n, own, size int) {
	if s.counts == nil {
		s.counts, s.starts = make([]C.int, size), make([]C.int, size)
		s.incounts, s.instarts = make([]C.int, size), make([]C.int, size)
	}
	for rank := range size {
		from, to := n*rank/size, n*(rank+1)/size
		s.starts[rank], s.counts[rank] = C.int(from), C.int(to-from)
	}
	mine := int(s.counts[own])
	for rank := range size {
		s.incounts[rank], s.instarts[rank] = C.int(mine), C.int(rank*mine)
	}
	if len(s.own) < mine || len(s.in) < size*mine {
		s.own, s.in = make([]S, mine), make([]S, size*mine)
	}
}

// Broadcast implements Collective.
func (p *process) Broadcast(x []float64) error {
	if len(x) > math.MaxInt32/8 {
		return fmt.Errorf("ranks: %d numbers are too many for one broadcast", len(x))
	}
	return mpiError("broadcast", C.ppalBroadcast((*C.double)(first(x)), C.int(len(x))))
}

// Barrier implements Collective.
func (p *process) Barrier() error { return mpiError("barrier", C.ppalBarrier()) }

// Abort implements Collective. It writes one line to standard error and ends all processes,
// this process included, with status 1.
func (p *process) Abort(reason error) {
	p.abort.Do(func() {
		fmt.Fprintf(os.Stderr, "ppal: process %d of %d ends the run: %v\n", p.rank, p.size, reason)
		C.ppalAbort()
	})
}

// first returns the address of the first number, or nil.
func first[S number](x []S) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

// mpiError returns the text of an MPI error code, or nil for success.
func mpiError(what string, code C.int) error {
	if code == C.MPI_SUCCESS {
		return nil
	}
	text, n := make([]byte, C.MPI_MAX_ERROR_STRING), C.int(0)
	if C.MPI_Error_string(code, (*C.char)(unsafe.Pointer(&text[0])), &n) != C.MPI_SUCCESS {
		return errors.New("ranks: " + what + ": unknown MPI error")
	}
	return fmt.Errorf("ranks: %s: %s", what, text[:n])
}
