//go:build gpu

package graph

import (
	"ppal/cuda"
	"ppal/internal/cuda/nvidia"
)

// openGPU implements OpenGPU.
func openGPU(o GPUOptions) (GPU, error) {
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
