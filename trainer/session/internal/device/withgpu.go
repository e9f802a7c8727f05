//go:build gpu

package device

import (
	"ppal/cuda"
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/nvidia"
)

// openGPU opens a GPU of this machine. If several processes run on the machine, each process opens
// the GPU with the number of its place, unless the user chooses a GPU.
func openGPU(o driver.GPUOptions) (driver.GPU, error) {
	number := o.Ordinal
	if o.Neighbours > 0 && number == 0 {
		all, err := nvidia.Devices()
		if len(all) == 0 { // otherwise cuda.Open says what is missing, which may also be cuBLAS
			return nil, err
		}
		number = o.Place % len(all)
	}
	digits, err := cuda.ChosenDigits()
	if err != nil {
		return nil, err
	}
	gpu, err := cuda.Open(number, cuda.Options{Products: cuda.Products(o.Products), MicroBatch: o.MicroBatch, Digits: digits})
	if err != nil {
		return nil, err
	}
	return gpu, nil
}
