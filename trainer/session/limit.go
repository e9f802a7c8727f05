package session

import (
	"fmt"

	"ppal/internal/memory"
	"ppal/trainer/method"
)

// NoMemoryLimit is the value of Device.MemoryLimit that turns the check of the memory off.
const NoMemoryLimit = -1

// bytesPerParameter is the least memory of each parameter, in bytes: the iterate and gradients, a
// method's other vectors, the certificate, and the file in float64. Runs take up to twice as much
// (models.MaxParameters).
const bytesPerParameter = 120

// free returns the memory that the session may still take, in bytes. Processes on one machine have
// equal parts of what the machine leaves. ok is false if there is no limit, or if the system does
// not say.
func (d Device) free() (bytes uint64, ok bool) {
	switch {
	case d.MemoryLimit == 0:
		bytes, ok = memory.Available()
		return bytes / uint64(max(1, d.neighbours)), ok
	case d.MemoryLimit < 0:
		return 0, false
	}
	limit := uint64(d.MemoryLimit)
	return limit - min(limit, memory.Resident()), true
}

// checkMemory returns an error if bytes exceeds the free memory. what is the beginning of a clause
// that the error completes with the bytes: "5 parameters need".
func (d Device) checkMemory(bytes uint64, what string) error {
	free, known := d.free()
	if !known || bytes <= free {
		return nil
	}
	return beyondMemory(free, bytes, what, "use fewer hidden units, fewer rows or features")
}

// beyondMemory is the error of a need for more bytes than are free. advice says what the user may
// do besides setting a larger limit.
func beyondMemory(free, bytes uint64, what, advice string) error {
	const gigabyte = 1e9
	return &OptionError{Option: "memory-limit", Problem: fmt.Sprintf("leaves %.2g GB, and %s at least %.2g GB: %s, or a larger limit; none turns the check off",
		float64(free)/gigabyte, what, float64(bytes)/gigabyte, advice)}
}

// room returns the function that refuses rows beyond the memory that is free now, or nil if there
// is no limit.
func (d Device) room() func(bytes uint64) error {
	free, known := d.free()
	if !known {
		return nil
	}
	return func(bytes uint64) error {
		if bytes <= free {
			return nil
		}
		return beyondMemory(free, bytes, "the rows that are read so far need", "use --memory SIZE, which keeps rows in files, or fewer rows or columns")
	}
}

// checkParameters refuses a model whose parameters do not fit in memory.
func (a *assembly) checkParameters() error {
	n := a.builder.Parameters()
	return a.options.Device.checkMemory(uint64(n)*bytesPerParameter, fmt.Sprintf("%d parameters need", n))
}

// checkHistory refuses a primal step whose earlier vectors do not fit in memory. On a GPU they lie
// in the device's memory.
func (a *assembly) checkHistory() error {
	history := method.History(a.options.Method)
	if history == 0 || a.devices.gpu != nil {
		return nil
	}
	bytes := uint64(history) * uint64(a.parameters) * uint64(a.dtype.Size())
	return a.options.Device.checkMemory(bytes, fmt.Sprintf("the %d vectors of %d parameters of the step lbfgs (another: --primal nesterov) need", history, a.parameters))
}

// checkBatches refuses mini-batches whose packed rows, which the CPU keeps beside all rows, do not
// fit in memory. A process has its part of the rows.
func (a *assembly) checkBatches() error {
	if a.devices.cpu == nil || a.devices.gpu != nil {
		return nil // each iteration copies the rows of its batch
	}
	bytes := a.batches.KeptBytes(a.dtype.Size(), a.devices.pages != nil) / uint64(a.devices.team.Size())
	return a.options.Device.checkMemory(bytes, "the second packed copy of the rows for --batch-size (train without it) needs")
}

// memoryFlag returns the value of ppal's flag --memory-limit for the device: "auto", "none" or a
// number of bytes, such as "3000000000B".
func (d Device) memoryFlag() string {
	switch {
	case d.MemoryLimit == 0:
		return "auto"
	case d.MemoryLimit < 0:
		return "none"
	}
	return fmt.Sprintf("%dB", d.MemoryLimit)
}

// rowsFlag returns the value of ppal's flag --memory for the device: "all" or a number of bytes.
func (d Device) rowsFlag() string {
	if d.Memory == 0 {
		return "all"
	}
	return fmt.Sprintf("%dB", d.Memory)
}
