// Package driver is the part of CUDA that a plan needs, as one interface: memory, copies, launches,
// captured graphs and matrix products.
//
// Two packages implement it: internal/cuda/nvidia (build tag gpu) calls NVIDIA's driver, and
// internal/cuda/double is the test double.
package driver

// Pointer is an address in device memory. 0 means no memory. An address inside an allocation is the
// base plus an offset in bytes.
type Pointer uint64

// Offset returns the address that many bytes further.
func (p Pointer) Offset(bytes int) Pointer { return p + Pointer(bytes) }

// The handles of a Driver's objects. The stream 0 is the default stream. For all other types, 0
// means no object.
type (
	Stream   uint64
	Event    uint64
	Module   uint64
	Function uint64
	Graph    uint64
)

// Span is a range of device memory.
type Span struct {
	At    Pointer
	Bytes int
}

// Launch is one launch of a kernel. Every argument takes 8 bytes, little endian: a Pointer, an
// integer (IntArg), a float64 (Float64Arg), or a float32 in the low half.
type Launch struct {
	Function    Function
	Name        string // of the kernel, for messages
	Grid, Block [3]int
	Shared      int // bytes of dynamic shared memory
	Args        []uint64
	// Reads and Writes declare the memory that the kernel touches, for drivers that check launches. A
	// strided matrix is one span from the first element to the last.
	Reads, Writes []Span
}

// Info describes a device.
type Info struct {
	Ordinal      int
	Name         string // "NVIDIA H200"
	Major, Minor int    // compute capability
	Processors   int    // streaming multiprocessors
	Memory       int64  // bytes
	Driver       string // the version of CUDA that the driver supports, "13.0"
	Products     string // the library of matrix products with its version, "cuBLAS 13.1.0"
	UUID         string // the same for one GPU in all processes, and different for all GPUs; "": not known
}

// Driver is the context of one device. Work on a stream runs in order. Copies from or to pinned
// memory, launches, products and graph launches return before the work has run. Only one goroutine
// at a time may use a Driver.
//
// Errors have the type *Error. The error of an allocation that does not fit wraps ErrOutOfMemory.
type Driver interface {
	Info() Info
	// Memory returns the free bytes and all bytes of the device.
	Memory() (free, total int64, err error)
	Allocate(bytes int) (Pointer, error)
	Free(p Pointer) error
	// Pinned allocates host memory that the device reads and writes itself.
	Pinned(bytes int) ([]byte, error)
	FreePinned(b []byte) error
	// Mapped returns the address of pinned memory for kernels, which read and write the host's memory
	// through it. What a kernel wrote is there for the host after the stream was synchronized. An
	// error means that the device cannot do so.
	Mapped(host []byte) (Pointer, error)

	NewStream() (Stream, error)
	FreeStream(s Stream) error
	Synchronize(s Stream) error
	NewEvent() (Event, error)
	FreeEvent(e Event) error
	// Record marks the point that s has reached, Wait makes s wait for that point, and Elapsed returns
	// the milliseconds between two points that were reached.
	Record(e Event, s Stream) error
	Wait(s Stream, e Event) error
	Elapsed(from, to Event) (milliseconds float64, err error)

	// Upload and Download copy len(host) bytes between host and device. Copy copies within the device.
	Upload(s Stream, to Pointer, host []byte) error
	Download(s Stream, host []byte, from Pointer) error
	Copy(s Stream, to, from Pointer, bytes int) error
	// Clear sets bytes to 0.
	Clear(s Stream, p Pointer, bytes int) error

	// Load compiles a module of PTX text.
	Load(ptx string) (Module, error)
	// LoadBinary loads a module that is compiled for the device. A driver that cannot do so returns an
	// error.
	LoadBinary(module []byte) (Module, error)
	Function(m Module, name string) (Function, error)
	Launch(s Stream, l *Launch) error
	// Multiply runs a product. The error of a product that the library refuses wraps ErrNotSupported.
	Multiply(s Stream, g *Gemm) error
	// Integers returns nil if the library's products of 8-bit integers may be used, else an error with
	// the reason. The first call compares a few products with the host's.
	Integers() error

	// BeginCapture records the following calls on s instead of running them. EndCapture makes a graph
	// of the calls, which LaunchGraph runs any number of times.
	BeginCapture(s Stream) error
	EndCapture(s Stream) (Graph, error)
	LaunchGraph(g Graph, s Stream) error
	FreeGraph(g Graph) error

	// Close releases all objects. The error names the objects that the caller did not release.
	Close() error
}

// Witness is a Driver that checks the host's reads of pinned memory.
type Witness interface {
	// HostReads returns an error if the device may still write to pinned memory that the host is
	// about to read: a copy or a launch that writes there is not known to be done.
	HostReads(host []byte) error
}
