package bench

import (
	"os"
	"runtime/debug"
)

// resetPeak returns free memory to the system and resets the peak that rundir.PeakBytes reports. It
// returns false if the system cannot reset the peak (only Linux can); a peak then covers the whole
// process so far.
func resetPeak() bool {
	debug.FreeOSMemory()
	// 5: the high-water mark, see proc_pid_clear_refs(5)
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil
}
