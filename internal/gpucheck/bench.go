package gpucheck

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"ppal/internal/bench"
	"ppal/internal/cuda/driver"
)

const (
	rounds        = 9       // rounds of turns
	launchCases   = 6       // the first cases of the table, whose launches are timed one by one
	watchedTimes  = 100     // iterations with an event around each launch
	bareTimes     = 50      // runs of the bare products in a turn
	copiedBytes   = 1 << 30 // bytes copied to measure the bandwidth
	hostBound     = 25      // bound in microseconds for the time between forward and backward
	bytesShare    = 0.7     // share of the bandwidth that everything except products should reach
	launchesBound = 0.040   // allowance in milliseconds for launches
)

// benchCases time iterations in turns with the bare products, and observe the device during some of
// them. Then they time the launches of the most important cases. The errors of the products come
// last.
func benchCases() []Case {
	list := []Case{{Name: "copies", Run: func(_ context.Context, o Options) ([]Result, error) {
		rate, err := copyRate(o)
		return []Result{Measurement("device copies, read and written", rate/1e9, "GB/s")}, err
	}}}
	names := map[string]bool{}
	for _, c := range timedCases() {
		names[c.name] = names[c.name] || !c.groups
		list = append(list, Case{Name: c.label(), Run: func(ctx context.Context, o Options) ([]Result, error) {
			rate, err := copyRate(o)
			if err != nil {
				return nil, err
			}
			return benchmarkCase(ctx, o, c, rate)
		}})
	}
	for i, c := range timedCases() {
		if i < launchCases || c.groups {
			list = append(list, launchesCase(c))
		}
	}
	list = append(list, sweepCases()...)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] {
			list = append(list, Case{Name: name + " errors", Limit: 2 * time.Minute, Run: func(ctx context.Context, o Options) ([]Result, error) {
				return accuracy(ctx, o, name)
			}})
		}
	}
	return list
}

func copyRate(o Options) (rate float64, err error) {
	d, err := o.Open()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return bandwidth(d, copiedBytes/max(o.Shrink, 1))
}

// benchmarkCase returns the results of one row of the table.
func benchmarkCase(ctx context.Context, o Options, c timedCase, rate float64) (results []Result, err error) {
	w := &watch{}
	p, err := c.prepare(ctx, o, o.opened(func(d driver.Driver) driver.Driver { w.Driver = d; return w }))
	if err != nil {
		if p != nil {
			err = errors.Join(err, p.Close())
		}
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	b, err := newBare(w.Driver, p.Shape(), c.precision)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	iteration, floor, err := inTurns(ctx, o, p, b)
	if err != nil {
		return nil, err
	}
	results = c.judge(p.Shape(), iteration, floor, rate)
	w.arm()
	if err := p.Iterate(watchedTimes); err != nil {
		return results, err
	}
	used, err := w.disarm(b.stream)
	if err != nil {
		return results, err
	}
	return append(results, c.judgeUsage(used)...), nil
}

// inTurns returns the median milliseconds of an iteration and of the bare products.
func inTurns(ctx context.Context, o Options, p *bench.Prepared, b *bare) (iteration, floor float64, err error) {
	times, err := turnOf(o, p)
	if err != nil {
		return 0, 0, err
	}
	var iterations, floors []float64
	for range rounds {
		if ctx.Err() != nil {
			return 0, 0, context.Cause(ctx)
		}
		i, err := milliseconds(p, times)
		if err != nil {
			return 0, 0, err
		}
		f, err := b.milliseconds(bareTimes)
		if err != nil {
			return 0, 0, err
		}
		iterations, floors = append(iterations, i), append(floors, f)
	}
	return median(iterations), median(floors), nil
}

// judge compares an iteration with the bare products.
func (c timedCase) judge(s bench.Shape, iteration, floor, rate float64) []Result {
	shape := fmt.Sprintf("%d x %d x %d, %d constraints, data: %s", s.Rows, s.Features, s.Width, s.Constraints, s.Data)
	results := []Result{
		Measurement(c.label()+": an iteration", iteration, "ms"),
		Measurement(c.label()+": the bare products", floor, "ms"),
	}
	results[0].Detail = shape
	flops := 4 * float64(s.Rows) * float64(s.Features) * float64(s.Width)
	results[1].Detail = fmt.Sprintf("%.4g TFLOP/s", flops/floor/1e9)
	if c.overBare == 0 {
		return results
	}
	ratio := AtMost(c.label()+": iteration over bare products", iteration/floor, c.overBare, "x")
	if c.orBytes {
		bound := floor + otherBytes(s)/(bytesShare*rate)*1e3 + launchesBound
		ratio.Bound = math.Max(c.overBare, bound/floor)
		ratio.Status = passed(ratio.Value <= ratio.Bound)
		ratio.Detail = fmt.Sprintf("or products + %.0f MB at %.0f%% of the copies' rate + %.0f us", otherBytes(s)/1e6, 100*bytesShare,
			1e3*launchesBound)
	}
	return append(results, ratio)
}

// otherBytes returns the least memory traffic of the passes that are not products with the data.
// The values of the first layer, rows x width of 4 bytes, are read and written by the activation,
// read by the output layer and by its gradient, and read and written by the activation's gradient.
func otherBytes(s bench.Shape) float64 { return 6 * 4 * float64(s.Rows) * float64(s.Width) }

// judgeUsage compares the usage of the device with its bounds.
func (c timedCase) judgeUsage(u usage) []Result {
	gap := AtMost(c.label()+": between forward and backward", 1e3*u.gap, hostBound, "us")
	busy := Measurement(c.label()+": GPU busy over wall", u.busy, "")
	if c.busy > 0 {
		busy = AtLeast(busy.Name, u.busy, c.busy, "")
	}
	return []Result{gap, busy}
}
