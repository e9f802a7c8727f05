//go:build gpu

package session

import (
	"os"

	"ppal/cuda"
	"ppal/cuda/open"
)

// openGPU opens one or several of this machine's GPUs.
func openGPU(o GPUOptions) (GPU, error) {
	numbers := []int{o.Ordinal}
	switch {
	case o.AllGPUs:
		all, err := open.Devices()
		if len(all) == 0 { // else opening a device says what is missing, and cuBLAS may be
			return nil, err
		}
		numbers = nil
		for _, i := range all {
			numbers = append(numbers, i.Ordinal)
		}
	case len(o.GPUs) > 0:
		numbers = o.GPUs
	}
	options := cuda.Options{Products: o.Products, MicroBatch: o.MicroBatch, OwnDigits: os.Getenv(cuda.OwnProductsSetting) == cuda.OwnProducts}
	if len(numbers) != 1 {
		var err error
		if options.GPUSums, err = cuda.ChosenSums(); err != nil {
			return nil, err
		}
		several, err := cuda.OpenSeveral(numbers, open.Open, options)
		if err != nil {
			return nil, err
		}
		return several, nil
	}
	d, err := open.Open(numbers[0])
	if err != nil {
		return nil, err
	}
	gpu, err := cuda.Open(d, options)
	if err != nil {
		return nil, err
	}
	return gpu, nil
}
