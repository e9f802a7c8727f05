package session

import (
	"errors"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"ppal/datasets/matrix"
	"ppal/internal/racing"
	"ppal/internal/require"
	"ppal/trainer/session/internal/build"
)

// kept are runs on mini-batches with rows in every form.
func kept() map[string]Options {
	pictures := func(p Products, dtype tensor.Dtype) Options {
		return small(func(c *setup) { c.BatchSize, c.Products, c.Dtype, c.inGo = 31, p, dtype, p == BF16x3 || p == BF16x2 }).options()
	}
	return map[string]Options{
		"digits":  pictures(Int8x3, tensor.Float32),
		"bf16x3":  pictures(BF16x3, tensor.Float32),
		"bf16x2":  pictures(BF16x2, tensor.Float32),
		"float32": pictures(Float32, tensor.Float32),
		"float64": pictures("", tensor.Float64),
		"sparse":  onTable(DemographicParity{}, Table{Dataset: "synthetic-adult"}, func(o *Options) { o.BatchSize = 300 }),
		"table":   onTable(DemographicParity{}, Table{Dataset: "synthetic-compas"}, func(o *Options) { o.BatchSize = 300 }),
	}
}

// Batches that the device keeps cost what their packed rows need, and a run whose batches do not
// fit is refused.
func TestKeptBytes(t *testing.T) {
	racing.Skip(t, "TestBatchesResume runs the same goroutines")
	for name, o := range kept() {
		if name == "digits" && hasDigits(t) != nil {
			continue
		}
		a := buildOptions(t, o)
		b := a.batches
		rows, entries := 0, 0
		data := a.splits[0].Data
		for k := range int(b.PerPass()) {
			list := b.List(k)
			rows += len(list)
			if s, ok := build.PickData(data, list).(matrix.Sparse); ok {
				_, columns, _ := s.Entries()
				entries += len(columns)
			}
		}
		_, cols := data.Dims()
		want := map[string]int{"digits": 2 * rows * cols, "bf16x3": 12 * rows * cols, "bf16x2": 8 * rows * cols, "float32": 4 * rows * cols, "float64": 8 * rows * cols,
			"sparse": 8*rows + 4*entries, "table": int(a.dtype.Size()) * rows * cols}[name]
		got := int(b.KeptBytes(a.dtype.Size(), false))
		if name == "sparse" && (entries == 0 || got < want*99/100 || got > want*101/100) || name != "sparse" && got != want {
			t.Errorf("%s: %d bytes, want %d", name, got, want)
		}
		if got := b.KeptBytes(a.dtype.Size(), true); got != 0 {
			t.Errorf("%s: %d bytes outside the pages", name, got)
		}
		a.devices.Options.MemoryLimit = 1
		err := a.buildSampler(a.splits[0].Rows, 1, a.weights(t))
		if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "--batch-size") {
			t.Errorf("%s: the batches do not fit: %v", name, err)
		}
	}
}

// A pass over batches that the device keeps copies no rows and allocates nothing.
func TestBatchesAllocateNothing(t *testing.T) {
	racing.Skip(t, "TestBatchesResume runs the same goroutines")
	for name, o := range kept() {
		if name == "digits" && hasDigits(t) != nil {
			continue
		}
		a := buildOptions(t, o)
		at := 0
		pass := func() {
			for range int(a.batches.PerPass()) {
				require.NoError(t, a.sampler.Sample(at))
				at++
			}
		}
		pass()
		// a new order of the batches needs a source of random numbers
		if got := testing.AllocsPerRun(3, pass); got > 2 {
			t.Errorf("%s: %v allocations in a pass over %d batches", name, got, int(a.batches.PerPass()))
		}
	}
}
