package cuda

import (
	"math"

	"ppal/cuda/kernels"
)

// Identity is the proximal map that changes nothing.
func Identity() kernels.Proximal {
	return kernels.Proximal{Scale: kernels.Value(1), Lower: kernels.Value(math.Inf(-1)), Upper: kernels.Value(math.Inf(1))}
}
