//go:build gpu

package session

import (
	"fmt"
	"os"

	"ppal/cuda"
	"ppal/cuda/open"
)

// openGPU opens one or several of this machine's GPUs.
func openGPU(o GPUOptions) (GPU, error) {
	visible := 0
	if o.AllGPUs || o.Neighbours > 0 {
		all, err := open.Devices()
		if len(all) == 0 { // else opening a device says what is missing, and cuBLAS may be
			return nil, err
		}
		visible = len(all)
	}
	numbers := o.numbers(visible)
	options := cuda.Options{Products: o.Products, MicroBatch: o.MicroBatch, OwnDigits: os.Getenv(cuda.OwnProductsSetting) == cuda.OwnProducts}
	if len(numbers) != 1 || o.Neighbours > 0 {
		var err error
		if options.GPUSums, err = cuda.ChosenSums(); err != nil {
			return nil, err
		}
		if o.Neighbours > 0 {
			if options.GPUSums == cuda.PeerSums || options.GPUSums == cuda.NCCLSums {
				return nil, fmt.Errorf("cuda: %s=%s: several processes add sums through the host's memory: want host, or leave it out",
					cuda.SumsSetting, options.GPUSums)
			}
			options.GPUSums = cuda.HostSums
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
