//go:build gpu

package session

import (
	"os"

	"ppal/cuda"
	"ppal/cuda/open"
)

// openGPU opens one of this machine's GPUs.
func openGPU(o GPUOptions) (GPU, error) {
	d, err := open.Open(o.Ordinal)
	if err != nil {
		return nil, err
	}
	gpu, err := cuda.Open(d, cuda.Options{Products: o.Products, MicroBatch: o.MicroBatch,
		OwnDigits: os.Getenv(cuda.OwnProductsSetting) == cuda.OwnProducts})
	if err != nil {
		return nil, err
	}
	return gpu, nil
}
