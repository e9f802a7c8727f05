//go:build gpu

package cuda_test

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/cuda"
	"ppal/cuda/double"
	"ppal/internal/gpucheck"
	"ppal/internal/graphcases"
	"ppal/models"
	"ppal/trainer/graph"
)

// Results do not depend on the number of integer sums that are in memory at a time.
func TestSumsInPieces(t *testing.T) {
	c := graphcases.Network(models.Spec{Inputs: 30, Hidden: []int{20}}, []int{40, 50, 60}, constraints.Sigmoid, true, graphcases.Bytes)
	var first [][]float64
	for _, bytes := range []int{1, 3000, 1 << 20} {
		r := double.Computing(double.Options{})
		d, err := cuda.Open(r, cuda.Options{Products: cuda.Int8x3})
		if err != nil {
			t.Fatal(err)
		}
		cuda.SetSums(d, bytes)
		p, err := c.Problem(tensor.Float32, graph.On(d))
		if err != nil {
			t.Fatal(err)
		}
		got, err := gpucheck.Numbers(p)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
			if n := r.Count("Multiply"); n != 150+30 {
				t.Errorf("%d products of a row each, want one for each row and each feature", n)
			}
		}
		for i := range got {
			if !slices.Equal(got[i], first[i]) {
				t.Errorf("%d bytes: result %d differs", bytes, i)
			}
		}
		if err := d.Close(); err != nil || r.Violations() != nil {
			t.Errorf("error %v, violations %v", err, r.Violations())
		}
	}
}
