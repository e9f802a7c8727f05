package cpu

import (
	"sync"
	"time"

	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// The shape and the time that speeds are measured with: rows for every thread, features and width of a small image network.
const (
	speedBlocks   = 10
	speedFeatures = 784
	speedWidth    = 256
	speedTime     = 200 * time.Millisecond
)

// Speed measures the two products of an iteration, X W and X^T D, with the device's kernels on all its threads, in GFLOP/s: the best of
// the repetitions that fit into a fifth of a second.
func Speed[T plan.Float](d *Device) (float64, error) {
	k, err := kernel.New[T](d.level)
	if err != nil {
		return 0, err
	}
	const rows = speedBlocks * kernel.RowBlock
	type job struct {
		x       *kernel.Matrix[T]
		z, g    []T
		scratch *kernel.Scratch[T]
	}
	jobs := make([]job, d.threads)
	for t := range jobs {
		jobs[t] = job{kernel.NewMatrix[T](rows, speedFeatures), make([]T, kernel.RowBlock*speedWidth), make([]T, speedFeatures*speedWidth), k.NewScratch(kernel.RowBlock, speedWidth)}
	}
	w := k.NewPanels(speedFeatures, speedWidth)
	w.Pack(speedFeatures, speedWidth, make([]T, speedFeatures*speedWidth), speedWidth)
	once := func(j job) {
		for lo := 0; lo < rows; lo += kernel.RowBlock {
			k.Mul(j.z, speedWidth, j.x, lo, lo+kernel.RowBlock, w, j.scratch)
			k.AddMulTrans(j.g, speedWidth, j.x, lo, lo+kernel.RowBlock, j.z, speedWidth, speedWidth, j.scratch)
		}
	}
	best := time.Duration(1<<63 - 1)
	for began := time.Now(); time.Since(began) < speedTime; {
		start := time.Now()
		var group sync.WaitGroup
		for _, j := range jobs {
			group.Go(func() { once(j) })
		}
		group.Wait()
		best = min(best, time.Since(start))
	}
	return 4 * float64(rows) * float64(d.threads) * speedFeatures * speedWidth / best.Seconds() / 1e9, nil
}
