package datasets

import (
	"context"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ppal/datasets/matrix"
	"ppal/datasets/tabular"
	"ppal/internal/datatest"
	"ppal/internal/require"
)

func TestRealFashionMNIST(t *testing.T) {
	report := require.Value(Check(context.Background(), datatest.RealData(t), "fashion-mnist", tabular.TableOptions{Seed: 0}))(t)
	if diff := cmp.Diff([]State{Original, Original, Original, Original}, states(report)); diff != "" {
		t.Errorf("%s %v", diff, report.Files)
	}
	if diff := cmp.Diff(&Counts{60000, slices.Repeat([]int{6000}, 10)}, report.Train); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&Counts{10000, slices.Repeat([]int{1000}, 10)}, report.Test); diff != "" {
		t.Error(diff)
	}
	if len(report.Warnings) > 0 {
		t.Error(report.Warnings)
	}
}

// The published mean and standard deviation of one Fashion-MNIST pixel are
// 0.2860 and 0.3530; about the columns' means the deviation is smaller.
func TestRealFashionMNISTMoments(t *testing.T) {
	train, _, err := LoadImages(datatest.RealData(t), "fashion-mnist", 0)
	require.NoError(t, err)
	center, deviation := matrix.Moments(train.Pixels)
	mean := 0.0
	for _, c := range center {
		mean += c / float64(len(center))
	}
	within := 0.0 // variance of the columns' means, which deviation leaves out
	for _, c := range center {
		within += (c - mean) * (c - mean) / float64(len(center))
	}
	if got := deviation*deviation + within; mean < 0.28603 || mean > 0.28605 || got < 0.35302*0.35302 || got > 0.35303*0.35303 {
		t.Errorf("mean %v, variance %v", mean, got)
	}
}

// Reading allocates the result and at most about one additional copy.
func TestRealFashionMNISTMemory(t *testing.T) {
	dir := datatest.RealData(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	train, test, err := LoadImages(dir, "fashion-mnist", 0)
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	result := uint64(len(train.Pixels.Data) + len(test.Pixels.Data))
	if total := after.TotalAlloc - before.TotalAlloc; total > 5*result/2 {
		t.Errorf("allocated %d bytes for %d bytes of pixels", total, result)
	}
}

// The CIFAR-10 files may be the published files or a subset (classes 0 to 3, decoded from JPEG
// copies).
func TestRealCIFAR10(t *testing.T) {
	report := require.Value(Check(context.Background(), datatest.RealData(t), "cifar10", tabular.TableOptions{Seed: 0}))(t)
	train, test := &Counts{50000, slices.Repeat([]int{5000}, 10)}, &Counts{10000, slices.Repeat([]int{1000}, 10)}
	if report.Files[0].State == Different {
		clear(train.PerClass[4:])
		clear(test.PerClass[4:])
		train.Rows, test.Rows = 20000, 4000
		if len(report.Warnings) != 2 {
			t.Errorf("warnings %q", report.Warnings)
		}
	}
	if diff := cmp.Diff(train, report.Train); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(test, report.Test); diff != "" {
		t.Error(diff)
	}
	t.Log(report.Warnings, report.Files[0].Note)
}
