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

// Every process receives the slice of count[rank] numbers of each process, one after the other.
static int ppalScatter(double *x, int *counts, int *starts,
		double *in, int *incounts, int *instarts) {
	return MPI_Alltoallv(x, counts, starts, MPI_DOUBLE,
		in, incounts, instarts, MPI_DOUBLE, MPI_COMM_WORLD);
}

static int ppalGather(double *own, int n, double *x, int *counts, int *starts) {
	return MPI_Allgatherv(own, n, MPI_DOUBLE,
		x, counts, starts, MPI_DOUBLE, MPI_COMM_WORLD);
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
	own        []float64 // the sums of this process's slice
	in         []float64 // the slices of all processes
	counts     []C.int   // of the slices, by rank
	starts     []C.int
	incounts   []C.int
	instarts   []C.int
	abort      sync.Once
}

// Rank implements Collective.
func (p *process) Rank() int { return p.rank }

// Size implements Collective.
func (p *process) Size() int { return p.size }

// Sum implements Collective. Each process adds one slice of the vector in the order of the
// ranks, and gives the sums to all. A process sends and receives about 2 len(x) numbers, whatever
// the number of processes. The reductions of the MPI library are not used, because they choose
// their own order.
func (p *process) Sum(x []float64) error {
	n := len(x)
	if n == 0 {
		return p.Barrier()
	}
	if n > math.MaxInt32/8 {
		return fmt.Errorf("ranks: %d numbers are too many for one sum, want at most %d", n, math.MaxInt32/8)
	}
	p.divide(n)
	mine := int(p.counts[p.rank])
	if err := mpiError("exchange", C.ppalScatter(first(x), &p.counts[0], &p.starts[0], first(p.in), &p.incounts[0], &p.instarts[0])); err != nil {
		return err
	}
	copy(p.own, p.in[:mine])
	for rank := 1; rank < p.size; rank++ {
		for i, v := range p.in[rank*mine : (rank+1)*mine] {
			p.own[i] += v
		}
	}
	return mpiError("exchange", C.ppalGather(first(p.own), C.int(mine), first(x), &p.counts[0], &p.starts[0]))
}

// divide sets the slices of a vector of n numbers, and makes room for the exchange.
func (p *process) divide(n int) {
	p.counts, p.starts = make([]C.int, p.size), make([]C.int, p.size)
	p.incounts, p.instarts = make([]C.int, p.size), make([]C.int, p.size)
	for rank := range p.size {
		from, to := n*rank/p.size, n*(rank+1)/p.size
		p.starts[rank], p.counts[rank] = C.int(from), C.int(to-from)
	}
	mine := int(p.counts[p.rank])
	for rank := range p.size {
		p.incounts[rank], p.instarts[rank] = C.int(mine), C.int(rank*mine)
	}
	if len(p.own) < mine || len(p.in) < p.size*mine {
		p.own, p.in = make([]float64, mine), make([]float64, p.size*mine)
	}
}

// Broadcast implements Collective.
func (p *process) Broadcast(x []float64) error {
	if len(x) > math.MaxInt32/8 {
		return fmt.Errorf("ranks: %d numbers are too many for one broadcast", len(x))
	}
	return mpiError("broadcast", C.ppalBroadcast(first(x), C.int(len(x))))
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
func first(x []float64) *C.double { return (*C.double)(unsafe.Pointer(unsafe.SliceData(x))) }

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
