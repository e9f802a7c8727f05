package session

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"ppal/constraints"
	"ppal/datasets/matrix"
	"ppal/internal/mapped"
	"ppal/internal/require"
	"ppal/models"
	"ppal/trainer"
	"ppal/trainer/method"
	"ppal/trainer/step"
)

// The automatic number of iterations is a number of passes over the rows, fewer passes if a picture
// has many copies, and at least leastIterations.
func TestAutomaticIterations(t *testing.T) {
	for _, c := range []struct{ passes, batches, copies, want int }{
		{DefaultPasses, 32, 1, 480}, {DefaultPasses, 63, 2, 945}, {DefaultPasses, 563, 18, 2252}, {DefaultPasses, 1, 1, 300}, {0, 32, 1, 7},
	} {
		o := Options{passes: c.passes, Settings: trainer.Settings{Iterations: 7}}
		if o.setIterations(c.batches, c.copies); o.Settings.Iterations != c.want {
			t.Errorf("%d passes of %d batches with %d copies: %d iterations, want %d", c.passes, c.batches, c.copies, o.Settings.Iterations, c.want)
		}
	}
}

// A run whose parameters, or whose rows times units, do not fit is refused before it trains. The
// same run fits without a limit, and a smaller run fits with it.
func TestMemoryLimit(t *testing.T) {
	require.NoRace(t, "its memory counts as resident, and the test starts no goroutine of its own")
	if mapped.ResidentMemory() == 0 {
		t.Skip("the system does not say how much memory the process has")
	}
	open := func(room int64, model models.Spec, m trainer.Method) error {
		limit := room
		if room > 0 {
			debug.FreeOSMemory() // otherwise free memory, which the session uses again, counts as resident
			limit += int64(mapped.ResidentMemory())
		}
		s, err := New(t.Context(), Options{Data: Table{Dataset: "synthetic-compas"}, Task: DemographicParity{Epsilon: []float64{0.05}}, Model: &model, Method: m,
			Device: Device{Kind: CPU, Threads: 1, MemoryLimit: limit}})
		if err != nil {
			return err
		}
		return s.Close()
	}
	for _, tc := range []struct {
		room  int64
		units []int
		step  step.Kind
		want  string
	}{
		{100 << 20, []int{20_000}, step.Auto, "(rows times units) need at least 0.35 GB"}, // 4,000 rows x 20,000 units
		{100 << 20, []int{2000, 2000}, step.Auto, "parameters need at least 0.48 GB"},
		{140 << 20, []int{1000, 1000}, step.Auto, "(another: --primal nesterov) need at least 0.16 GB"}, // 40 x 1 million
		{140 << 20, []int{1000, 1000}, step.Nesterov, ""},
		{1 << 30, []int{10}, step.Auto, ""},
		{NoMemoryLimit, []int{10}, step.Auto, ""},
		{0, []int{10}, step.Auto, ""},
	} {
		err := open(tc.room, models.Spec{Hidden: tc.units}, &method.ALM{Primal: step.Settings{Kind: tc.step}})
		if tc.want == "" {
			if err != nil {
				t.Errorf("%d bytes, %v units: %v", tc.room, tc.units, err)
			}
			continue
		}
		if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%d bytes, %v units: %v, want %q", tc.room, tc.units, err, tc.want)
		}
	}
}

// A run is refused before the rows are packed if their packed copy does not fit, in each form of
// the copy: 16 MB in float32, 48 MB in three digits of bfloat16.
func TestPackedRowsCount(t *testing.T) {
	require.NoRace(t, "its memory counts as resident, and the test starts no goroutine of its own")
	if mapped.ResidentMemory() == 0 {
		t.Skip("the system does not say how much memory the process has")
	}
	const rows, cols = 40_000, 100
	x, labels := &matrix.Dense{Rows: rows, Cols: cols, Data: make([]float64, rows*cols)}, make([]int, rows)
	groups := []constraints.Group{{Name: "a"}, {Name: "b"}}
	for i := range labels {
		x.Data[i*cols+i%cols], labels[i] = 1, 2*(i%2)-1
		groups[i/2%2].Rows = append(groups[i/2%2].Rows, i)
	}
	for _, tc := range []struct {
		products Products
		room     int64
		refused  bool
	}{{Float32, 8 << 20, true}, {Float32, 100 << 20, false}, {BF16x3, 40 << 20, true}} {
		debug.FreeOSMemory()
		s, err := New(t.Context(), Options{Data: Matrices{Train: &Matrix{Features: x, Labels: labels, Groups: groups}},
			Task: DemographicParity{}, Device: Device{Kind: CPU, Threads: 1, Products: tc.products, inGo: true, MemoryLimit: int64(mapped.ResidentMemory()) + tc.room}})
		if refused := errors.Is(err, ErrOptions) && strings.Contains(err.Error(), "leaves"); refused != tc.refused {
			t.Errorf("%v, room for %d MiB: %v", tc.products, tc.room>>20, err)
		}
		if err == nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Rows beyond the limit are refused while they are read, with the flag that keeps them in files.
func TestMemoryLimitOfRows(t *testing.T) {
	require.NoRace(t, "TestRowsInFiles reads with the same goroutines")
	if mapped.ResidentMemory() == 0 {
		t.Skip("the system does not say how much memory the process has")
	}
	dir := t.TempDir()
	csv, libsvm := filepath.Join(dir, "rows.csv"), filepath.Join(dir, "rows.libsvm")
	const rows = 400_000 // 19 MB in two copies
	require.NoError(t, errors.Join(os.WriteFile(csv, []byte("x,z,g,y\n"+strings.Repeat("1,2,a,0\n2,1,b,1\n", rows/2)), 0o600),
		os.WriteFile(libsvm, []byte(strings.Repeat("+1 1:1 2:1\n-1 2:1\n", rows/2)), 0o600)))
	for _, source := range []Source{CSV(csv, "y=1", "g"), LIBSVM(libsvm, "1")} {
		_, err := New(t.Context(), Options{Data: source, Task: DemographicParity{}, Settings: trainer.Settings{Seed: 1},
			Device: Device{Kind: CPU, Threads: 1, MemoryLimit: int64(mapped.ResidentMemory()) + 4<<20}})
		var option *OptionError
		if !errors.As(err, &option) || option.Option != "memory-limit" || !strings.Contains(err.Error(), "rows that are read so far") ||
			!strings.Contains(err.Error(), "--memory SIZE") {
			t.Errorf("%v", err)
		}
	}
}

// A limit below what the process has leaves nothing, and the difference does not wrap around.
func TestFree(t *testing.T) {
	if mapped.ResidentMemory() == 0 {
		t.Skip("the system does not say how much memory the process has")
	}
	if free, ok := (Device{MemoryLimit: 1}).resolved().Free(); !ok || free != 0 {
		t.Errorf("%d, %v", free, ok)
	}
	if err := (Device{MemoryLimit: 1}).resolved().CheckMemory(1, "a byte needs"); err == nil {
		t.Error("a byte more than the limit is accepted")
	}
	if err := (Device{MemoryLimit: 1}).resolved().CheckMemory(0, "nothing needs"); err != nil {
		t.Error(err)
	}
	if _, ok := (Device{MemoryLimit: NoMemoryLimit}).resolved().Free(); ok {
		t.Error("there is a limit")
	}
}
