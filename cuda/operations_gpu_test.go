//go:build gpu

package cuda_test

import (
	"testing"

	"ppal/cuda"
	"ppal/internal/cuda/double"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// The code of the kernels computes right gradients of the operations that users want.
func TestGradientsOfOperations(t *testing.T) {
	for _, o := range graphcases.Operations() {
		if o.Refused != "" || o.OneCore {
			continue
		}
		d := require.Value(cuda.On(double.Computing(double.Options{}), cuda.Options{}))(t)
		for _, dtype := range dtypes {
			p, err := o.Problem(dtype, graph.On(d))
			if err == nil {
				err = problem.CheckGradients(p)
			}
			if err != nil {
				t.Errorf("%s, %v: %v", o.Name, dtype, err)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
