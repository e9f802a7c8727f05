package build

import (
	"fmt"

	"ppal/internal/mapped"
)

// bytesPerParameter is the smallest memory for each parameter, in bytes: the iterate, the
// gradients, the other vectors of a method, the certificate, and the model file in float64. Runs
// take up to twice as much (models.MaxParameters).
const bytesPerParameter = 120

// leastResident is the smallest value of --memory, in bytes, that ppal does not exceed with few
// rows and a small model. It covers the program file, garbage between collections, blocks of rows,
// and the pages that the current work reads. Runs on 1.2 million rows with 5 and 50 numbers needed
// at most 147 MiB.
const leastResident = 160 << 20

// bytesPerRow is the memory of a row, in bytes, whose features lie in files: labels, groups,
// scores, and the sorted rows of the exact step. Runs on 5 and 10 million rows needed 72 and 86
// bytes with bounds on surrogates, and 117 to 142 bytes with bounds on decisions.
const bytesPerRow = 150

// Free returns the memory that the session may still take, in bytes. Processes on one machine share
// the available memory equally. ok is false without a limit, or if the system does not report its
// memory.
func (o Options) Free() (bytes uint64, ok bool) {
	switch {
	case o.MemoryLimit == 0:
		bytes, ok = mapped.FreeMemory()
		return bytes / uint64(max(1, o.Neighbours)), ok
	case o.MemoryLimit < 0:
		return 0, false
	}
	limit := uint64(o.MemoryLimit)
	return limit - min(limit, mapped.ResidentMemory()), true
}

// CheckMemory returns an error if bytes exceeds the free memory. what begins a clause that the
// error completes with the number of bytes, such as "5 parameters need".
func (o Options) CheckMemory(bytes uint64, what string) error {
	free, known := o.Free()
	if !known || bytes <= free {
		return nil
	}
	return o.beyondMemory(free, bytes, what, "use fewer hidden units, fewer rows or features")
}

// beyondMemory returns the error of a need for more bytes than are free. advice says what the user
// can change instead of the limit.
func (o Options) beyondMemory(free, bytes uint64, what, advice string) error {
	const gigabyte = 1e9
	return o.Refuse("memory-limit", fmt.Sprintf("leaves %.2g GB, but %s at least %.2g GB: %s, or raise the limit (none turns the check off)",
		float64(free)/gigabyte, what, float64(bytes)/gigabyte, advice))
}

// CheckRows returns a function that returns an error for rows that are larger than the memory that
// is free now, or nil without a limit.
func (o Options) CheckRows() func(bytes uint64) error {
	free, known := o.Free()
	if !known {
		return nil
	}
	return func(bytes uint64) error {
		if bytes <= free {
			return nil
		}
		return o.beyondMemory(free, bytes, "the rows that are read so far need", "use --memory SIZE, which keeps rows in files, or fewer rows or columns")
	}
}

// KeptRows returns the folder of the rows that ppal keeps for later sessions; "": none.
func (o Options) KeptRows() string {
	if o.Memory == 0 {
		return ""
	}
	return o.KeptDir
}

// TooLittle returns a warning if --memory is smaller than the memory that a run with the given
// numbers of rows and parameters may need, else "".
func (o Options) TooLittle(rows, parameters int) string {
	least := leastResident + int64(rows)*bytesPerRow + int64(parameters)*bytesPerParameter
	if o.Memory == 0 || o.Memory >= least {
		return ""
	}
	return fmt.Sprintf("This run may exceed --memory %d MiB, because of its numbers of rows and parameters: set --memory to about %d MiB or more.", o.Memory>>20, (least+1<<20-1)>>20)
}

// CheckParameters returns an error if n parameters do not fit in memory.
func (d *Devices) CheckParameters(n int) error {
	return d.Options.CheckMemory(uint64(n)*bytesPerParameter, fmt.Sprintf("%d parameters need", n))
}
