//go:build !gpu

package graph

import "ppal/internal/cuda/nvidia"

// openGPU returns an error that says how to build a program with GPU support. Only such a program
// links package cuda and the kernels.
func openGPU(o GPUOptions) (GPU, error) {
	_, err := nvidia.Open(o.Ordinal)
	return nil, err
}
