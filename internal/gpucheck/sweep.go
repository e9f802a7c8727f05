package gpucheck

import (
	"context"
	"errors"
	"fmt"

	"ppal/cuda"
	"ppal/internal/cuda/driver"
)

// sweepRounds is the number of turns of iterations for each case of the sweep.
const sweepRounds = 3

// tuned is a case with other constants of the device.
type tuned struct {
	name string
	timedCase
}

// sweep returns the cases that compare constants of the device, whose defaults were chosen on an
// H200.
func sweep() (list []tuned) {
	timed := func(name, products, what string, o cuda.Options) {
		c := timedCase{name: name, products: products, constants: o}
		list = append(list, tuned{c.label() + ", " + what, c})
	}
	for _, name := range []string{"mnpc-fashion-mnist", "mnpc-cifar10"} {
		timed(name, "int8x3", "own product forward", cuda.Options{Digits: cuda.ForwardDigits})
		timed(name, "int8x3", "the library's products", cuda.Options{Digits: cuda.LibraryDigits})
	}
	add := func(products, what string, o cuda.Options) { timed("mnpc-fashion-mnist", products, what, o) }
	add("int8x3", "step sizes by the host", cuda.Options{HostSteps: true})
	add("int8x3", "f, g and coefficients by copies", cuda.Options{Copies: true})
	for _, mebibytes := range []int{8, 16, 32, 64, 128} {
		add("int8x3", fmt.Sprintf("%d MiB of sums", mebibytes), cuda.Options{Sums: mebibytes << 20})
	}
	for _, rows := range []int{1024, 2048, 4096} {
		add("int8x3", fmt.Sprintf("%d rows with one scale", rows), cuda.Options{ScaleRows: rows})
	}
	for _, rows := range []int{8192, 1 << 20} {
		add("bf16x3", fmt.Sprintf("sums of at most %d rows", rows), cuda.Options{InnerBlock: rows})
	}
	return list
}

// sweepCases time an iteration with other constants of the device.
func sweepCases() (list []Case) {
	for _, w := range sweep() {
		list = append(list, Case{Name: w.name, Run: func(ctx context.Context, o Options) ([]Result, error) {
			ms, err := w.time(ctx, o)
			return []Result{Measurement(w.name+": time of an iteration", ms, "ms")}, err
		}})
	}
	return list
}

// time returns the median time of an iteration in milliseconds.
func (c timedCase) time(ctx context.Context, o Options) (ms float64, err error) {
	p, err := c.prepare(ctx, o, func(int) (driver.Driver, error) { return o.Open() })
	if p != nil {
		defer func() { err = errors.Join(err, p.Close()) }()
	}
	if err != nil {
		return 0, err
	}
	times, err := turnOf(o, p)
	if err != nil {
		return 0, err
	}
	var list []float64
	for range sweepRounds {
		one, err := milliseconds(p, times)
		if err != nil {
			return 0, err
		}
		list = append(list, one)
	}
	return median(list), nil
}
