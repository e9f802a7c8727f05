package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gorgonia.org/tensor"

	"ppal/internal/config"
	"ppal/internal/cpu"
	"ppal/internal/plan"
	"ppal/trainer/graph"
	"ppal/trainer/session"
)

// Case is a problem whose iteration is timed.
type Case struct {
	Name  string
	About string // one line
	// Missing says what this version or machine lacks to run the case; empty: nothing.
	Missing string

	products string        // as requested: auto, or a kind of products
	settings config.Values // settings of ppal train
	open     func(ctx context.Context, s setting) (*workload, error)
}

// setting holds the inputs from which a case is built.
type setting struct {
	config.Train
	device  *cpu.Device
	dataDir string
	openGPU func(graph.GPUOptions) (graph.GPU, error) // opens a GPU; nil: this machine's GPU
}

// options are those of the setting's training run.
func (s setting) options() (session.Options, error) {
	o, err := s.SessionOptions(s.dataDir)
	o.Device.OpenGPU = s.openGPU
	return o, err
}

// Options are shared by all cases of a run.
type Options struct {
	DataDir string
	// Device holds the given settings dtype, simd, threads and products of ppal train. products
	// applies to cases that do not fix the kind of products.
	Device config.Values
	// OpenGPU replaces the function that opens this machine's GPU. nil opens this machine's GPU.
	OpenGPU func(graph.GPUOptions) (graph.GPU, error)
	// Time is the approximate measuring time of each case, without its preparation.
	Time time.Duration
}

// Cases returns all cases in the order in which they run. The number of rows is divided by shrink;
// 1 gives the sizes of the published data sets.
func Cases(shrink int) []Case {
	return slices.Concat(imageCases(shrink), tableCases(shrink), rankingCases(shrink))
}

// OpenCPU opens the CPU device of a run.
func OpenCPU(d session.Device) (*cpu.Device, error) {
	opened, err := d.OpenCPU()
	if err != nil {
		return nil, err
	}
	return opened.(*cpu.Device), nil
}

// Restrict marks the cases whose kind of products the device or the dtype does not support.
func Restrict(all []Case, device *cpu.Device, dtype tensor.Dtype) {
	for i := range all {
		products, err := plan.ParseProducts(all[i].products)
		if err == nil {
			_, err = device.With(products)
		}
		switch sliced := products == plan.Int8x3 || products == plan.Int8x2; {
		case err != nil:
			all[i].Missing = strings.TrimPrefix(err.Error(), "cpu: ")
		case sliced && dtype != tensor.Float32:
			all[i].Missing = fmt.Sprintf("%v products need dtype float32, the dtype is %s", products, dtype)
		}
	}
}

// Choose returns the cases with the given names, in the order of the names. Without names it
// returns all cases that this version can run, and a note on each case that it cannot run. An
// unknown name, or the name of a case that cannot run, is a *config.Error.
func Choose(all []Case, names []string) (chosen []Case, notes []string, err error) {
	if len(names) == 0 {
		for _, c := range all {
			if c.Missing == "" {
				chosen = append(chosen, c)
			} else {
				notes = append(notes, fmt.Sprintf("%s is skipped: %s", c.Name, c.Missing))
			}
		}
		return chosen, notes, nil
	}
	refuse := func(format string, args ...any) error {
		return &config.Error{Where: "--cases", Problem: fmt.Sprintf(format, args...)}
	}
	for i, name := range names {
		at := slices.IndexFunc(all, func(c Case) bool { return c.Name == name })
		switch {
		case at < 0:
			return nil, nil, refuse("has no case %q, want some of %s", name, strings.Join(caseNames(all), ", "))
		case all[at].Missing != "":
			return nil, nil, refuse("names %s, which cannot run: %s", name, all[at].Missing)
		case slices.Contains(names[:i], name):
			return nil, nil, refuse("gives %s twice", name)
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil, nil
}

func caseNames(all []Case) []string {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Name
	}
	return names
}

// prepare builds the case's problem and initialises its method.
func (c Case) prepare(ctx context.Context, o Options) (*workload, error) {
	settings := config.Values{"device": "cpu", "primal": "nesterov"} // an iteration of fixed work
	maps.Copy(settings, c.settings)
	maps.Copy(settings, o.Device)
	switch {
	// float64 has only its own products, and tables are not 8-bit data
	case o.Device["dtype"] == "float64", c.settings["problem"] != "":
		settings["products"] = "auto"
	case c.products != "auto":
		settings["products"] = c.products
	}
	cfg, err := config.Resolve(settings, nil)
	if err != nil {
		return nil, err
	}
	device, err := OpenCPU(cfg.Session.Device)
	if err != nil {
		return nil, err
	}
	w, err := c.open(ctx, setting{cfg, device, o.DataDir, o.OpenGPU})
	if err != nil {
		return nil, fmt.Errorf("bench: %s: %w", c.Name, config.NameFlags(err))
	}
	return w, w.begin()
}
