package bench

import (
	"context"
	"errors"
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

func TestTiming(t *testing.T) {
	ms := func(list ...int) []time.Duration {
		var times []time.Duration
		for _, x := range list {
			times = append(times, time.Duration(x)*time.Millisecond)
		}
		return times
	}
	for _, tc := range []struct {
		times []time.Duration
		want  timing
	}{
		{ms(7), timing{Median: 7, Quartiles: [2]float64{7, 7}, Runs: 1}},
		{ms(5, 1, 3, 2, 4), timing{Median: 3, Quartiles: [2]float64{2, 4}, Runs: 5}},
		{ms(4, 1, 2, 3), timing{Median: 2.5, Quartiles: [2]float64{1.75, 3.25}, Runs: 4}},
	} {
		if diff := cmp.Diff(tc.want, newTiming(tc.times)); diff != "" {
			t.Error(diff)
		}
	}
}

// Activities take turns. A short activity runs as often as a turn allows, a long activity runs
// once.
func TestAlternate(t *testing.T) {
	order := ""
	mark := func(name string, took time.Duration) activity {
		return func() (time.Duration, error) {
			order += name
			return took, nil
		}
	}
	times := require.Value(alternate(t.Context(), 0, []activity{mark("a", turn/2), mark("b", 3*turn), mark("c", turn)}))(t)
	want := "aaabbbccc" // warm-up
	for range leastRounds {
		want += "aabc"
	}
	if order != want {
		t.Errorf("%s, want %s", order, want)
	}
	if len(times[0]) != 2*leastRounds || len(times[1]) != leastRounds || len(times[2]) != leastRounds {
		t.Errorf("%d, %d, %d times", len(times[0]), len(times[1]), len(times[2]))
	}
}

func TestAlternateEnds(t *testing.T) {
	failure := errors.New("failure")
	runs := 0
	fails := func() (time.Duration, error) {
		if runs++; runs > 4 {
			return 0, failure
		}
		return turn, nil
	}
	if _, err := alternate(t.Context(), 0, []activity{fails}); !errors.Is(err, failure) {
		t.Error(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	stops := func() (time.Duration, error) {
		stop(interrupted)
		return turn, nil
	}
	if _, err := alternate(ctx, time.Hour, []activity{stops}); !errors.Is(err, interrupted) {
		t.Error(err)
	}
}

// TestPatches checks the operations, that every worker computes, and the refusals.
func TestPatches(t *testing.T) {
	d := require.Value(cpu.New(kernel.Best(), 2))(t)
	layers := []Convolution{{3, 9, 784}, {5, 27, 196}}
	p := require.Value(Patches[float32](d, 7, layers))(t)
	if want := 2.0 * 7 * (2*3*9*784 + 3*5*27*196); p.Run() <= 0 || p.FLOPs() != want {
		t.Errorf("%v operations, want %v", p.FLOPs(), want)
	}
	for _, wrong := range []Convolution{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}} {
		if _, err := Patches[float64](d, 1, []Convolution{wrong}); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
	if _, err := Patches[float64](d, 0, layers); err == nil {
		t.Error("no pictures are accepted")
	}
}
