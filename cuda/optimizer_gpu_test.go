//go:build gpu

package cuda_test

import (
	"errors"
	"math"
	"testing"

	"ppal/cuda"
	"ppal/internal/cuda/double"
	"ppal/internal/require"
	"ppal/trainer/graph"
)

// The steps on the GPU give the same iterates as the CPU.
func TestOptimizerAgreesWithTheCPU(t *testing.T) {
	r := double.Computing(double.Options{})
	d := require.Value(cuda.On(r, cuda.Options{}))(t)
	host, device := newDisc(t), newDisc(t, graph.OnDevice(d))
	for k := range 60 {
		require.NoError(t, errors.Join(host.run(t), device.run(t)))
		want, got := host.x.Value().Data().([]float64), device.x.Value().Data().([]float64)
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= 1e-13) {
				t.Fatalf("step %d: x = %v on the GPU, %v on the CPU", k, got, want)
			}
		}
	}
	if err := d.Close(); err != nil || r.Violations() != nil {
		t.Errorf("error %v, violations %v", err, r.Violations())
	}
}
