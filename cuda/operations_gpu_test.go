//go:build gpu

package cuda_test

import (
	"errors"
	"math"
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
