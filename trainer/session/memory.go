package session

import "fmt"

// keptRows returns the folder of the rows that stay for later sessions; "": none stay.
func (d Device) keptRows() string {
	if d.Memory == 0 {
		return ""
	}
	return d.KeptDir
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
