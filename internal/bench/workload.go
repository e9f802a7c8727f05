package bench

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// workload is a case that is ready to run: a problem, and a method at an iterate of the problem.
type workload struct {
	problem  problem.Problem
	method   trainer.Method
	at       problem.Point
	shape    Shape
	held     int // number of rows for measures other than training
	setting  setting
	products string // kind of products with the data matrix that runs
	keep     any    // value that must stay in memory besides the problem
	// references prepares the activities with which the iteration is compared, the floor first.
	references func() ([]reference, error)
}

// Shape holds the sizes that determine the work of an iteration.
type Shape struct {
	Rows     int `json:"rows"`
	Features int `json:"features"`
	// columns of the product with the data: hidden units of all heads, or outputs
	Width       int    `json:"width"`
	NonZeros    int    `json:"non_zeros,omitempty"` // of sparse rows
	Parameters  int    `json:"parameters"`
	Constraints int    `json:"constraints"`
	Data        string `json:"data"` // fromFiles or synthetic
}

// The values of Shape.Data.
const (
	fromFiles = "files"
	synthetic = "synthetic"
)

// dense returns the floor of dense rows as the only reference.
func (w *workload) dense() ([]reference, error) {
	r, err := bareProducts(w.setting, w.shape.Rows, w.shape.Features, w.shape.Width)
	return []reference{r}, err
}

// begin initialises the method as trainer.Train does.
func (w *workload) begin() error {
	n, m := w.problem.Dims()
	w.shape.Parameters, w.shape.Constraints = n, m
	w.at.Constraints = make([]float64, m)
	switch w.problem.Space().Regularizer.Kind {
	case problem.Ball, problem.Box:
		w.problem.Space().Prox(1, problem.Iterate)
	}
	var err error
	if w.at.Objective, err = w.problem.Forward(w.at.Constraints); err != nil {
		return err
	}
	return w.method.Init(w.problem, &w.at)
}

// iterate runs one iteration and returns its duration.
func (w *workload) iterate() (time.Duration, error) {
	began := time.Now()
	err := w.method.Iterate(w.problem, &w.at)
	took := time.Since(began)
	w.at.Iteration++
	if err == nil && (math.IsNaN(w.at.Objective) || math.IsInf(w.at.Objective, 0)) {
		err = fmt.Errorf("bench: the objective is %v after %d iterations", w.at.Objective, w.at.Iteration)
	}
	return took, err
}

// repeat runs n iterations without timing them.
func (w *workload) repeat(n int) error {
	for range n {
		if _, err := w.iterate(); err != nil {
			return err
		}
	}
	return nil
}

// Allocations counts the heap allocations of an iteration in the steady state.
type Allocations struct {
	Count uint64 `json:"allocations"`
	Bytes uint64 `json:"allocated_bytes"`
}

// countedIterations is the number of iterations over which allocations are averaged.
const countedIterations = 10

// allocations counts the allocations per iteration. It runs after the first iterations, which
// allocate buffers for later use.
func (w *workload) allocations() (Allocations, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := w.repeat(countedIterations)
	runtime.ReadMemStats(&after)
	return Allocations{
		Count: (after.Mallocs - before.Mallocs) / countedIterations,
		Bytes: (after.TotalAlloc - before.TotalAlloc) / countedIterations,
	}, err
}
