package gpucheck

import (
	"context"
	"maps"
	"os"
	"path/filepath"

	"ppal/internal/config"
	"ppal/internal/cuda/driver"
	"ppal/trainer/session"
	"ppal/trainer/session/results"
)

// command is a whole run of `ppal train` on Fashion-MNIST.
type command struct {
	name     string
	settings config.Values
	seconds  float64 // the bound of its wall time without the start of the program; 0: none
}

// commands are the runs that are timed. The bounds are those of an H200 with 16 cores.
var commands = []command{
	{"100 iterations", config.Values{"hidden": "256", "iterations": "100"}, 0.6},
	{"1,000 iterations", config.Values{"hidden": "256", "iterations": "1000"}, 0.9},
	{"1,000 iterations on mini-batches", config.Values{"hidden": "256", "iterations": "1000", "batch-size": "512"}, 0},
	{"1,000 iterations of a linear model, with the secant Jacobian", config.Values{"model": "linear", "regularizer": "l2", "iterations": "1000"}, 0},
}

// commandCases run whole commands and list their seconds by part. Each case has a process of its
// own, so that its time includes opening the GPU.
func commandCases() (list []Case) {
	for _, c := range commands {
		list = append(list, Case{Name: c.name, Run: func(ctx context.Context, o Options) ([]Result, error) {
			if o.Data == "" {
				return []Result{Skipped(c.name, "the training files are missing")}, nil
			}
			sum, err := c.run(ctx, o)
			if err != nil {
				return nil, err
			}
			return c.results(sum), nil
		}})
	}
	return append(list, Case{Name: ranks, Run: commands[0].ranked})
}

// values are the command's settings.
func (c command) values(o Options) config.Values {
	values := config.Values{"dataset": "fashion-mnist", "device": "cuda", "data-dir": o.Data}
	maps.Copy(values, c.settings)
	return values
}

// run runs the command. Its files go to a temporary directory.
func (c command) run(ctx context.Context, o Options) (sum results.Summary, err error) {
	dir, err := os.MkdirTemp("", "ppal-gpu-check")
	if err != nil {
		return sum, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cfg, err := config.Resolve(c.values(o), nil)
	if err != nil {
		return sum, err
	}
	options, err := cfg.SessionOptions("")
	if err != nil {
		return sum, err
	}
	options.Device.OpenGPU = onGPU(func(int) (driver.Driver, error) { return o.Open() }, timedCase{})
	run, err := session.New(ctx, options)
	if err != nil {
		return sum, err
	}
	defer func() {
		if closeErr := run.Close(); err == nil {
			err = closeErr
		}
	}()
	if err := run.Open(filepath.Join(dir, "run")); err != nil {
		return sum, err
	}
	if _, err := run.Train(ctx); err != nil {
		return sum, err
	}
	if err := run.Save(""); err != nil {
		return sum, err
	}
	return run.Summary(), nil
}

// results lists the seconds of a run.
func (c command) results(sum results.Summary) []Result {
	all := Measurement(c.name+": seconds", sum.SecondsTotal, "s")
	if c.seconds > 0 {
		all = AtMost(c.name+": seconds", sum.SecondsTotal, c.seconds, "s")
	}
	all.Detail = sum.Device + ", " + sum.Status
	list := []Result{all}
	for _, part := range []struct {
		name    string
		seconds float64
	}{
		{"opening, beside reading", sum.SecondsOpening}, {"reading", sum.SecondsReading}, {"training", sum.Seconds}, {"records", sum.SecondsRecords},
		{"certificates", sum.SecondsCertificates}, {"files", sum.SecondsPlots},
	} {
		list = append(list, Measurement(c.name+": "+part.name, part.seconds, "s"))
	}
	return list
}
