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

// Every process receives n numbers of each process, one after the other.
static int ppalGatherAll(int bytes, void *own, int n, void *x) {
	return MPI_Allgather(own, n, ppalType(bytes), x, n, ppalType(bytes), MPI_COMM_WORLD);
}

static int ppalBroadcast(void *x, int n) {
	return MPI_Bcast(x, n, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static int ppalBarrier(void) { return MPI_Barrier(MPI_COMM_WORLD); }
static int ppalAbort(int status) { return MPI_Abort(MPI_COMM_WORLD, status); }
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

func init() { Start = MPI }

// MPI starts MPI and returns the rank of this process. The caller calls close at the end of the
// program, after the last exchange. MPI may be started once in a process.
func MPI() (c Collective, close func() error, err error) {
	started, ending, ended := make(chan error), make(chan struct{}), make(chan error)
	p := &process{}
	go func() { // one thread starts and ends MPI: section 11.6 of the MPI standard 4.0
		runtime.LockOSThread()
		var rank, size C.int
		err := mpiError("start", C.ppalInit(&rank, &size))
		p.rank, p.size = int(rank), int(size)
		started <- err
		<-ending
		ended <- mpiError("end", C.MPI_Finalize())
	}()
	if err := <-started; err != nil {
		return nil, nil, err
	}
	return p, func() error { ending <- struct{}{}; return <-ended }, nil
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

// Sum implements Collective. For a long vector, each process adds one slice in the order of the
// ranks, and gives the sums to all: a process sends and receives about 2 len(x) numbers, whatever
// the number of processes. For a short vector, each process receives the vectors of all and adds
// them, in one exchange. The reductions of the MPI library are not used, because they choose their
// own order.
func (p *process) Sum(x []float64) error { return sum(p, &p.double, x) }

// SumFloat32 implements Collective: see Sum.
func (p *process) SumFloat32(x []float32) error { return sum(p, &p.single, x) }

// The longest vectors of one MPI call. MPI counts elements in 32 bits, and the buffers of a call
// take about twice the vector's memory.
const (
	mostNumbers = 1 << 20
	mostBytes   = 1 << 30
)

func sum[S number](p *process, s *slicesOf[S], x []S) error {
	if len(x) == 0 {
		return p.Barrier()
	}
	for part := range slices.Chunk(x, mostNumbers) {
		if err := s.sum(part, p); err != nil {
			return err
		}
	}
	return nil
}

// sum replaces x, with 1 to mostNumbers elements, by its sum.
func (s *slicesOf[S]) sum(x []S, p *process) error {
	n, bytes := len(x), C.int(unsafe.Sizeof(S(0)))
	if n*p.size <= shortSum {
		return s.sumShort(x, p.size)
	}
	s.divide(n, p.rank, p.size)
	mine := int(s.counts[p.rank])
	if err := mpiError("exchange", C.ppalScatter(bytes, first(x), &s.counts[0], &s.starts[0], first(s.in), &s.incounts[0], &s.instarts[0])); err != nil {
		return err
	}
	addUp(s.own[:mine], s.in[:p.size*mine])
	return mpiError("exchange", C.ppalGather(bytes, first(s.own), C.int(mine), first(x), &s.counts[0], &s.starts[0]))
}

// shortSum is the number of numbers of all processes up to which one exchange of whole vectors
// costs less than two exchanges of slices.
const shortSum = 4096

func (s *slicesOf[S]) sumShort(x []S, size int) error {
	n := len(x)
	if len(s.in) < n*size {
		s.in = make([]S, n*size)
	}
	if err := mpiError("exchange", C.ppalGatherAll(C.int(unsafe.Sizeof(S(0))), first(x), C.int(n), first(s.in))); err != nil {
		return err
	}
	addUp(x, s.in[:n*size])
	return nil
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
	if len(s.own) < mine {
		s.own = make([]S, mine)
	}
	if len(s.in) < size*mine {
		s.in = make([]S, size*mine)
	}
}

// Broadcast implements Collective.
func (p *process) Broadcast(message []byte) error {
	for part := range slices.Chunk(message, mostBytes) {
		if err := mpiError("broadcast", C.ppalBroadcast(first(part), C.int(len(part)))); err != nil {
			return err
		}
	}
	return nil
}

// Barrier implements Collective.
func (p *process) Barrier() error { return mpiError("barrier", C.ppalBarrier()) }

// Abort implements Collective. It writes one line to standard error and ends all processes,
// this process included, with the status of the reason, if it has the method ExitStatus, or 1.
func (p *process) Abort(reason error) {
	status := 1
	var s interface{ ExitStatus() int }
	if errors.As(reason, &s) {
		status = s.ExitStatus()
	}
	p.abort.Do(func() {
		fmt.Fprintf(os.Stderr, "ppal: process %d of %d ends the run: %s\n", p.rank, p.size, strings.Join(strings.Fields(reason.Error()), " "))
		C.ppalAbort(C.int(status))
	})
}

// first returns the address of the first number, or nil.
func first[S number | byte](x []S) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

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
