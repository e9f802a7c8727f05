package cmd

import (
	"os"
	"runtime"
	"runtime/debug"
)

// gcPercent is the allowed garbage in percent of the live heap. The live heap is a few large arrays
// without pointers, which cost the collector nothing, so it can run often; records and certificates
// leave vectors of the parameters' size and of the rows' number behind.
const gcPercent = 5

// leastGarbage is the least number of bytes of garbage between two collections. Without this limit,
// a small table would spend a third of its CPU time on collections.
const leastGarbage = 32 << 20

// largeGarbage is gcPercent for a heap of more than largeHeap beside the ballast. An iteration on
// large data takes longer than a collection, and the garbage would add to the peak of the memory.
const (
	largeGarbage = 2
	largeHeap    = 64 << 20
)

// ballastBytes makes gcPercent of the heap at least leastGarbage.
const ballastBytes = leastGarbage * 100 / gcPercent

// hugeHeap is the number of bytes at the start of the heap that ppal asks the kernel to back with
// huge pages. A run on a small table touches about 60 MB, and one fault for each 4 KiB of them
// would take a tenth of its CPU time.
const hugeHeap = 64 << 20

// prepareHeap sets how often the collector runs, unless the user's GOGC does. The caller keeps the
// returned ballast alive: the collector counts its bytes as live.
func prepareHeap() (ballast []byte) {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	// No collection may free the first block before the ballast lies behind it.
	debug.SetGCPercent(-1)
	adviseHugePages(make([]byte, hugeHeap))
	// Nothing writes the ballast, so it takes no memory.
	ballast = make([]byte, ballastBytes)
	debug.SetGCPercent(gcPercent)
	runtime.GC() // frees the first block for the allocations of the run
	return ballast
}

// limitGarbage lets the collector run more often if the data of a run are large.
func limitGarbage() {
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.HeapAlloc > ballastBytes+largeHeap && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(largeGarbage)
	}
}
