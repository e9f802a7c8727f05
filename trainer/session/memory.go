package session

import (
	"path/filepath"
	"runtime/debug"
)

// keptRows returns the folder of the rows that stay for later sessions; "": none stay.
func (d Device) keptRows() string {
	if d.Memory == 0 || d.MemoryDir == "" {
		return ""
	}
	return filepath.Join(d.MemoryDir, "ppal-rows")
}

// largeData is the number of elements of the data matrix from which freeMemory returns memory to
// the system: 64 MB of float64. For a small table, a collection costs more time than the memory is
// worth.
const largeData = 8 << 20

// freeMemory collects the garbage and returns its memory to the system if the data are large.
func (l *loaded) freeMemory() {
	elements := 0
	for _, s := range l.splits {
		rows, cols := s.data.Dims()
		elements += rows * cols
	}
	if elements > largeData {
		debug.FreeOSMemory()
	}
}
