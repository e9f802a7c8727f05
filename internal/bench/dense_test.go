package bench

import (
	"math"
	"testing"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
)

// TestDense checks that the products cover all rows for any number of threads.
func TestDense(t *testing.T) {
	for _, level := range kernel.Levels() {
		for _, threads := range []int{1, 2, 5} {
			for _, width := range []int{1, cpu.NarrowWidth, 13} {
				testDense[float32](t, level, threads, width, 1e-5)
				testDense[float64](t, level, threads, width, 1e-13)
			}
		}
	}
}

func testDense[T plan.Float](t *testing.T, level kernel.Level, threads, width int, bound float64) {
	t.Helper()
	const rows, cols = 2*kernel.RowBlock + 7, 19
	device := require.Value(cpu.New(level, threads))(t)
	defer device.Close()
	k := require.Value(kernel.New[T](level))(t)
	b := newDense(k, device, rows, cols, width)
	x := func(i, l int) float64 { return float64(b.x.Data[i*cols+l]) }
	at := func(l, j int) int { return j*cols + l } // element (l, j) of W and G, which are stored by columns if they are narrow
	if width > cpu.NarrowWidth {
		x = func(i, l int) float64 { return float64(b.packed.At(i, l)) }
		at = func(l, j int) int { return l*width + j }
	}
	for range 2 { // the second run starts with the sums of the first run
		b.run()
	}
	for i := range rows {
		for j := range width {
			var want float64
			for l := range cols {
				want += x(i, l) * float64(b.w[at(l, j)])
			}
			if got := float64(b.z[i*width+j]); !(math.Abs(got-want) <= bound*cols) {
				t.Fatalf("%v, %d threads: Z[%d,%d] = %v, want %v", level, threads, i, j, got, want)
			}
		}
	}
	for l := range cols {
		for j := range width {
			var want float64
			for i := range rows {
				want += x(i, l) * float64(b.d[i*width+j])
			}
			if got := float64(b.sums[0][at(l, j)]); !(math.Abs(got-want) <= bound*rows) {
				t.Fatalf("%v, %d threads: G[%d,%d] = %v, want %v", level, threads, l, j, got, want)
			}
		}
	}
}

func TestDenseRefusesSizes(t *testing.T) {
	d := require.Value(cpu.New(kernel.Best(), 1))(t)
	for _, size := range [][3]int{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {-1, 1, 1}} {
		if _, err := Dense[float32](d, size[0], size[1], size[2]); err == nil {
			t.Errorf("%v: no error", size)
		}
	}
	b := require.Value(Dense[float32](d, 300, 4, 5))(t)
	if took := b.Run(); took <= 0 || b.FLOPs() != 4*300*4*5 {
		t.Errorf("a run took %v for %v operations", took, b.FLOPs())
	}
}
