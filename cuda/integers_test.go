//go:build gpu

package cuda_test

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/cuda"
	"ppal/internal/cuda/double"
	"ppal/internal/gpucheck"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
)

// Results do not depend on the number of integer sums that are in memory at a time. The pieces have
// about equal numbers of rows, in multiples of 128.
func TestSumsInPieces(t *testing.T) {
	c := graphcases.Network(models.Spec{Inputs: 30, Hidden: []int{20}}, []int{40, 250, 160}, constraints.Sigmoid, true, graphcases.Bytes)
	var first [][]float64
	const row = 4 * 3 * 24 // bytes: three digits of 20 columns, padded to 24
	for _, piece := range []struct{ bytes, products int }{{1, 4 + 1}, {300 * row, 2 + 1}, {449 * row, 2 + 1}, {450 * row, 1 + 1}, {0, 1 + 1}} {
		r := double.Computing(double.Options{})
		d := require.Value(cuda.On(r, cuda.Options{Products: cuda.Int8x3, Sums: piece.bytes}))(t)
		p := require.Value(c.Problem(tensor.Float32, graph.On(d)))(t)
		got := require.Value(gpucheck.Numbers(p))(t)
		if first == nil {
			first = got
		}
		if n := r.Count("Multiply"); n != piece.products {
			t.Errorf("%d bytes: %d products, want %d", piece.bytes, n, piece.products)
		}
		for i := range got {
			if !slices.Equal(got[i], first[i]) {
				t.Errorf("%d bytes: result %d differs", piece.bytes, i)
			}
		}
		if err := d.Close(); err != nil || r.Violations() != nil {
			t.Errorf("error %v, violations %v", err, r.Violations())
		}
	}
}
