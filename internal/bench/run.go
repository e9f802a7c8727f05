package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"ppal/internal/rundir"
)

// Result is a case, timed. Times are medians in milliseconds.
type Result struct {
	Name      string  `json:"name"`
	Iteration float64 `json:"iteration_ms"`
	Floor     float64 `json:"floor_ms"`
	Ratio     float64 `json:"ratio"` // of the medians

	IterationQuartiles [2]float64 `json:"iteration_quartiles_ms"` // the first and the third
	FloorQuartiles     [2]float64 `json:"floor_quartiles_ms"`
	Iterations         int        `json:"iterations"` // that were timed
	FloorIs            string     `json:"floor"`
	FloorGFLOPs        float64    `json:"floor_gflops"` // a second

	AskedProducts string `json:"asked_products"` // auto, or a kind
	Products      string `json:"products"`       // the kind that ran
	Shape
	Allocations
	PeakBytes uint64 `json:"peak_bytes"` // resident, from before the case was loaded to its first iterations, without the floor's memory
}

// Run prepares a case and times it.
func (c Case) Run(ctx context.Context, o Options) (Result, error) {
	if c.Missing != "" {
		return Result{}, fmt.Errorf("bench: %s cannot run: %s", c.Name, c.Missing)
	}
	resetPeak()
	w, err := c.prepare(ctx, o)
	if err != nil {
		return Result{}, err
	}
	if err := w.repeat(warmUps); err != nil {
		return Result{}, err
	}
	r := Result{Name: c.Name, AskedProducts: c.products, Products: w.setting.Dtype, Shape: w.shape, PeakBytes: rundir.PeakBytes()}
	if r.Allocations, err = w.allocations(); err != nil {
		return Result{}, err
	}
	f, err := w.floor(w.setting, w.shape)
	if err != nil {
		return Result{}, err
	}
	runtime.GC() // what preparing left would be collected while something is timed
	bare := func() (time.Duration, error) { return f.work.Run(), nil }
	times, err := alternate(ctx, o.Time, []activity{bare, w.iterate})
	if err != nil {
		return Result{}, err
	}
	r.FloorIs = f.name
	r.compare(newTiming(times[0]), newTiming(times[1]), f.work.FLOPs())
	return r, nil
}

// compare fills the times in.
func (r *Result) compare(floor, iteration Timing, flops float64) {
	r.Floor, r.FloorQuartiles = floor.Median, floor.Quartiles
	r.Iteration, r.IterationQuartiles, r.Iterations = iteration.Median, iteration.Quartiles, iteration.Runs
	r.Ratio = r.Iteration / r.Floor
	r.FloorGFLOPs = flops / r.Floor / 1e6
}
