package bench

import (
	"slices"
	"time"

	"ppal/internal/cpu"
	"ppal/internal/cpu/kernel"
	"ppal/internal/plan"
)

// The shape for speeds, of a small image network: rows for every thread, features and width. A
// measurement takes speedTime.
const (
	speedRows     = 10 * kernel.RowBlock
	speedFeatures = 784
	speedWidth    = 256
	speedTime     = 200 * time.Millisecond
)

// Speed measures the dense products on all threads of the device, in GFLOP/s: the median of the
// runs that fit into a fifth of a second.
func Speed[T plan.Float](d *cpu.Device) (float64, error) {
	p, err := Dense[T](d, speedRows*d.Threads(), speedFeatures, speedWidth)
	if err != nil {
		return 0, err
	}
	return p.speed(), nil
}

// DigitSpeed measures the products with 8-bit data in the same way as Speed. It counts the
// arithmetic of the float32 products.
func DigitSpeed(d *cpu.Device) (float64, error) {
	p, err := Digits(d, speedRows*d.Threads(), speedFeatures, speedWidth)
	if err != nil {
		return 0, err
	}
	return p.speed(), nil
}

// BFloat16Speed measures the products with dense floats in digits of bfloat16 in the same way as
// Speed. It counts the arithmetic of the float32 products.
func BFloat16Speed(d *cpu.Device) (float64, error) {
	p, err := bfloat16(d, speedRows*d.Threads(), speedFeatures, speedWidth)
	if err != nil {
		return 0, err
	}
	return p.speed(), nil
}

// speed returns the speed of the median of some runs, in GFLOP/s.
func (p *Products) speed() float64 {
	p.Run() // the first run touches all memory
	var times []time.Duration
	for began := time.Now(); len(times) == 0 || time.Since(began) < speedTime; {
		times = append(times, p.Run())
	}
	slices.Sort(times)
	return p.FLOPs() / times[len(times)/2].Seconds() / 1e9
}
