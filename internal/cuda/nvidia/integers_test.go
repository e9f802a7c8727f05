//go:build gpu

package nvidia_test

import (
	"errors"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/cuda"
	"ppal/internal/cuda/driver"
	"ppal/internal/cuda/nvidia"
	"ppal/internal/gpucheck"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
)

// unreliable lists settings of the stub, and what the device then says about products of integers.
var unreliable = []struct{ name, value, want string }{
	{"PPAL_STUB_FAIL", "cublasGemmEx=15", "the stub failed to execute"},
	{"PPAL_STUB_FAIL", "cublasGemmEx=7", "the stub failed to execute"},
	{"PPAL_STUB_WRONG", "1", "the result is wrong"},
	{nvidia.ProductsFile, nvidia.NoProducts, "there is no cuBLAS"},
}

// The test of integer products passes on a library that multiplies, and finds a library that
// refuses products, that returns wrong numbers, or that is missing. Automatic products are int8x3
// only if the test passes and the device's integer products are known to be fast.
func TestIntegers(t *testing.T) {
	auto := func(want cuda.Products) {
		t.Helper()
		d, err := cuda.On(require.Value(nvidia.Open(0))(t), cuda.Options{})
		require.NoError(t, err)
		if got := cuda.Products(d.Products(784)); got != want {
			t.Errorf("automatic products are %v, want %v", got, want)
		}
		require.NoError(t, d.Close())
	}
	require.NoError(t, open(t).Integers())
	auto(cuda.Int8x3)
	for _, c := range unreliable {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			if err := open(t).Integers(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			auto(cuda.Float32)
		})
	}
	for capability, want := range map[string]cuda.Products{"8.0": cuda.Int8x3, "9.0": cuda.Int8x3, "10.0": cuda.Float32, "12.0": cuda.Float32} {
		t.Setenv("PPAL_STUB_CAPABILITY", capability)
		auto(want)
	}
}

// If the library refuses products, returns wrong products of integers or is missing, the program's
// own kernels multiply: both halves of a problem have the results of the library, also in graphs.
func TestOwnProducts(t *testing.T) {
	c := graphcases.Network(models.Spec{Inputs: 21, Hidden: []int{20}}, []int{40, 30}, constraints.Sigmoid, true, graphcases.Bytes)
	numbers := func(products cuda.Products) [][]float64 {
		d, err := cuda.On(require.Value(nvidia.Open(0))(t), cuda.Options{Products: products})
		require.NoError(t, err)
		p, err := c.Problem(tensor.Float32, graph.On(d))
		require.NoError(t, err)
		var n [][]float64
		for range 3 { // launch by launch, captured, replayed
			n, err = gpucheck.Numbers(p)
			require.NoError(t, err)
		}
		require.NoError(t, d.Close())
		return n
	}
	for _, products := range []cuda.Products{cuda.Float32, cuda.TF32, cuda.BF16x3, cuda.Int8x3} {
		want, bound := numbers(products), 1e-5
		if products == cuda.TF32 {
			bound = 1e-2
		}
		for _, u := range unreliable {
			t.Setenv(u.name, u.value)
			if u.value == "cublasGemmEx=7" && products != cuda.Int8x3 {
				t.Setenv(u.name, "cublasGemmEx=15") // 7 is an error of products that are not of integers
			}
			for i, got := range numbers(products) {
				if d := gpucheck.Distance(got, want[i]); !(d <= bound) {
					t.Errorf("%v with %s=%s: result %d differs by %.2g", products, u.name, u.value, i, d)
				}
			}
			t.Setenv(u.name, map[string]string{nvidia.ProductsFile: stubFile}[u.name])
		}
	}
	t.Setenv("PPAL_STUB_FAIL", "cublasGemmEx=13")
	d, err := cuda.On(require.Value(nvidia.Open(0))(t), cuda.Options{Products: cuda.Float32})
	require.NoError(t, err)
	p, err := c.Problem(tensor.Float32, graph.On(d))
	require.NoError(t, err)
	if _, err := gpucheck.Numbers(p); err == nil || errors.Is(err, driver.ErrNotSupported) {
		t.Errorf("an error of execution: %v, want the error", err)
	}
	require.NoError(t, d.Close())
}
