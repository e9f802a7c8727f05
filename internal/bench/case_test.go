package bench

import (
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorgonia.org/tensor"

	"ppal/datasets"
	"ppal/internal/config"
	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
	"ppal/internal/require"
)

// Other programs rely on the names of the cases.
func TestCaseNames(t *testing.T) {
	want := []string{"mnpc-fashion-mnist", "mnpc-fashion-mnist-float32", "mnpc-fashion-mnist-int8x2", "mnpc-fashion-mnist-separate",
		"mnpc-cifar10", "conv-fashion-mnist", "conv-cifar10", "dp-adult", "dp-bank", "if-communities", "if-communities-1", "ranking-mslr-linear", "ranking-mslr-mlp", "ranking-paper"}
	if diff := cmp.Diff(want, caseNames(Cases(1))); diff != "" {
		t.Error(diff)
	}
}

func TestChoose(t *testing.T) {
	all := []Case{{Name: "a"}, {Name: "b", Missing: "there is no b"}, {Name: "c"}}
	for _, tc := range []struct {
		names, chosen []string
		notes         int
		refused       string
	}{
		{nil, []string{"a", "c"}, 1, ""},
		{[]string{"c", "a"}, []string{"c", "a"}, 0, ""},
		{[]string{"d"}, nil, 0, `--cases has no case "d", want some of a, b, c`},
		{[]string{"a", "b"}, nil, 0, "--cases names b, which cannot run: there is no b"},
		{[]string{"a", "a"}, nil, 0, "--cases gives a twice"},
	} {
		chosen, notes, err := Choose(all, tc.names)
		if tc.refused != "" {
			if !errors.Is(err, config.ErrUsage) || err.Error() != tc.refused {
				t.Errorf("%v: %v, want %s", tc.names, err, tc.refused)
			}
			continue
		}
		if err != nil || !slices.Equal(caseNames(chosen), tc.chosen) || len(notes) != tc.notes {
			t.Errorf("%v: %v, %q, %v", tc.names, caseNames(chosen), notes, err)
		}
	}
}

// Every supported case runs on rows of its shape, in both precisions.
func TestRun(t *testing.T) {
	require.NoRace(t, "TestDense, and the tests of internal/cpu, run these goroutines")
	shapes := map[string]Shape{
		"mnpc-fashion-mnist":          {Rows: 240, Features: 784, Width: 256, Parameters: 256*784 + 256 + 4*256 + 4, Constraints: 3},
		"mnpc-fashion-mnist-float32":  {Rows: 240, Features: 784, Width: 256, Parameters: 256*784 + 256 + 4*256 + 4, Constraints: 3},
		"mnpc-fashion-mnist-int8x2":   {Rows: 240, Features: 784, Width: 256, Parameters: 256*784 + 256 + 4*256 + 4, Constraints: 3},
		"mnpc-fashion-mnist-separate": {Rows: 240, Features: 784, Width: 256, Parameters: 256*784 + 256 + 256 + 4, Constraints: 3},
		"mnpc-cifar10":                {Rows: 200, Features: 3072, Width: 256, Parameters: 256*3072 + 256 + 4*256 + 4, Constraints: 3},
		"conv-fashion-mnist":          {Rows: 8, Features: 784, Width: 16, Parameters: 16*9 + 16 + 32*16*9 + 32 + 4*32*49 + 4, Constraints: 3},
		"conv-cifar10":                {Rows: 8, Features: 3072, Width: 32, Parameters: 32*27 + 32 + 64*32*9 + 64 + 128*64*9 + 128 + 4*128*16 + 4, Constraints: 3},
		"dp-adult":                    {Rows: 488, Features: 123, Width: 1, NonZeros: 14 * 488, Parameters: 124, Constraints: 2},
		"dp-bank":                     {Rows: 411, Features: 63, Width: 1, Parameters: 64, Constraints: 2},
		"if-communities":              {Rows: 19, Features: 145, Width: 64, Parameters: 64*145 + 64 + 64 + 1, Constraints: 800},
		"if-communities-1":            {Rows: 19, Features: 145, Width: 64, Parameters: 64*145 + 64 + 64 + 1, Constraints: 1},
		"ranking-mslr-linear":         {Rows: 12_000, Features: 136, Width: 1, Parameters: 137, Constraints: 2},
		"ranking-mslr-mlp":            {Rows: 1200, Features: 136, Width: 128, Parameters: 128*136 + 128 + 128 + 1, Constraints: 2},
		"ranking-paper":               {Rows: 570, Features: 136, Width: 1, Parameters: 137, Constraints: 2},
	}
	others := map[string]string{"dp-adult": "a dense pass over the same rows in ", "if-communities": "an iteration with one group"}
	for _, dtype := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		o := Options{DataDir: t.TempDir(), Device: config.Values{"dtype": dtype.String(), "threads": "2"}, Time: time.Millisecond}
		all := Cases(100)
		device := require.Value(cpu.New(kernel.Best(), 2))(t)
		Restrict(all, device, dtype)
		for _, c := range all {
			if dtype == tensor.Float64 && slices.Contains([]string{"conv-fashion-mnist", "conv-cifar10", "mnpc-cifar10", "mnpc-fashion-mnist-float32", "mnpc-fashion-mnist", "if-communities", "dp-bank", "ranking-mslr-mlp", "ranking-paper"}, c.Name) {
				continue // other shapes of the same steps
			}
			t.Run(c.Name+" "+dtype.String(), func(t *testing.T) {
				r, err := c.Run(t.Context(), o)
				if c.Missing != "" {
					if err == nil {
						t.Error("a case that cannot run ran")
					}
					return
				}
				require.NoError(t, err)
				want := shapes[c.Name]
				want.Data = synthetic
				if diff := cmp.Diff(want, r.Shape); diff != "" {
					t.Error(diff)
				}
				if r.Name != c.Name || r.Products != productsOf(c, device, dtype.String()) || !strings.Contains(r.FloorIs, dtype.String()) {
					t.Errorf("%+v", r)
				}
				for _, x := range []float64{r.Iteration, r.Floor, r.Ratio, r.FloorGFLOPs, float64(r.PeakBytes)} {
					if !(x > 0) || math.IsInf(x, 0) {
						t.Errorf("%v in %+v", x, r)
					}
				}
				if r.Ratio != r.Iteration/r.Floor || r.IterationQuartiles[0] > r.Iteration || r.Iteration > r.IterationQuartiles[1] {
					t.Errorf("%+v", r)
				}
				if other := others[c.Name]; (other == "") != (r.Others == nil) || other != "" && !strings.HasPrefix(r.Others[0].Name, other) {
					t.Errorf("compared with %+v", r.Others)
				}
			})
		}
	}
}

