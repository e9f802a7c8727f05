//go:build gpu

package cuda_test

import (
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/cuda"
	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/trainer/graph"
)

// Convolutions without patches take the fastest kernel whose measured error fits the products, with
// bias and relu in the same launch. Without tensor cores, in float64, and unless the options allow
// it, convolutions take patches.
func TestConvolutionsWithoutPatches(t *testing.T) {
	for _, c := range []struct {
		products cuda.Products
		dtype    tensor.Dtype
		implicit bool
		major    int
		kernel   string // of the convolutions; "": patches
		sums     string // of the derivatives by the filters
	}{
		{cuda.TF32, tensor.Float32, true, 9, "convolve_tf32_64", "filter_sums_tf32"},
		{cuda.BF16x2, tensor.Float32, true, 8, "convolve_bf16x2_64", "filter_sums_bf16x2"},
		{cuda.Float32, tensor.Float32, true, 9, "convolve_bf16x3_64", "filter_sums_bf16x3"},
		{cuda.Float32, tensor.Float32, true, 7, "", ""},
		{cuda.Float32, tensor.Float64, true, 9, "", ""},
		{cuda.TF32, tensor.Float32, false, 9, "", ""},
	} {
		r := double.Computing(double.Options{Info: driver.Info{Name: "emulated", Major: c.major, Memory: 1 << 30}})
		d := require.Value(cuda.On(r, cuda.Options{Products: c.products, Implicit: c.implicit}))(t)
		p := require.Value(graphcases.PictureCases()[1].Problem(c.dtype, graph.On(d)))(t)
		var got []string
		for _, name := range halves(t, p, r) {
			name = strings.TrimSuffix(name, "_f64")
			if strings.Contains(name, "patches") || strings.HasPrefix(name, "convolve") || strings.HasPrefix(name, "filter_sums") || name == "bias_relu" {
				got = append(got, name)
			}
		}
		want := strings.Fields("patches bias_relu patches bias_relu patches_sum patches patches patches patches")
		if c.kernel != "" {
			want = strings.Fields(strings.NewReplacer("F", "convolve_filters", "K", c.kernel, "S", c.sums).Replace("F K F K F K S S"))
		}
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%+v: launches %v,\nwant %v", c, got, want)
		}
		require.NoError(t, d.Close())
	}
}
