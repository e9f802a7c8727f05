package session

import "fmt"

// leastGPUWork is the work of an iteration, in nanoseconds on one thread of a CPU, from which the
// automatic device is a GPU. An iteration on a GPU takes about 0.1 ms whatever the problem,
// because the launches and the exchange with the host take that long (docs/guides/gpu.md).
const leastGPUWork = 4e5

// tooSmall returns a sentence that says why the CPU trains instead of the open GPU, or "" if the
// GPU trains. The rule holds for automatic devices with automatic products. It depends on the
// shapes of the training rows and of the model, and on the batch size, so equal runs take the same
// device.
func (a *assembly) tooSmall() string {
	d := a.devices
	if o := d.options; d.gpu == nil || o.Kind != "" || o.Products != "" || o.MicroBatch > 0 {
		return ""
	}
	work := a.iterationWork()
	if train := a.splits[0].Rows; a.onBatches(train) {
		work *= float64(a.options.BatchSize) / float64(train.Len())
	}
	if work >= leastGPUWork {
		return ""
	}
	return fmt.Sprintf("The CPU trains, because the problem is small: about %.2g ms an iteration on one thread, and automatic devices take the GPU "+
		"from %.2g ms on. --device cuda takes the GPU.", work/1e6, leastGPUWork/1e6)
}

// leaveGPU closes the GPU and opens the CPU. note says why.
func (a *assembly) leaveGPU(note string) error {
	o := a.devices.options
	if err := a.devices.close(); err != nil {
		return err
	}
	o.Kind = CPU
	opened, err := openDevices(o)
	if err != nil {
		return err
	}
	opened.options.Kind, opened.fallback = "", note
	a.devices = opened
	return nil
}
