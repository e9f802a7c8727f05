//go:build gpu

package cuda_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/constraints"
	"ppal/cuda"
	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
	"ppal/internal/gpucheck"
	"ppal/internal/graphcases"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer/graph"
)

// ran returns the results of three runs of a problem's halves (launch by launch, captured, and
// replayed), and the number of launches of the kernels whose names begin with each of the prefixes.
// spoil may make calls of the device fail.
func ran(t *testing.T, o cuda.Options, device double.Options, spoil func(r *double.Driver, d *cuda.Device), prefixes ...string) (numbers [][]float64, counts []int) {
	t.Helper()
	c := graphcases.Network(models.Spec{Inputs: 9, Hidden: []int{20}}, []int{40, 2050, 60}, constraints.Sigmoid, true, graphcases.Bytes)
	r := double.Computing(device)
	o.ScaleRows = 1000 // several blocks of rows
	d := require.Value(cuda.On(r, o))(t)
	if spoil != nil {
		spoil(r, d)
	}
	p := require.Value(c.Problem(tensor.Float32, graph.On(d)))(t)
	tested := len(r.Calls())
	for k := range 3 {
		got := require.Value(gpucheck.Numbers(p))(t)
		if k > 0 && !slices.EqualFunc(got, numbers, slices.Equal) {
			t.Errorf("run %d differs from the first", k)
		}
		numbers = got
	}
	counts = make([]int, len(prefixes))
	for _, call := range r.Calls()[tested:] {
		for i, prefix := range prefixes {
			if strings.HasPrefix(call.Name, prefix) {
				counts[i]++
			}
		}
	}
	if err := d.Close(); err != nil || r.Violations() != nil {
		t.Errorf("error %v, violations %v", err, r.Violations())
	}
	return numbers, counts
}

// The program's own products with digits have the library's bits. They run if Options choose them,
// if the library has no products of integers, and by themselves in the forward half on compute
// capability 9.0, where warpgroups multiply. A product that the library refuses runs by the
// plain kernel the first time, and by the kernel with digits from then on.
func TestOwnDigits(t *testing.T) {
	prefixes := []string{"multiply_digits_", "multiply_int8", "dequantize_", "multiply_warpgroups_"}
	hopper := double.Options{Info: driver.Info{Name: "hopper", Major: 9, Processors: 132, Memory: 1 << 30}}
	for _, products := range []cuda.Products{cuda.Int8x3, cuda.Int8x2} {
		want, counts := ran(t, cuda.Options{Products: products}, double.Options{}, nil, prefixes...)
		if counts[0] != 0 || counts[1] != 0 || counts[2] == 0 {
			t.Errorf("%v with the library: %d own launches, %d plain, %d that dequantize", products, counts[0], counts[1], counts[2])
		}
		for name, c := range map[string]struct {
			options cuda.Options
			device  double.Options
			spoil   func(r *double.Driver, d *cuda.Device)
			mixed   bool
		}{
			"chosen":     {options: cuda.Options{Digits: cuda.OwnDigits}},
			"forward":    {options: cuda.Options{Digits: cuda.ForwardDigits}, mixed: true},
			"warpgroups": {options: cuda.Options{Digits: cuda.OwnDigits}, device: hopper},
			"automatic":  {device: hopper, mixed: true},
			"no library": {device: double.Options{Integers: errors.New("there is no library")}},
			"refused": {spoil: func(r *double.Driver, _ *cuda.Device) {
				r.FailAt("Multiply", 1, fmt.Errorf("here: %w", driver.ErrNotSupported))
			}, mixed: true},
		} {
			c.options.Products = products
			got, counts := ran(t, c.options, c.device, c.spoil, prefixes...)
			if !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("%v, %s: the results differ from the library's", products, name)
			}
			own, other := counts[0], counts[3]
			if c.device.Info.Major == 9 {
				own, other = other, own
			}
			if own == 0 || other > 0 || (counts[1]+counts[2] > 0) != c.mixed {
				t.Errorf("%v, %s: %d own launches, %d plain, %d that dequantize, %d of the other kind", products, name, own, counts[1], counts[2], other)
			}
		}
	}
	// Windows of rows have the library's bits, too.
	want, _ := ran(t, cuda.Options{Products: cuda.Int8x3, MicroBatch: 900}, double.Options{}, nil)
	got, _ := ran(t, cuda.Options{Products: cuda.Int8x3, MicroBatch: 900, Digits: cuda.OwnDigits}, double.Options{}, nil)
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Error("windows of rows: the results differ from the library's")
	}
}

