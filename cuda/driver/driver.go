// Package driver is the little of CUDA that a plan needs, as one interface: memory, copies, launches, captured graphs and matrix products.
//
// Two packages implement it: cuda/nvidia (build tag gpu) calls NVIDIA's driver, and cuda/double is the test double.
package driver

// Pointer is an address in device memory; 0 is no memory. Addresses inside an allocation are the base plus an offset in bytes.
type Pointer uint64

// Offset is the address that many bytes further.
func (p Pointer) Offset(bytes int) Pointer { return p + Pointer(bytes) }

// The handles of what a Driver makes. 0 is the default stream, and nothing for the others.
type (
	Stream   uint64
	Event    uint64
	Module   uint64
	Function uint64
	Graph    uint64
)

// Span is a piece of device memory.
type Span struct {
	At    Pointer
	Bytes int
}

// Launch is one kernel's launch. Every argument has a slot of its own of 8 bytes, little endian: a Pointer, an integer (IntArg), the bits
// of a float64 (Float64Arg), or those of a float32 in the low half.
type Launch struct {
	Function    Function
	Name        string // of the kernel, for messages and records
	Grid, Block [3]int
	Shared      int // bytes of dynamic shared memory
	Args        []uint64
	// Reads and Writes are what the kernel touches, for drivers that check it; a strided matrix is one span from its first to its last
	// element.
	Reads, Writes []Span
}

// Info is what is known of a device.
type Info struct {
	Ordinal      int
	Name         string // "NVIDIA H200"
	Major, Minor int    // compute capability
	Processors   int    // streaming multiprocessors
	Memory       int64  // bytes
	Driver       string // version of CUDA that the driver supports, "13.0"
	Products     string // the library of matrix products and its version, "cuBLAS 13.1.0"
}

// Driver is one device's context. Calls on one stream run in order; copies from or to pinned memory, launches, products and graph launches
// return before they have run. A Driver is used from one goroutine at a time.
//
// Errors are *Error; out of memory is ErrOutOfMemory.
type Driver interface {
	Info() Info
	// Memory returns the bytes that are free now, and all.
	Memory() (free, total int64, err error)
	Allocate(bytes int) (Pointer, error)
	Free(p Pointer) error
	// Pinned allocates host memory that the device copies from and to by itself.
	Pinned(bytes int) ([]byte, error)
	FreePinned(b []byte) error

	NewStream() (Stream, error)
	FreeStream(s Stream) error
	Synchronize(s Stream) error
	NewEvent() (Event, error)
	FreeEvent(e Event) error
	// Record marks the point that s has reached; Wait makes s wait for it; Elapsed returns the milliseconds between two that have run.
	Record(e Event, s Stream) error
	Wait(s Stream, e Event) error
	Elapsed(from, to Event) (milliseconds float64, err error)

	// Upload and Download copy len(host) bytes between host and device, Copy between two places of the device.
	Upload(s Stream, to Pointer, host []byte) error
	Download(s Stream, host []byte, from Pointer) error
	Copy(s Stream, to, from Pointer, bytes int) error
	// Clear sets bytes to 0.
	Clear(s Stream, p Pointer, bytes int) error

	// Load compiles a module of PTX text.
	Load(ptx string) (Module, error)
	Function(m Module, name string) (Function, error)
	Launch(s Stream, l *Launch) error
	Multiply(s Stream, g *Gemm) error

	// BeginCapture records the calls on s from now on in place of running them; EndCapture makes a graph of them, which LaunchGraph runs
	// as often as wanted.
	BeginCapture(s Stream) error
	EndCapture(s Stream) (Graph, error)
	LaunchGraph(g Graph, s Stream) error
	FreeGraph(g Graph) error

	// Close gives everything back; the error names what was still held.
	Close() error
}
