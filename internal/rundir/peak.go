package rundir

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
)

// PeakBytes returns the peak resident memory of this process (Linux), or else the memory that Go's
// runtime has obtained.
func PeakBytes() uint64 {
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		if kilobytes, ok := highWater(status); ok {
			return kilobytes << 10
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}

// highWater finds the line "VmHWM:  123 kB".
func highWater(status []byte) (kilobytes uint64, ok bool) {
	for line := range bytes.Lines(status) {
		fields := bytes.Fields(line)
		if len(fields) >= 2 && string(fields[0]) == "VmHWM:" {
			kilobytes, err := strconv.ParseUint(string(fields[1]), 10, 64)
			return kilobytes, err == nil
		}
	}
	return 0, false
}
