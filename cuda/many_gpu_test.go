//go:build gpu

package cuda_test

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/internal/cuda/double"
	"ppal/internal/require"
	"ppal/trainer/graph"
	"ppal/trainer/problem"
)

// The gradients of many vectors have the same bits, with graphs and without, and with mapped memory
// and without.
func TestManyGradients(t *testing.T) {
	var want []float64
	for _, o := range []cuda.Options{{}, {NoGraphs: true}, {Copies: true}} {
		r := double.Computing(double.Options{})
		d := require.Value(cuda.On(r, o))(t)
		p := require.Value(small(t).Problem(tensor.Float32, graph.On(d)))(t)
		require.Value(p.Forward(make([]float64, 2)))(t)
		list := make([]problem.Vector, 10)
		for i := range list {
			list[i] = p.Space().New()
			require.NoError(t, p.Backward([]float64{1, 0.5, 0.25}, list[i]))
		}
		n, _ := p.Dims()
		for i, v := range list {
			got := make([]float64, n)
			p.Space().Read(got, v)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) || !slices.ContainsFunc(got, func(x float64) bool { return x != 0 }) {
				t.Errorf("%+v: the gradient in vector %d differs, or is 0", o, i)
			}
		}
		if err := d.Close(); err != nil || r.Violations() != nil {
			t.Errorf("error %v, violations %v", err, r.Violations())
		}
	}
}

// The gradient with bfloat16 terms is the same to rounding if its long sums are strided batches:
// of blocks of equal length, with a shorter last block, and in windows of rows.
func TestBlocksOfTerms(t *testing.T) {
	gradient := func(o cuda.Options) []float64 {
		o.Products = cuda.BF16x3
		r := double.Computing(double.Options{})
		d := require.Value(cuda.On(r, o))(t)
		p := require.Value(small(t).Problem(tensor.Float32, graph.On(d)))(t)
		n, _ := p.Dims()
		v, got := p.Space().New(), make([]float64, n)
		for range 3 { // launch by launch, then as a graph
			require.Value(p.Forward(make([]float64, 2)))(t)
			require.NoError(t, p.Backward([]float64{1, 0.5, 0.25}, v))
		}
		p.Space().Read(got, v)
		if err := d.Close(); err != nil || r.Violations() != nil {
			t.Errorf("error %v, violations %v", err, r.Violations())
		}
		return got
	}
	want := gradient(cuda.Options{})
	most := 0.0
	for _, x := range want {
		most = max(most, math.Abs(x))
	}
	for _, o := range []cuda.Options{{InnerBlock: 65}, {InnerBlock: 50}, {InnerBlock: 16, MicroBatch: 70}} {
		for i, x := range gradient(o) {
			if !(math.Abs(x-want[i]) <= 1e-6*most) {
				t.Fatalf("%+v: element %d is %v, want %v", o, i, x, want[i])
			}
		}
	}
}
