package gpucheck

import (
	"context"
	"fmt"
	"time"

	"ppal/cuda"
	"ppal/cuda/driver"
	"ppal/internal/bench"
	"ppal/internal/config"
	"ppal/trainer/session"
)

// timedCase is a case of `ppal bench` on the GPU, and what its iteration is to reach.
type timedCase struct {
	name      string           // of the case
	precision driver.Precision // of the bare products that it is compared with
	products  string           // as --products
	groups    bool             // table rows with many constraints; pictures of classes otherwise

	overBare       float64 // an iteration is at most so many times the bare products
	orBytes        bool    // or takes no longer than they and the other bytes at a share of the bandwidth
	busy           float64 // the least share of the time in which the GPU works; 0: not bounded
	eager, library float64 // the iteration is at least so many times faster than PyTorch: as written, and its fastest form
	form           string  // that form's name in peers.py
}

// timedCases are the rows of the table of what to reach. A bound of 0 is none.
func timedCases() []timedCase {
	const compiled, captured = "compiled, CUDA graphs", "captured"
	return []timedCase{
		{name: "mnpc-fashion-mnist", products: "float32", precision: driver.Float32, overBare: 1.3, busy: 0.9,
			eager: 1.3, library: 1, form: compiled},
		{name: "mnpc-fashion-mnist", products: "tf32", precision: driver.TF32, overBare: 2, orBytes: true, busy: 0.8,
			eager: 2, library: 1.1, form: compiled},
		{name: "mnpc-fashion-mnist", products: "bf16x3", precision: driver.Float32, overBare: 0.45, busy: 0.8,
			eager: 3, library: 2, form: compiled},
		{name: "mnpc-fashion-mnist", products: "bf16x2", precision: driver.Float32, overBare: 0.45, busy: 0.8, form: compiled},
		{name: "mnpc-fashion-mnist", products: "int8x3", precision: driver.Float32, overBare: 0.45, busy: 0.8,
			eager: 3, library: 2, form: compiled},
		{name: "mnpc-fashion-mnist", products: "int8x2", precision: driver.Float32, overBare: 0.45, busy: 0.8, form: compiled},
		{name: "mnpc-cifar10", products: "float32", precision: driver.Float32, overBare: 1.2, busy: 0.9, form: compiled},
		{name: "mnpc-cifar10", products: "tf32", precision: driver.TF32, overBare: 1.6, busy: 0.8, form: compiled},
		{name: "mnpc-cifar10", products: "bf16x3", precision: driver.Float32, overBare: 0.4, busy: 0.8, form: compiled},
		{name: "mnpc-cifar10", products: "bf16x2", precision: driver.Float32, overBare: 0.4, busy: 0.8, form: compiled},
		{name: "mnpc-cifar10", products: "int8x3", precision: driver.Float32, overBare: 0.4, busy: 0.8, form: compiled},
		{name: "mnpc-cifar10", products: "int8x2", precision: driver.Float32, overBare: 0.4, busy: 0.8, form: compiled},
		{name: "if-communities", products: "float32", precision: driver.Float32, groups: true, eager: 5, library: 1.5, form: captured},
	}
}

// label names the case in results.
func (c timedCase) label() string { return c.name + " " + c.products }

// prepare builds the case on a device that open opens.
func (c timedCase) prepare(ctx context.Context, o Options, open func(int) (driver.Driver, error)) (*bench.Prepared, error) {
	chosen, _, err := bench.Choose(bench.Cases(max(o.Shrink, 1)), []string{c.name})
	if err != nil {
		return nil, err
	}
	p, err := chosen[0].Prepare(ctx, bench.Options{
		DataDir: o.Data, Device: config.Values{"device": "cuda", "products": c.products},
		OpenGPU: onGPU(open),
	})
	if err != nil {
		return nil, fmt.Errorf("gpu-check: %s: %w", c.label(), err)
	}
	return p, p.Iterate(warmUps)
}

// onGPU makes the opener of a session's GPU from the opener of a device.
func onGPU(open func(ordinal int) (driver.Driver, error)) func(session.GPUOptions) (session.GPU, error) {
	return func(o session.GPUOptions) (session.GPU, error) {
		d, err := open(o.Ordinal)
		if err != nil {
			return nil, err
		}
		gpu, err := cuda.Open(d, cuda.Options{Products: o.Products, MicroBatch: o.MicroBatch})
		if err != nil {
			return nil, err
		}
		return gpu, nil
	}
}

const (
	warmUps     = 20                     // iterations before those that count: all graphs are captured
	turn        = 100 * time.Millisecond // that iterations take before something else has its turn
	leastOfTurn = 3
	mostOfTurn  = 2000
)

// turnOf is how many iterations a turn has.
func turnOf(o Options, p *bench.Prepared) (int, error) {
	one, err := milliseconds(p, leastOfTurn)
	return int(min(max(o.turn().Seconds()*1e3/one, leastOfTurn), mostOfTurn)), err
}

// turn is how long one is.
func (o Options) turn() time.Duration { return turn / time.Duration(max(o.Shrink, 1)) }

// milliseconds is what an iteration takes, the mean of so many: each ends with f and g on the host.
func milliseconds(p *bench.Prepared, times int) (float64, error) {
	began := time.Now()
	err := p.Iterate(times)
	return time.Since(began).Seconds() * 1e3 / float64(times), err
}
