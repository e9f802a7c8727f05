package cuda_test

import (
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/internal/graphcases"
	"ppal/trainer/graph"
)

// The GPU has kernels for all steps of the operations that users want, or refuses the operation and
// names the step and the CPU.
func TestOperations(t *testing.T) {
	for _, o := range graphcases.Operations() {
		for _, dtype := range []tensor.Dtype{tensor.Float32} {
			d, _ := recorded(t, cuda.Options{}, 0)
			p, err := o.Problem(dtype, graph.On(d))
			switch {
			case o.Refused != "":
				if err == nil || !strings.Contains(err.Error(), o.Refused) {
					t.Errorf("%s: error %v, want %q", o.Name, err, o.Refused)
				}
			case o.OneCore:
				if err == nil || !strings.Contains(err.Error(), "train with --device cpu") {
					t.Errorf("%s: error %v, want the advice to use the CPU", o.Name, err)
				}
			case err != nil:
				t.Errorf("%s: %v", o.Name, err)
			default:
				iterate(t, p, 1, p.Space().New())
			}
		}
	}
}
