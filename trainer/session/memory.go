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
func (l *Data) freeMemory() {
	elements := 0
	for _, s := range l.splits {
		rows, cols := s.data.Dims()
		elements += rows * cols
	}
	if elements > largeData {
		debug.FreeOSMemory()
	}
}

// leastResident is the least bound of the memory that ppal keeps with few rows and a small model:
// its program file, garbage between collections, blocks of rows, and the pages that the current
// work reads. Runs on 1.2 million rows with 5 and 50 numbers needed at most 147 MiB of it.
const leastResident = 160 << 20

// bytesPerRow is the memory of a row whose features lie in files: labels, groups, scores, and the
// sorted rows of the exact step. Runs on 5 and 10 million rows needed 72 and 86 with bounds on
// surrogates, and 117 to 142 with bounds on decisions.
const bytesPerRow = 150

// tooLittle returns a warning if the bound of the memory is smaller than a run with the given
// numbers of rows and parameters may need, else "".
func (d Device) tooLittle(rows, parameters int) string {
	least := leastResident + int64(rows)*bytesPerRow + int64(parameters)*bytesPerParameter
	if d.Memory == 0 || d.Memory >= least {
		return ""
	}
	return fmt.Sprintf("--memory %d MiB may be exceeded: the least bound that ppal keeps in a run with this many rows and parameters is about %d MiB.", d.Memory>>20, (least+1<<20-1)>>20)
}

// warnBeyond adds a warning if the rows stay in memory and are larger than the bound of the memory.
// Published and built-in tables stay in memory.
func (l *Data) warnBeyond(d Device) {
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
			"the rows of published and built-in tables do not lie in files. Use a larger --memory, or your own CSV file.", size>>20, d.Memory>>20))
	}
}
