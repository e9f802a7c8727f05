//go:build gpu

package device_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"ppal/internal/cuda/kernels/device"
	"ppal/internal/require"
)

// kernel returns a kernel by name.
func kernel(t *testing.T, name string) device.Kernel {
	t.Helper()
	list := device.Kernels()
	i := slices.IndexFunc(list, func(k device.Kernel) bool { return k.Name == name })
	if i < 0 {
		t.Fatalf("there is no kernel %s among %d", name, len(list))
	}
	return list[i]
}

// Every kernel has a unique name with one of the known endings, and parameters that fit the slots
// of a launch.
func TestKernels(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range device.Kernels() {
		if !strings.HasSuffix(k.Name, "_f32") && !strings.HasSuffix(k.Name, "_f64") || seen[k.Name] {
			t.Errorf("the name %s", k.Name)
		}
		seen[k.Name] = true
		if len(k.Params) == 0 || slices.ContainsFunc(k.Params, func(bytes int) bool { return bytes < 1 || bytes > 8 }) {
			t.Errorf("%s has parameters of %v bytes", k.Name, k.Params)
		}
	}
	for name := range seen {
		if other, is := strings.CutSuffix(name, "_f64"); is && !seen[other+"_f32"] {
			t.Errorf("%s is there for float64 only", other)
		}
	}
}

// A reduction over a block, with barriers and shuffles, gives the sum for both orders of threads.
func TestLaunch(t *testing.T) {
	k := kernel(t, "total_sum_f64")
	const rows, cols = 37, 5
	a := make([]float64, rows*cols)
	want := 0.0
	for i := range a {
		a[i] = float64(i * i % 11)
		want += a[i]
	}
	for _, reverse := range []bool{false, true} {
		out := []float64{math.NaN()}
		args := []uint64{address(&a[0]), cols, rows, cols, address(&out[0]), 1, 0, 0, 0}
		if len(args) != len(k.Params) {
			t.Fatalf("%d parameters, want %d", len(k.Params), len(args))
		}
		require.NoError(t, k.Launch([3]int{1, 1, 1}, [3]int{8, 32, 1}, args, reverse))
		if out[0] != want {
			t.Errorf("the sum is %v, want %v (reverse: %v)", out[0], want, reverse)
		}
	}
}

func address(x *float64) uint64 { return uint64(uintptr(unsafe.Pointer(x))) }
