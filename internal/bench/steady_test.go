package bench

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ppal/internal/config"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/require"
)

// The test computes the bound by hand: 2 bytes for each element if the data are bytes, 10 classes
// of 60 rows, 10 held-out rows for each class, 256 hidden units.
func TestMemory(t *testing.T) {
	c := MemoryCases(100)[0]
	device := require.Value(cpu.New(kernel.Best(), 2))(t)
	packed := uint64(4)
	if productsOf(c, device, "float32") == "int8x3" {
		packed = 2
	}
	m := require.Value(c.MeasureMemory(t.Context(), Options{DataDir: t.TempDir(), Device: config.Values{"threads": "2"}}))(t)
	want := Bound{
		Packed:      600 * 784 * packed,
		OtherSplits: 100 * 784,
		Parameters:  4 * 4 * (256*784 + 256 + 10*256 + 10),
		Activations: 600 * (256 + 10) * 4 * 13 / 10,
		Allowance:   64 << 20,
	}
	if diff := cmp.Diff(want, m.Terms); diff != "" {
		t.Error(diff)
	}
	if m.Bound != want.Packed+want.OtherSplits+want.Parameters+want.Activations+want.Allowance {
		t.Errorf("the bound is %d", m.Bound)
	}
	if m.Name != "memory-fashion-mnist" || m.Data != synthetic || m.ProcessPeak == 0 || m.LoadedPeak > m.ProcessPeak {
		t.Errorf("%+v", m)
	}
}

// The fit of points on a line is exact. For other points the fit reports the R2 of the line.
func TestGrowthFit(t *testing.T) {
	g := Growth{Rows: []int{1000, 2000, 4000}, Iteration: []float64{5, 8, 14}}
	g.fit()
	if math.Abs(g.Slope-3) > 1e-12 || math.Abs(g.Intercept-2) > 1e-12 || math.Abs(g.RSquared-1) > 1e-12 {
		t.Errorf("%+v", g)
	}
	// the line 1 + 0.5 x; residuals -0.5, 1, -0.5
	g = Growth{Rows: []int{1000, 2000, 3000}, Iteration: []float64{1, 3, 2}}
	g.fit()
	if math.Abs(g.Slope-0.5) > 1e-12 || math.Abs(g.Intercept-1) > 1e-12 || math.Abs(g.RSquared-0.25) > 1e-12 {
		t.Errorf("%+v", g)
	}
}

func TestMeasureGrowth(t *testing.T) {
	rows := []int{10, 30, 20}
	g := require.Value(MeasureGrowth(t.Context(), Options{DataDir: t.TempDir(), Device: config.Values{"threads": "1"}, Time: time.Millisecond}, rows))(t)
	if len(g.Iteration) != len(rows) || g.Features != 784 || g.Width != 256 {
		t.Errorf("%+v", g)
	}
	for _, ms := range g.Iteration {
		if !(ms > 0) {
			t.Errorf("%+v", g)
		}
	}
}
