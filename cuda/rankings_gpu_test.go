//go:build gpu

package cuda_test

import (
	"testing"

	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/internal/cuda/double"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/trainer/graph"
)

// Problems on pairs have the values of Gorgonia's machine, with and without micro-batches.
func TestRankings(t *testing.T) {
	for _, o := range []cuda.Options{{}, {MicroBatch: 50}} {
		d := require.Value(cuda.On(double.Computing(double.Options{}), o))(t)
		for _, c := range graphcases.Ranked() {
			want := values(t, c, tensor.Float64, graph.Tape{})
			for dtype, most := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 1e-5} {
				if d := far(values(t, c, dtype, graph.On(d)), want); !(d <= most) {
					t.Errorf("%+v, %s, %v: differs by %.2g", o, c.Name, dtype, d)
				}
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
