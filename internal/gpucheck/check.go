// Package gpucheck is what `ppal gpu-check` runs on a machine with a GPU: whether the device
// computes what the CPU does, and how fast.
package gpucheck

import (
	"context"
	"fmt"
	"strings"

	"ppal/cuda/driver"
)

// Options are what the parts need of the world.
type Options struct {
	Open   func() (driver.Driver, error) // opens the GPU; a part closes what it opens
	Data   string                        // the directory with fashion-mnist/train-*.gz
	Self   string                        // this program's file, for tools that run it
	Python string                        // the interpreter that has PyTorch
	Log    func(format string, args ...any)
	Shrink int // divides the rows of what is measured, for tests; 0 is 1
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
	Bound  float64 `json:"bound,omitempty"` // what Value may be at most (at least, with Least); 0 is no bound
	Least  bool    `json:"least,omitempty"`
	Unit   string  `json:"unit,omitempty"`
	Detail string  `json:"detail,omitempty"`
}

// AtMost is the result of a value that has an upper bound.
func AtMost(name string, value, bound float64, unit string) Result {
	return Result{Name: name, Status: passed(value <= bound), Value: value, Bound: bound, Unit: unit}
}

// AtLeast is the result of a value that has a lower bound.
func AtLeast(name string, value, bound float64, unit string) Result {
	return Result{Name: name, Status: passed(value >= bound), Value: value, Bound: bound, Least: true, Unit: unit}
}

// Measurement is a value without a bound.
func Measurement(name string, value float64, unit string) Result {
	return Result{Name: name, Status: Measured, Value: value, Unit: unit}
}

// Skipped is the result of a check that could not be run.
func Skipped(name, why string) Result { return Result{Name: name, Status: NotRun, Detail: why} }

// passed is a comparison as a status. One with a NaN has failed.
func passed(holds bool) Status {
	if holds {
		return Passed
	}
	return Failed
}

// opened is Open for who takes devices by their number.
func (o Options) opened(wrap func(driver.Driver) driver.Driver) func(int) (driver.Driver, error) {
	return func(int) (driver.Driver, error) {
		d, err := o.Open()
		if err != nil {
			return nil, err
		}
		return wrap(d), nil
	}
}

// Part is one group of checks. It fits in ten minutes and needs no other part.
type Part struct {
	Name, Summary string
	Hidden        bool                                                   // run only when named
	Run           func(ctx context.Context, o Options) ([]Result, error) // an error is that the part could not go on
}

// Parts are all parts, in the order in which they are run.
func Parts() []Part {
	return []Part{
		{Name: "parity", Summary: "every step kind and whole passes against the CPU device", Run: parity},
		{Name: "training", Summary: "200 iterations on Fashion-MNIST against the CPU device, twice", Run: training},
		{Name: "bench", Summary: "iterations beside cuBLAS's bare products; busy time, host time", Run: benchmark},
		{Name: "peers", Summary: "iterations beside PyTorch eager, compiled and captured", Run: peers},
		{Name: "sanitize", Summary: "the part small under compute-sanitizer's memcheck and racecheck", Run: sanitize},
		{Name: "small", Summary: "every kernel at small shapes, for sanitize", Hidden: true, Run: small},
	}
}

// Choose returns the named parts of those given, or for no name all that are not hidden.
func Choose(all []Part, names []string) ([]Part, error) {
	var chosen []Part
	if len(names) == 0 {
		for _, p := range all {
			if !p.Hidden {
				chosen = append(chosen, p)
			}
		}
		return chosen, nil
	}
	for _, name := range names {
		found := false
		for _, p := range all {
			if p.Name == name {
				chosen, found = append(chosen, p), true
			}
		}
		if !found {
			return nil, fmt.Errorf("gpu-check: there is no part %q, want some of %s", name, strings.Join(Names(all), ", "))
		}
	}
	return chosen, nil
}

// Names are the names of the parts that are not hidden.
func Names(all []Part) []string {
	var names []string
	for _, p := range all {
		if !p.Hidden {
			names = append(names, p.Name)
		}
	}
	return names
}
