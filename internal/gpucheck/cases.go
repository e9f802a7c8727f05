package gpucheck

import (
	"context"
	"fmt"
	"time"

	"ppal/cuda"
	"ppal/internal/bench"
	"ppal/internal/config"
	"ppal/internal/cuda/driver"
	"ppal/trainer/graph"
)

// timedCase is a case of `ppal bench` on the GPU with the bounds for its iteration.
type timedCase struct {
	name      string           // of the case
	precision driver.Precision // precision of the bare products for comparison
	products  string           // value of --products
	groups    bool             // table rows with many constraints; otherwise images of classes
	direct    bool             // without graphs
	digits    cuda.DigitProducts
	constants cuda.Options // constants of the device; 0: their defaults

	overBare float64 // largest ratio of an iteration to the bare products
	orBytes  bool    // or at most the products plus the other bytes at a share of the bandwidth
	busy     float64 // least share of the time in which the GPU works; 0: no bound
	// least ratio of PyTorch's iteration to this one: as written, and captured as CUDA graphs,
	// which is PyTorch's fastest form in all cases with a bound
	eager, captured float64
}

// timedCases returns the table of cases and bounds, the most important ones first. A bound of 0
// means no bound.
func timedCases() []timedCase {
	return []timedCase{
		{name: "mnpc-fashion-mnist", products: "int8x3", precision: driver.Float32, overBare: 0.45, busy: 0.8,
			eager: 3, captured: 2},
		{name: "mnpc-fashion-mnist", products: "int8x3", digits: cuda.OwnDigits, precision: driver.Float32, overBare: 0.45, busy: 0.8,
			eager: 3, captured: 2},
		{name: "mnpc-fashion-mnist", products: "tf32", precision: driver.TF32, overBare: 2, orBytes: true, busy: 0.8,
			eager: 2, captured: 1.1},
		{name: "mnpc-fashion-mnist", products: "float32", precision: driver.Float32, overBare: 1.3, busy: 0.9,
			eager: 1.3, captured: 1},
		{name: "mnpc-fashion-mnist", products: "bf16x3", precision: driver.Float32, overBare: 0.45, busy: 0.8,
			eager: 3, captured: 2},
		{name: "mnpc-cifar10", products: "int8x3", precision: driver.Float32, overBare: 0.4, busy: 0.8},
		{name: "mnpc-cifar10", products: "int8x3", digits: cuda.OwnDigits, precision: driver.Float32, overBare: 0.4, busy: 0.8},
		{name: "mnpc-cifar10", products: "tf32", precision: driver.TF32, overBare: 1.6, busy: 0.8},
		{name: "mnpc-cifar10", products: "float32", precision: driver.Float32, overBare: 1.2, busy: 0.9},
		{name: "if-communities", products: "float32", precision: driver.Float32, groups: true, eager: 5, captured: 1.5},
		{name: "mnpc-cifar10", products: "bf16x3", precision: driver.Float32, overBare: 0.4, busy: 0.8},
		{name: "mnpc-fashion-mnist", products: "int8x2", precision: driver.Float32, overBare: 0.45, busy: 0.8},
		{name: "mnpc-cifar10", products: "int8x2", precision: driver.Float32, overBare: 0.4, busy: 0.8},
		{name: "mnpc-fashion-mnist", products: "bf16x2", precision: driver.Float32, overBare: 0.45, busy: 0.8},
		{name: "mnpc-cifar10", products: "bf16x2", precision: driver.Float32, overBare: 0.4, busy: 0.8},
	}
}

// label returns the name of the case in results.
func (c timedCase) label() string {
	return c.name + " " + c.kind()
}

// kind returns the name of the products in results.
func (c timedCase) kind() string {
	if c.digits != cuda.AutomaticDigits {
		return string(c.digits) + " " + c.products
	}
	return c.products
}

// prepare builds the case on a device that open opens.
func (c timedCase) prepare(ctx context.Context, o Options, open func(int) (driver.Driver, error)) (*bench.Prepared, error) {
	chosen, _, err := bench.Choose(bench.Cases(max(o.Shrink, 1)), []string{c.name})
	if err != nil {
		return nil, err
	}
	p, err := chosen[0].Prepare(ctx, bench.Options{
		DataDir: o.Data, Device: config.Values{"device": "cuda", "products": c.products},
		OpenGPU: onGPU(open, c),
	})
	if err != nil {
		return nil, fmt.Errorf("gpu-check: %s: %w", c.label(), err)
	}
	return p, p.Iterate(warmUps)
}

// onGPU returns a function that opens a session's GPU with the given function for devices. The
// case says whether to launch every kernel by itself and whose products to use.
func onGPU(driverOf func(ordinal int) (driver.Driver, error), c timedCase) func(graph.GPUOptions) (graph.GPU, error) {
	return func(o graph.GPUOptions) (graph.GPU, error) {
		d, err := driverOf(o.Ordinal)
		if err != nil {
			return nil, err
		}
		options := c.constants
		options.Products, options.MicroBatch, options.NoGraphs = cuda.Products(o.Products), o.MicroBatch, c.direct
		if c.digits != cuda.AutomaticDigits {
			options.Digits = c.digits
		}
		gpu, err := cuda.On(d, options)
		if err != nil {
			return nil, err
		}
		return gpu, nil
	}
}

const (
	warmUps     = 20                     // untimed iterations, after which all graphs are captured
	turn        = 100 * time.Millisecond // length of a turn of iterations
	leastOfTurn = 3
	mostOfTurn  = 2000
)

// turnOf returns the number of iterations in a turn.
func turnOf(o Options, p *bench.Prepared) (int, error) {
	one, err := milliseconds(p, leastOfTurn)
	return int(min(max(o.turn().Seconds()*1e3/one, leastOfTurn), mostOfTurn)), err
}

// turn returns the length of a turn.
func (o Options) turn() time.Duration { return turn / time.Duration(max(o.Shrink, 1)) }

// milliseconds returns the mean time of an iteration, which ends when f and g are on the host.
func milliseconds(p *bench.Prepared, times int) (float64, error) {
	began := time.Now()
	err := p.Iterate(times)
	return time.Since(began).Seconds() * 1e3 / float64(times), err
}
