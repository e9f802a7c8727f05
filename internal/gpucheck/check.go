// Package gpucheck has the parts of `ppal gpu-check`: on a machine with a GPU, it compares the
// device's results with the CPU's and measures its speed.
package gpucheck

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ppal/datasets"
	"ppal/internal/cuda/driver"
)

// Options configure the parts.
type Options struct {
	Open func() (driver.Driver, error) // opens the GPU; a part closes the device
	Data string                        // the directory with fashion-mnist/train-*.gz
	// Self is the path of this program, which runs every case in a process of its own. The empty
	// string runs the cases in this process.
	Self string
	// Args are the arguments of such a process, without the part and the case.
	Args []string
	// Cases selects the cases whose part and name contain one of the texts; none selects all.
	Cases  []string
	Python string // the interpreter with PyTorch
	GPUs   int    // of this machine
	Log    func(format string, args ...any)
	Shrink int // divides the number of measured rows, for tests; 0 is 1
}

// Status is the outcome of a check.
type Status string

// The statuses.
const (
	Passed   Status = "passed"
	Failed   Status = "failed"
	NotRun   Status = "not run"  // Detail gives the reason
	Measured Status = "measured" // a number without a bound
)

// Result is one check or one measurement.
type Result struct {
	Name   string  `json:"name"`
	Status Status  `json:"status"`
	Value  float64 `json:"value"`
	// upper bound of Value (lower bound with Least); 0: no bound
	Bound  float64 `json:"bound,omitempty"`
	Least  bool    `json:"least,omitempty"`
	Unit   string  `json:"unit,omitempty"`
	Detail string  `json:"detail,omitempty"`
}

// AtMost returns the result of a value with an upper bound.
func AtMost(name string, value, bound float64, unit string) Result {
	return Result{Name: name, Status: passed(value <= bound), Value: value, Bound: bound, Unit: unit}
}

// AtLeast returns the result of a value with a lower bound.
func AtLeast(name string, value, bound float64, unit string) Result {
	return Result{Name: name, Status: passed(value >= bound), Value: value, Bound: bound, Least: true, Unit: unit}
}

// Measurement returns the result of a value without a bound.
func Measurement(name string, value float64, unit string) Result {
	return Result{Name: name, Status: Measured, Value: value, Unit: unit}
}

// Skipped returns the result of a check that did not run.
func Skipped(name, why string) Result { return Result{Name: name, Status: NotRun, Detail: why} }

// passed returns the status of a comparison. A comparison with NaN fails.
func passed(holds bool) Status {
	if holds {
		return Passed
	}
	return Failed
}

// opened returns Open as a function of the device's number.
func (o Options) opened(wrap func(driver.Driver) driver.Driver) func(int) (driver.Driver, error) {
	return func(int) (driver.Driver, error) {
		d, err := o.Open()
		if err != nil {
			return nil, err
		}
		return wrap(d), nil
	}
}

// Part is one group of checks, which does not depend on other parts.
type Part struct {
	Name, Summary string
	Hidden        bool   // runs only on request
	Cases         []Case // the most important ones first
	// Finish returns results that follow from the results of all cases; nil: there are none.
	Finish func([]Result) []Result
}

// Case is a check of a part. Each case runs in a process of its own.
type Case struct {
	Name  string
	Limit time.Duration // after which the process is killed; 0: caseLimit
	// Run returns results, and an error with the reason if Run could not continue.
	Run func(ctx context.Context, o Options) ([]Result, error)
}

// caseLimit is the default limit of a case.
const caseLimit = time.Minute

// limit returns the case's limit.
func (c Case) limit() time.Duration {
	if c.Limit > 0 {
		return c.Limit
	}
	return caseLimit
}

// Parts returns all parts in the order in which they run.
func Parts() []Part {
	return []Part{
		{Name: "parity", Summary: "every step kind and whole passes against the CPU device", Cases: parityCases()},
		{Name: "training", Summary: "100 or 200 iterations on Fashion-MNIST against the CPU device, twice", Cases: trainingCases(compared, full, datasets.FashionMNISTTraining)},
		{Name: "commands", Summary: "whole runs of ppal train on Fashion-MNIST: seconds by part", Cases: commandCases()},
		{Name: "bench", Summary: "iterations in turns with cuBLAS's bare products; busy time, host time", Cases: benchCases(), Finish: fastest},
		{Name: "convolutions", Summary: "passes of convolutional networks, and PyTorch's", Cases: convolutionCases()},
		{Name: "peers", Summary: "iterations in turns with PyTorch eager, compiled and captured", Cases: peerCases()},
		{Name: "sanitize", Summary: "the part small under compute-sanitizer's tools", Cases: sanitizeCases()},
		{Name: "small", Summary: "every kernel at small shapes, for sanitize", Hidden: true, Cases: []Case{{Name: "small", Limit: sanitizerLimit, Run: small}}},
	}
}

// Choose returns the parts with the given names, or without names all parts that are not hidden.
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
			return nil, fmt.Errorf("gpu-check: unknown part %q (parts: %s)", name, strings.Join(Names(all), ", "))
		}
	}
	return chosen, nil
}

// Names returns the names of the parts that are not hidden.
func Names(all []Part) []string {
	var names []string
	for _, p := range all {
		if !p.Hidden {
			names = append(names, p.Name)
		}
	}
	return names
}
