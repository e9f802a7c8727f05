package session

import (
	"fmt"

	"ppal/trainer/method"
)

// checkHistory refuses a primal step whose earlier vectors do not fit in memory. On a GPU they lie
// in the device's memory.
func (a *assembly) checkHistory() error {
	history := method.History(a.options.Method)
	if history == 0 || a.devices.GPU != nil {
		return nil
	}
	bytes := uint64(history) * uint64(a.parameters) * uint64(a.dtype.Size())
	return a.devices.Options.CheckMemory(bytes, fmt.Sprintf("the %d vectors of %d parameters of the step lbfgs (another: --primal nesterov) need", history, a.parameters))
}

// checkBatches refuses mini-batches whose packed rows, which the CPU keeps beside all rows, do not
// fit in memory. A process has its part of the rows.
func (a *assembly) checkBatches() error {
	if a.devices.CPU == nil || a.devices.GPU != nil {
		return nil // each iteration copies the rows of its batch
	}
	bytes := a.batches.KeptBytes(a.dtype.Size(), a.devices.Pages != nil) / uint64(a.devices.Team.Size())
	return a.devices.Options.CheckMemory(bytes, "the second packed copy of the rows for --batch-size (train without it) needs")
}
