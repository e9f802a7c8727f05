//go:build !gpu

package session

import "ppal/cuda/open"

// openGPU returns the error that says how to build a program with GPU support. Such a build alone links package cuda and its kernels.
func openGPU(o GPUOptions) (GPU, error) {
	_, err := open.Open(o.Ordinal)
	return nil, err
}
