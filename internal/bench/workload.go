package bench

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"ppal/trainer"
	"ppal/trainer/problem"
)

// workload is a case that is ready to run: a problem, and a method at some iterate of it.
type workload struct {
	problem  problem.Problem
	method   trainer.Method
	at       problem.Point
	shape    Shape
	held     int // rows that are kept for other measures than training
	setting  setting
	products string // with the data, as they run
	keep     any    // what a run holds beside the problem
	// references prepares what the iteration is compared with, the floor first.
	references func() ([]reference, error)
}

// Shape is what an iteration's work depends on.
type Shape struct {
	Rows        int    `json:"rows"`
	Features    int    `json:"features"`
	Width       int    `json:"width"`               // columns of the product with the data: hidden units of all heads, or outputs
	NonZeros    int    `json:"non_zeros,omitempty"` // of sparse rows
	Parameters  int    `json:"parameters"`
	Constraints int    `json:"constraints"`
	Data        string `json:"data"` // FromFiles or Synthetic
}

// The values of Shape.Data.
const (
	FromFiles = "files"
	Synthetic = "synthetic"
)

// dense is the floor of dense rows, compared with nothing else.
func (w *workload) dense() ([]reference, error) {
	r, err := bareProducts(w.setting, w.shape.Rows, w.shape.Features, w.shape.Width)
	return []reference{r}, err
}

// begin starts the method as trainer.Train does.
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

// iterate does an iteration and says how long it took.
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

// repeat does n iterations, whose time nobody wants.
func (w *workload) repeat(n int) error {
	for range n {
		if _, err := w.iterate(); err != nil {
			return err
		}
	}
	return nil
}

// Allocations are those of an iteration in the steady state, from Go's heap.
type Allocations struct {
	Count uint64 `json:"allocations"`
	Bytes uint64 `json:"allocated_bytes"`
}

// countedIterations is how many iterations the mean of their allocations is taken over.
const countedIterations = 10

// allocations counts them. The first iterations, which make what the others use again, are over.
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
