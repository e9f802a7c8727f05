package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"ppal/internal/rundir"
)

// Result holds the times of a case. Times are medians in milliseconds.
type Result struct {
	Name      string  `json:"name"`
	Iteration float64 `json:"iteration_ms"`
	Floor     float64 `json:"floor_ms"`
	Ratio     float64 `json:"ratio"` // ratio of the medians

	// the first and the third quartile
	IterationQuartiles [2]float64 `json:"iteration_quartiles_ms"`
	FloorQuartiles     [2]float64 `json:"floor_quartiles_ms"`
	Iterations         int        `json:"iterations"` // number of timed iterations
	FloorIs            string     `json:"floor"`
	FloorGFLOPs        float64    `json:"floor_gflops"` // per second

	Others []Comparison `json:"compared,omitempty"`

	AskedProducts string `json:"asked_products"` // as requested: auto, or a kind of products
	Products      string `json:"products"`       // the kind that ran
	Shape
	Allocations
	// peak resident memory from before loading to the first iterations, without the floor's memory
	PeakBytes uint64 `json:"peak_bytes"`
}

// Comparison is another activity that was timed in the same turns.
type Comparison struct {
	Name      string     `json:"name"`
	Time      float64    `json:"ms"`
	Quartiles [2]float64 `json:"quartiles_ms"`
	Ratio     float64    `json:"ratio"` // the iteration's time divided by this activity's time
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
	asked := c.products
	if asked == "auto" {
		asked = w.setting.Text("products")
	}
	r := Result{Name: c.Name, AskedProducts: asked, Products: w.products, Shape: w.shape, PeakBytes: rundir.PeakBytes()}
	if r.Allocations, err = w.allocations(); err != nil {
		return Result{}, err
	}
	references, err := w.references()
	if err != nil {
		return Result{}, err
	}
	activities := []activity{w.iterate}
	for _, f := range references {
		activities = append(activities, f.run)
	}
	runtime.GC() // collect the garbage of the preparation now, not while something is timed
	times, err := alternate(ctx, o.Time, activities)
	if err != nil {
		return Result{}, err
	}
	r.compare(times, references)
	return r, nil
}

// compare sets the times of the iteration and of the references, the floor's first.
func (r *Result) compare(times [][]time.Duration, references []reference) {
	iteration, floor := newTiming(times[0]), newTiming(times[1])
	r.Iteration, r.IterationQuartiles, r.Iterations = iteration.Median, iteration.Quartiles, iteration.Runs
	r.Floor, r.FloorQuartiles, r.FloorIs = floor.Median, floor.Quartiles, references[0].name
	r.Ratio, r.FloorGFLOPs = r.Iteration/r.Floor, references[0].flops/r.Floor/1e6
	for i, f := range references[1:] {
		t := newTiming(times[2+i])
		r.Others = append(r.Others, Comparison{f.name, t.Median, t.Quartiles, r.Iteration / t.Median})
	}
}
