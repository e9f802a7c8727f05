package session

import (
	"fmt"
	"runtime/debug"

	"ppal/datasets/matrix"
)

// keptRows returns the folder of the rows that stay for later sessions; "": none stay.
func (d Device) keptRows() string {
	if d.Memory == 0 {
		return ""
	}
	return d.KeptDir
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

// warnBeyond adds a warning if the rows stay in memory and are larger than the bound of the memory.
// Only the rows of CSV files may lie in files.
func (l *loaded) warnBeyond(d Device) {
	size := 0
	for _, s := range l.splits {
		rows, cols := s.data.Dims()
		width := 8
		switch x := s.data.(type) {
		case matrix.Sparse:
			_, columns, values := x.Entries()
			size += 4*len(columns) + 8*len(values)
			continue
		case matrix.EightBit:
			width = 1
		}
		size += rows * cols * width
	}
	if d.Memory > 0 && int64(size) > d.Memory {
		l.description.Warnings = append(l.description.Warnings, fmt.Sprintf("The rows take %d MiB and stay in memory, more than --memory %d MiB: "+
			"only the rows of a CSV file can lie in files. Use fewer rows, or convert the data to CSV.", size>>20, d.Memory>>20))
	}
}
