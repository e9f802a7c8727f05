// Package check is what `make gpu-check` runs on a machine with a GPU: whether the device computes what the CPU does, and how fast.
package check

import (
	"context"
	"fmt"

	"ppal/cuda/driver"
)

// Options are what the parts need of the world.
type Options struct {
	Open func() (driver.Driver, error) // opens the GPU; a part closes what it opens
	Data string                        // the directory with fashion-mnist/*.gz, or "" for none
	Log  func(format string, args ...any)
}

// Status is how a check ended.
type Status string

// The statuses.
const (
	Passed   Status = "passed"
	Failed   Status = "failed"
	NotRun   Status = "not run"  // Detail says why
	Measured Status = "measured" // a number without a bound
)

// Result is one check or one measurement.
type Result struct {
	Name   string  `json:"name"`
	Status Status  `json:"status"`
	Value  float64 `json:"value"`
	Bound  float64 `json:"bound,omitempty"` // what Value may be at most; 0 is no bound
	Unit   string  `json:"unit,omitempty"`
	Detail string  `json:"detail,omitempty"`
}

// AtMost is the result of a value that has a bound.
func AtMost(name string, value, bound float64, unit string) Result {
	r := Result{Name: name, Status: Failed, Value: value, Bound: bound, Unit: unit}
	if value <= bound { // not so for NaN
		r.Status = Passed
	}
	return r
}

// Skipped is the result of a check that could not be run.
func Skipped(name, why string) Result { return Result{Name: name, Status: NotRun, Detail: why} }

// Part is one group of checks. It fits in ten minutes and needs no other part.
type Part struct {
	Name, Summary string
	Run           func(ctx context.Context, o Options) ([]Result, error) // an error is that the part could not go on
}

// Parts are all parts, in the order in which they are run.
func Parts() []Part {
	return []Part{
		{"parity", "every step kind and whole passes against the CPU device", parity},
		{"training", "200 iterations on Fashion-MNIST against the CPU device, twice", training},
	}
}

// Choose returns the named parts, or all for none.
func Choose(names []string) ([]Part, error) {
	if len(names) == 0 {
		return Parts(), nil
	}
	var chosen []Part
	for _, name := range names {
		found := false
		for _, p := range Parts() {
			if p.Name == name {
				chosen, found = append(chosen, p), true
			}
		}
		if !found {
			return nil, fmt.Errorf("check: there is no part %q", name)
		}
	}
	return chosen, nil
}
