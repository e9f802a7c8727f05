//go:build gpu

package gpucheck

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ppal/internal/bench"
	"ppal/internal/cuda/double"
	"ppal/internal/cuda/driver"
)

// The microbenchmarks run on a device that computes, and release every object.
func TestMicro(t *testing.T) {
	o := emulated(t, double.Options{})
	results, err := micro(t.Context(), o)
	if err != nil || len(results) != 9 || results[3].Name != "launch and wait" {
		t.Errorf("%v, error %v", results, err)
	}
	for _, r := range results {
		if r.Value <= 0 && !strings.Contains(r.Name, "among many") { // the emulated device's events have no time
			t.Errorf("%s: %v us", r.Name, r.Value)
		}
	}
	modules, err := compiling(t.Context(), o)
	if err != nil || !slices.ContainsFunc(modules, func(r Result) bool { return r.Name == "loading multiply_digits_f32.ptx" }) ||
		!strings.HasPrefix(modules[len(modules)-1].Name, "loading all") {
		t.Errorf("%v, error %v", modules, err)
	}
}

// Without mapped memory the microbenchmarks that need it are skipped.
func TestMicroWithoutMappedMemory(t *testing.T) {
	r := double.Computing(double.Options{})
	r.FailAt("Mapped", 1, errors.New("not on this device"))
	results, err := micro(t.Context(), Options{Open: func() (driver.Driver, error) { return r, nil }})
	skipped := 0
	for _, r := range results {
		if r.Status == NotRun && strings.Contains(r.Name, "mapped") && strings.Contains(r.Detail, "not on this device") {
			skipped++
		}
	}
	if err != nil || len(results) != 9 || skipped != 2 {
		t.Errorf("%v, error %v", results, err)
	}
}

// inspected is a driver that counts the kernels whose resources are asked for.
type inspected struct {
	driver.Driver
	calls *int
}

func (d inspected) Resources(f driver.Function, threads int) (driver.Resources, error) {
	*d.calls++
	return driver.Resources{Registers: 40, Shared: threads, Resident: 3}, nil
}

// Every kernel of float32 has a result with its resources.
func TestResourcesOfKernels(t *testing.T) {
	calls := 0
	o := Options{Open: func() (driver.Driver, error) { return inspected{double.New(double.Options{}), &calls}, nil }}
	results, err := resources(t.Context(), o)
	if err != nil || calls < 50 || len(results) != calls {
		t.Fatalf("%d calls, %d results, error %v", calls, len(results), err)
	}
	want := Measurement("registers of multiply_digits_3_f32", 40, "")
	want.Detail = "0 bytes of local memory, 256 bytes of shared memory; 3 blocks of 256 threads at a time on a multiprocessor"
	if !slices.Contains(results, want) {
		t.Errorf("got %+v, want %+v in it", results, want)
	}
	o.Open = func() (driver.Driver, error) { return double.New(double.Options{}), nil }
	if results, err := resources(t.Context(), o); err != nil || len(results) != 1 || results[0].Status != NotRun {
		t.Errorf("without an inspector: %+v, error %v", results, err)
	}
}

// The bare products have the shapes of products with digits: the digits side by side, and the rows
// of a backward product in blocks of at most cuda.ScaleRows.
func TestDigitProducts(t *testing.T) {
	s := bench.Shape{Rows: 24000, Features: 784, Width: 256}
	list := digitProducts(s, driver.Int8)
	if f := list[0]; f.Rows != 24000 || f.Cols != 768 || f.Inner != 800 || f.Batch != 1 {
		t.Errorf("forward: %+v", f)
	}
	if b := list[1]; b.Rows != 784 || b.Cols != 768 || b.Inner != 3008 || b.Batch != 8 || b.StrideA != 8*3008 {
		t.Errorf("backward: %+v", b)
	}
	o := emulated(t, double.Options{})
	for _, precision := range []driver.Precision{driver.Int8, driver.BF16} {
		for _, g := range digitProducts(bench.Shape{Rows: 70, Features: 40, Width: 9}, precision) {
			if _, err := timeProduct(o, g); err != nil {
				t.Errorf("%+v: %v", g, err)
			}
		}
	}
}