// By default the program's own products take short sums only, also in windows of rows.
func TestOwnProductsOfShortSums(t *testing.T) {
	for _, c := range []struct {
		inputs, window int
		own            bool
	}{{1536, 0, true}, {1536, 25, true}, {1537, 0, false}} {
		r := double.Computing(double.Options{Info: driver.Info{Name: "hopper", Major: 9, Processors: 132, Memory: 1 << 30}})
		d := require.Value(cuda.On(r, cuda.Options{Products: cuda.Int8x3, MicroBatch: c.window}))(t)
		spec := models.Spec{Inputs: c.inputs, Hidden: []int{8}}
		p := require.Value(graphcases.Network(spec, []int{20, 20}, constraints.Sigmoid, false, graphcases.Bytes).Problem(tensor.Float32, graph.On(d)))(t)
		from := len(r.Calls())
		require.Value(gpucheck.Numbers(p))(t)
		own := slices.ContainsFunc(r.Calls()[from:], func(call double.Call) bool { return strings.HasPrefix(call.Name, "multiply_warpgroups_") })
		if own != c.own {
			t.Errorf("%+v: %v", c, own)
		}
		if err := d.Close(); err != nil || r.Violations() != nil {
			t.Errorf("error %v, violations %v", err, r.Violations())
		}
	}
}

// If the kernel with digits does not agree with the host, or the device has no integer tensor
// cores, the plain kernel multiplies.
func TestOwnDigitsAreTested(t *testing.T) {
	missing := errors.New("there is no library")
	fails := func(r *double.Driver, d *cuda.Device) {
		r.FailAt("Launch", 1, errors.New("no launch"))
		if err := d.TestDigits(); err == nil || !strings.HasSuffix(err.Error(), "no launch") {
			t.Errorf("a launch that fails: %v", err)
		}
	}
	_, counts := ran(t, cuda.Options{Products: cuda.Int8x3, Digits: cuda.OwnDigits}, double.Options{Integers: missing}, fails, "multiply_digits_", "multiply_int8")
	if counts[0] != 0 || counts[1] == 0 {
		t.Errorf("after a failed test: %d own launches, %d plain", counts[0], counts[1])
	}
	d, r := recorded(t, cuda.Options{}, 0) // computes nothing: the test reads wrong numbers
	if err := d.TestDigits(); err == nil || !strings.HasSuffix(err.Error(), "1 x 1 by 1 x 1: the result is wrong") {
		t.Errorf("wrong numbers: %v", err)
	}
	before := len(r.Calls())
	if d.TestDigits() == nil || len(r.Calls()) != before {
		t.Error("the test runs again, or forgets its error")
	}
	old := require.Value(cuda.On(double.New(double.Options{Info: driver.Info{Name: "old", Major: 7}}), cuda.Options{}))(t)
	if err := old.TestDigits(); err == nil || !strings.Contains(err.Error(), "compute capability 8.0") {
		t.Errorf("without integer tensor cores: %v", err)
	}
	if err := old.Close(); err != nil {
		t.Error(err)
	}
}

// PPAL_INT8 names whose kernels multiply with digits.
func TestChosenDigits(t *testing.T) {
	t.Setenv(cuda.DigitsSetting, "library")
	if p, err := cuda.ChosenDigits(); p != cuda.LibraryDigits || err != nil {
		t.Errorf("%q, %v", p, err)
	}
	t.Setenv(cuda.DigitsSetting, "fast")
	if _, err := cuda.ChosenDigits(); err == nil || err.Error() != "cuda: PPAL_INT8=fast: want own, forward or library" {
		t.Errorf("error %v", err)
	}
}
