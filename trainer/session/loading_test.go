package session

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets"
	"ppal/datasets/picture"
	"ppal/internal/cpu/kernel"
	"ppal/internal/require"
	"ppal/trainer"
)

// finished returns the result of three iterations.
func finished(t *testing.T, e *assembly) *Result {
	t.Helper()
	r := require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: 3, RecordEvery: 1}))(t)
	final := require.Value(e.Certify(r))(t)
	final.Training, final.Certifying = nil, 0 // measured times
	final.Examples = nil                      // pictures at hand have no shape
	return final
}

// checkPackedWhileReading compares a run that packs its rows while it reads them with a run that
// packs the rows afterwards.
func checkPackedWhileReading(t *testing.T, cfg setup) {
	t.Helper()
	train, test, err := datasets.LoadImages(cfg.Dir, cfg.Dataset, cfg.Seed)
	require.NoError(t, err)
	selected := require.Value(picture.Select(train, cfg.Classes, cfg.RowsPerClass))(t)
	held := require.Value(picture.Select(test, cfg.Classes, 0))(t)
	reading := assembled(t, cfg)
	cfg.source, cfg.method = ImagesAtHand{Train: selected, Test: held}, small(nil).method
	afterwards := assembled(t, cfg)
	if _, packed := reading.splits[0].Data.(*kernel.PackedBytes); packed != (cfg.Products == Int8x3) {
		t.Errorf("the training rows are a %T", reading.splits[0].Data)
	}
	if diff := cmp.Diff(finished(t, afterwards), finished(t, reading)); diff != "" {
		t.Error(diff)
	}
}

// Batches, test rows and the certificate have the same bits for any number of threads, with
// products of digits and float32 products.
func TestPackedWhileReading(t *testing.T) {
	needDigits(t)
	for _, products := range []Products{Int8x3, Float32} {
		for _, threads := range []int{1, 3} {
			for _, batch := range []int{0, 30} {
				t.Run(fmt.Sprint(products, threads, batch), func(t *testing.T) {
					if threads < 3 {
						require.NoRace(t, "the runs with three threads have the same goroutines")
					}
					checkPackedWhileReading(t, single(products, func(c *setup) { c.Threads, c.BatchSize = threads, batch }))
				})
			}
		}
	}
}

// The same holds for real pictures, compressed and uncompressed.
func TestRealPicturesPackedWhileReading(t *testing.T) {
	needDigits(t)
	dir := os.Getenv(datasets.EnvData)
	if dir == "" {
		t.Skipf("%s is not set: real files are not tested", datasets.EnvData)
	}
	for _, dataset := range []string{"fashion-mnist", "cifar10"} {
		checkPackedWhileReading(t, single(Int8x3, func(c *setup) { c.Dataset, c.Dir, c.RowsPerClass, c.Threads = dataset, dir, 300, 2 }))
	}
}

// Loading the rows and the first iteration allocate only the memory of the steady state: two bytes
// for each element of the training rows, the test rows as read, the results of a pass, and memory
// that does not depend on the number of rows.
func TestLoadingAllocatesTheLayoutsAlone(t *testing.T) {
	require.NoRace(t, "TestPackedWhileReading loads fewer rows on the same goroutines")
	needDigits(t)
	const trainRows, testRows, features, width, classes = 42_000, 2_000, 784, 8, 10
	dir := writeFashion(t, trainRows, testRows)
	cfg := single(Int8x3, func(c *setup) {
		c.Dataset, c.Dir, c.RowsPerClass, c.Hidden = "fashion-mnist", dir, 0, []int{width}
		c.Classes = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	e := assembled(t, cfg)
	require.Value(e.Optimize(t.Context(), trainer.Settings{Iterations: 1}))(t)
	runtime.ReadMemStats(&after)
	const (
		allowance   = 31 << 20 // blocks of two readings, labels, decompression, test rows: less than a copy of the bytes
		layouts     = 2 * trainRows * features
		activations = 2 * 4 * trainRows * (width + classes) // including space for their derivatives
		records     = 2 * (4 + 8) * trainRows * classes     // the scores as float32 and float64, at the start and at the end
		bound       = layouts + testRows*features + activations + records + allowance
	)
	if allowance >= trainRows*features {
		t.Fatal("the allowance hides a copy")
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > bound {
		t.Errorf("%d MiB were allocated, want at most %d", got>>20, bound>>20)
	}
}