// productsOf returns the kind of products with which the case should run.
func productsOf(c Case, device *cpu.Device, dtype string) string {
	_, lacking := device.With(plan.Int8x3)
	switch {
	case dtype == "float64" || c.products != "auto":
		return map[bool]string{true: "float64", false: c.products}[dtype == "float64"]
	case (strings.HasPrefix(c.Name, "mnpc") || strings.HasPrefix(c.Name, "memory")) && lacking == nil:
		return "int8x3"
	}
	return "float32"
}

// In the steady state an iteration makes no allocation of the size of the parameters or the data.
func TestSteadyStateAllocations(t *testing.T) {
	require.NoRace(t, "TestDense, and the tests of internal/cpu, run these goroutines")
	all := Cases(50)
	device := require.Value(cpu.New(kernel.Best(), 2))(t)
	Restrict(all, device, tensor.Float32)
	for _, c := range all {
		if c.Missing != "" {
			continue
		}
		w := require.Value(c.prepare(t.Context(), Options{DataDir: t.TempDir(), Device: config.Values{"threads": "2"}}))(t)
		require.NoError(t, w.repeat(warmUps))
		// An iteration may allocate a few kilobytes, and a few numbers for each constraint, but no
		// vectors of the size of the parameters or of the rows. A thread allocates its sums once, in
		// a later iteration if it had no rows in the first ones.
		most, least := uint64(16<<10+64*w.shape.Constraints), uint64(math.MaxUint64)
		for try := 0; try < 3 && least > most; try++ {
			a := require.Value(w.allocations())(t)
			least = min(least, a.Bytes)
		}
		if least > most {
			t.Errorf("%s: %d bytes an iteration, want at most %d bytes", c.Name, least, most)
		}
	}
}

// A case uses the published files if the files exist.
func TestRealData(t *testing.T) {
	dir := os.Getenv(datasets.EnvData)
	if dir == "" {
		t.Skipf("%s is not set: real files are not tested", datasets.EnvData)
	}
	for _, c := range tableCases(1) {
		w := require.Value(c.prepare(t.Context(), Options{DataDir: dir}))(t)
		want := Shape{Rows: communitiesRows, Features: communitiesFeatures}
		switch c.Name {
		case "dp-adult":
			want = Shape{Rows: adultRows, Features: adultFeatures}
		case "dp-bank":
			want = Shape{Rows: bankRows, Features: bankFeatures}
		}
		if w.shape.Data != fromFiles || w.shape.Rows != want.Rows || w.shape.Features != want.Features {
			t.Errorf("%s: %+v", c.Name, w.shape)
		}
	}
}
