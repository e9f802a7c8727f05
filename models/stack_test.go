package models

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"ppal/internal/require"
)

// The stacked vector is the concatenation of the nodes' values, and unstacking returns the
// weights.
func TestStackIsTheNodesMemory(t *testing.T) {
	for _, spec := range []Spec{
		{Inputs: 3, Outputs: 2},
		{Inputs: 3, Hidden: []int{4, 5}, Outputs: 2},
		{Inputs: 3, Hidden: []int{4}, Outputs: 2, Heads: Separate},
	} {
		weights := require.Value(Init(spec, rand.New(rand.NewPCG(1, 2))))(t)
		net := require.Value(New(gorgonia.NewGraph(), spec, tensor.Float64, weights))(t)
		var want []float64
		for _, n := range net.Parameters() {
			want = append(want, n.Value().Data().([]float64)...)
		}
		x, err := Stack(spec, weights)
		if err != nil || !cmp.Equal(x, want) {
			t.Errorf("%+v: Stack = %v, %v, want %v", spec, x, err, want)
		}
		back, err := Unstack(spec, x)
		if err != nil || !cmp.Equal(back, weights) {
			t.Errorf("%+v: Unstack differs: %v %v", spec, err, cmp.Diff(back, weights))
		}
		for _, wrong := range [][]float64{x[1:], append(x, 0)} {
			if _, err := Unstack(spec, wrong); !errors.Is(err, ErrWeights) {
				t.Errorf("%+v: Unstack of %d numbers: %v, want ErrWeights", spec, len(wrong), err)
			}
		}
	}
}
