package cpu

import (
	"slices"
	"time"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// The shape and the time that speeds are measured with: rows for every thread, features and width of a small image network.
const (
	speedRows     = 10 * kernel.RowBlock
	speedFeatures = 784
	speedWidth    = 256
	speedTime     = 200 * time.Millisecond
)

// Speed measures the two products of an iteration, X W and X^T D, with the device's kernels on all its threads, in GFLOP/s: the median
// of the repetitions that fit into a fifth of a second.
func Speed[T plan.Float](d *Device) (float64, error) {
	b, err := BareProducts[T](d, speedRows*d.threads, speedFeatures, speedWidth)
	if err != nil {
		return 0, err
	}
	return b.speed(), nil
}

// SlicedSpeed is Speed for the slices of the device's products, with 8-bit data; its arithmetic is counted as that of float32 products.
func SlicedSpeed(d *Device) (float64, error) {
	b, err := bareSlices(d, speedRows*d.threads, speedFeatures, speedWidth)
	if err != nil {
		return 0, err
	}
	return b.speed(), nil
}

// speed is the median of some runs, in GFLOP/s.
func (b *Bare) speed() float64 {
	b.Run() // the first touches all memory
	var times []time.Duration
	for began := time.Now(); len(times) == 0 || time.Since(began) < speedTime; {
		times = append(times, b.Run())
	}
	slices.Sort(times)
	return b.FLOPs() / times[len(times)/2].Seconds() / 1e9
}
