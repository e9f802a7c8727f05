package bench

import (
	"os"
	"runtime/debug"
)

// resetPeak gives memory that is free back to the system and lets rundir.PeakBytes begin anew; it says whether the system can (Linux).
// Where it cannot, a peak is that of the process so far.
func resetPeak() bool {
	debug.FreeOSMemory()
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil // 5: the high-water mark, see proc_pid_clear_refs(5)
}
