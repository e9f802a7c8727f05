package device

import (
	"fmt"

	"ppal/internal/memory"
)

// bytesPerParameter is the least memory of each parameter, in bytes: the iterate and gradients, a
// method's other vectors, the certificate, and the file in float64. Runs take up to twice as much
// (models.MaxParameters).
const bytesPerParameter = 120

// leastResident is the least bound of the memory that ppal keeps with few rows and a small model:
// its program file, garbage between collections, blocks of rows, and the pages that the current
// work reads. Runs on 1.2 million rows with 5 and 50 numbers needed at most 147 MiB of it.
const leastResident = 160 << 20

// bytesPerRow is the memory of a row whose features lie in files: labels, groups, scores, and the
// sorted rows of the exact step. Runs on 5 and 10 million rows needed 72 and 86 with bounds on
// surrogates, and 117 to 142 with bounds on decisions.
const bytesPerRow = 150

// Free returns the memory that the session may still take, in bytes. Processes on one machine have
// equal parts of what the machine leaves. ok is false if there is no limit, or if the system does
// not say.
func (o Options) Free() (bytes uint64, ok bool) {
	switch {
	case o.MemoryLimit == 0:
		bytes, ok = memory.Available()
		return bytes / uint64(max(1, o.Neighbours)), ok
	case o.MemoryLimit < 0:
		return 0, false
	}
	limit := uint64(o.MemoryLimit)
	return limit - min(limit, memory.Resident()), true
}

// CheckMemory returns an error if bytes exceeds the free memory. what is the beginning of a clause
// that the error completes with the bytes: "5 parameters need".
func (o Options) CheckMemory(bytes uint64, what string) error {
	free, known := o.Free()
	if !known || bytes <= free {
		return nil
	}
	return o.beyondMemory(free, bytes, what, "use fewer hidden units, fewer rows or features")
}

// beyondMemory is the error of a need for more bytes than are free. advice says what the user may
// do besides setting a larger limit.
func (o Options) beyondMemory(free, bytes uint64, what, advice string) error {
	const gigabyte = 1e9
	return o.Refuse("memory-limit", fmt.Sprintf("leaves %.2g GB, and %s at least %.2g GB: %s, or a larger limit; none turns the check off",
		float64(free)/gigabyte, what, float64(bytes)/gigabyte, advice))
}

// Room returns the function that refuses rows beyond the memory that is free now, or nil if there
// is no limit.
func (o Options) Room() func(bytes uint64) error {
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

// KeptRows returns the folder of the rows that stay for later sessions; "": none stay.
func (o Options) KeptRows() string {
	if o.Memory == 0 {
		return ""
	}
	return o.KeptDir
}

// TooLittle returns a warning if the bound of the memory is smaller than a run with the given
// numbers of rows and parameters may need, else "".
func (o Options) TooLittle(rows, parameters int) string {
	least := leastResident + int64(rows)*bytesPerRow + int64(parameters)*bytesPerParameter
	if o.Memory == 0 || o.Memory >= least {
		return ""
	}
	return fmt.Sprintf("--memory %d MiB may be exceeded: the least bound that ppal keeps in a run with this many rows and parameters is about %d MiB.", o.Memory>>20, (least+1<<20-1)>>20)
}

// CheckParameters refuses a model whose n parameters do not fit in memory.
func (d *Devices) CheckParameters(n int) error {
	return d.Options.CheckMemory(uint64(n)*bytesPerParameter, fmt.Sprintf("%d parameters need", n))
}
