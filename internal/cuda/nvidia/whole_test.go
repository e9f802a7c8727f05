//go:build gpu

package nvidia_test

import (
	"slices"
	"testing"

	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/nvidia"
	"ppal/internal/gpucheck"
	"ppal/internal/require"
)

// The small part of gpu-check passes on the stub: plans of every kind, kernel names from PTX,
// captured graphs, products in cuBLAS's order, and kernels compiled for the host. Both halves agree
// with the CPU device, and two runs agree to the bit.
func TestWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("it does not depend on the version of the header")
	}
	parts := gpucheck.Parts()
	small := parts[slices.IndexFunc(parts, func(p gpucheck.Part) bool { return p.Name == "small" })]
	results := require.Value(small.Cases[0].Run(t.Context(), gpucheck.Options{
		Open: func() (driver.Driver, error) { return nvidia.Open(0) }, Log: t.Logf,
	}))(t)
	if len(results) == 0 {
		t.Error("nothing was checked")
	}
	for _, r := range results {
		if r.Status != gpucheck.Passed {
			t.Errorf("%+v", r)
		}
	}
}
