//go:build gpu

package device

import (
	"ppal/cuda"
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/nvidia"
)

// openGPU opens one of this machine's GPUs. Among several processes on the machine, each takes the
// GPU with its place, unless the user names a GPU.
func openGPU(o driver.GPUOptions) (driver.GPU, error) {
	number := o.Ordinal
	if o.Neighbours > 0 && number == 0 {
		all, err := nvidia.Devices()
		if len(all) == 0 { // else opening a device says what is missing, and cuBLAS may be
			return nil, err
		}
		number = o.Place % len(all)
	}
	digits, err := cuda.ChosenDigits()
	if err != nil {
		return nil, err
	}
	gpu, err := cuda.Open(number, cuda.Options{Products: o.Products, MicroBatch: o.MicroBatch, Digits: digits})
	if err != nil {
		return nil, err
	}
	return gpu, nil
}
