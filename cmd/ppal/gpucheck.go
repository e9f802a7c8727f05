//go:build gpu

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ppal/cuda/driver"
	"ppal/datasets"
	"ppal/internal/gpucheck"
	"ppal/internal/rundir"
)

// checkOptions are the flags of gpu-check.
type checkOptions struct {
	parts                []string
	list                 bool
	out, dataDir, python string
	device               int
}

// gpuCheckCommand returns the command that checks and measures a GPU. The command is hidden: it is
// for a machine to which the user copied this program for the check.
func (a *app) gpuCheckCommand() *cobra.Command {
	opts := &checkOptions{}
	cmd := &cobra.Command{
		Use:    "gpu-check",
		Hidden: true,
		Short:  "Compare the GPU with the CPU, and measure its speed",
		Long: `Gpu-check compares the results of the GPU with the CPU device, and its speed with cuBLAS's bare products and PyTorch.
Each part takes less than ten minutes and can be run alone. Gpu-check looks for Fashion-MNIST's training files beside this
program, and then in the data directory of the other commands.`,
		Example: `  ppal-gpu gpu-check
  ppal-gpu gpu-check --part parity,bench --out gpu-check.json
  ppal-gpu gpu-check --list`,
		Args: noArguments,
		RunE: a.command(func(cmd *cobra.Command, _ []string) error { return a.gpuCheck(cmd.Context(), opts) }),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringSliceVar(&opts.parts, "part", nil, "run the parts `NAME,...` (default all)")
	f.BoolVar(&opts.list, "list", false, "list the parts")
	f.StringVar(&opts.out, "out", "", "write the report as JSON to `FILE`")
	f.StringVar(&opts.dataDir, "data-dir", "", "look for data sets in `DIR`")
	f.IntVar(&opts.device, "device", 0, "use GPU `N`")
	f.StringVar(&opts.python, "python", "python3", "the Python `PROGRAM` with PyTorch")
	complete(cmd, "part", gpucheck.Names(gpucheck.Parts()))
	return cmd
}

// gpuCheck runs the command.
func (a *app) gpuCheck(ctx context.Context, opts *checkOptions) error {
	if opts.list {
		for _, p := range gpucheck.Parts() {
			if !p.Hidden {
				fmt.Fprintf(a.stdout, "%-9s %s\n", p.Name, p.Summary)
			}
		}
		return nil
	}
	parts, err := gpucheck.Choose(gpucheck.Parts(), opts.parts)
	if err != nil {
		return usage{err}
	}
	o, err := a.checkOptions(opts)
	if err != nil {
		return err
	}
	report := &gpucheck.Report{Version: version(), When: a.now().UTC()}
	if report.Device, err = identify(o.Open); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s, driver for CUDA %s, %s\n", report.Device.Name, report.Device.Driver, report.Device.Products)
	err = gpucheck.Run(ctx, parts, o, func(p gpucheck.PartReport) error {
		report.Parts = append(report.Parts, p)
		fmt.Fprintln(a.stdout)
		// after every part, because a later part may be interrupted
		return errors.Join(p.WriteTable(a.stdout), writeReport(opts.out, report))
	})
	if err != nil {
		return err
	}
	if n := report.Failures(); n > 0 {
		return fmt.Errorf("gpu-check: %d checks failed", n)
	}
	return nil
}

// checkOptions converts the flags to the options of the parts.
func (a *app) checkOptions(opts *checkOptions) (gpucheck.Options, error) {
	self, err := os.Executable()
	if err != nil {
		return gpucheck.Options{}, err
	}
	data := opts.dataDir
	if beside := filepath.Dir(self); data == "" && isDirectory(filepath.Join(beside, "fashion-mnist")) {
		data = beside
	}
	if data, err = datasets.Dir(data, a.getenv); err != nil {
		return gpucheck.Options{}, err
	}
	if found, _ := filepath.Glob(filepath.Join(data, "fashion-mnist", "train-images*")); found == nil {
		data = "" // skip the parts that need the files; the only error is an invalid pattern
	}
	return gpucheck.Options{
		Open: func() (driver.Driver, error) { return a.gpus.open(opts.device) },
		Data: data, Self: self, Python: opts.python,
		Log: func(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) },
	}, nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// identify opens the device once: without a device no part needs to start.
func identify(open func() (driver.Driver, error)) (driver.Info, error) {
	d, err := open()
	if err != nil {
		return driver.Info{}, err
	}
	return d.Info(), d.Close()
}

// writeReport writes the report to a file, if there is one.
func writeReport(file string, r *gpucheck.Report) error {
	if file == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return rundir.WriteFile(file, append(data, '\n'))
}
