package bench

import (
	"math"
	"testing"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
)

// TestDigits compares the products with 8-bit data with sums in float64.
func TestDigits(t *testing.T) {
	const rows, cols, width = 2*kernel.RowBlock + 7, 130, 9
	for _, level := range kernel.Levels() {
		d := require.Value(cpu.New(level, 2))(t)
		defer d.Close()
		k := require.Value(kernel.NewByteKernels(level))(t)
		p := newDigits(k, d, rows, cols, width, 3)
		for range 2 { // the second run starts with the sums of the first run
			p.run()
		}
		for j := range width {
			for i := range rows {
				var want float64
				for l := range cols {
					want += float64(p.x.At(i, l)) * float64(p.w[l*width+j])
				}
				if got := float64(p.z[i*width+j]); !(math.Abs(got-want) <= 1e-5*255*cols) {
					t.Fatalf("%v: Z[%d,%d] = %v, want %v", level, i, j, got, want)
				}
			}
			for l := range cols {
				var got, want float64
				for _, g := range p.sums {
					got += float64(g[l*width+j])
				}
				for i := range rows {
					want += float64(p.x.At(i, l)) * float64(p.d[i*width+j])
				}
				if !(math.Abs(got-want) <= 1e-5*255*rows) {
					t.Fatalf("%v: G[%d,%d] = %v, want %v", level, l, j, got, want)
				}
			}
		}
	}
}

// TestDigitsRefuses checks the errors, and the number of operations that a run counts.
func TestDigitsRefuses(t *testing.T) {
	d := require.Value(cpu.New(kernel.Best(), 1))(t)
	float := require.Value(d.With(plan.Float32))(t)
	if _, err := Digits(float, 500, 130, 9); err == nil {
		t.Error("no error for float32 products")
	}
	if d.Products(130).Digits() == 0 {
		t.Skip("no instructions for digits")
	}
	p := require.Value(Digits(d, 500, 130, 9))(t)
	if took := p.Run(); took <= 0 || p.FLOPs() != 4*500*130*9 {
		t.Errorf("%v for %v FLOPs", took, p.FLOPs())
	}
	for _, size := range [][3]int{{0, 130, 9}, {500, 130, 0}} {
		if _, err := Digits(d, size[0], size[1], size[2]); err == nil {
			t.Errorf("%v: no error", size)
		}
	}
}
