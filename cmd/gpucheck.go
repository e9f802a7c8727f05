//go:build gpu

package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"ppal/datasets"
	"ppal/internal/cuda/driver"
	"ppal/internal/gpucheck"
	"ppal/internal/recordio"
)

// checkOptions are the flags of gpu-check.
type checkOptions struct {
	parts, cases         []string
	one                  string // the case that this process runs for another gpu-check; "": none
	list, inProcess      bool
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
Each part can be run alone. Every case of a part runs in a process of its own with a time limit; gpu-check goes on after a
case that fails, crashes or hangs. Gpu-check looks for Fashion-MNIST's training files beside this program, and then in the data
directory of the other commands.`,
		Example: `  ppal-gpu gpu-check
  ppal-gpu gpu-check --part parity,bench --out gpu-check.jsonl
  ppal-gpu gpu-check --part bench --cases int8x3,tf32
  ppal-gpu gpu-check --list`,
		Args: noArguments,
		RunE: a.once(func(cmd *cobra.Command, _ []string) error { return a.gpuCheck(cmd.Context(), opts) }),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringSliceVar(&opts.parts, "part", nil, "run the parts `NAME,...` (default all)")
	f.StringSliceVar(&opts.cases, "cases", nil, "run the cases whose part and name contain one of the `TEXTS`")
	f.StringVar(&opts.one, "case", "", "run the case `NAME` of one part in this process, and print the results as JSON")
	f.BoolVar(&opts.inProcess, "in-process", false, "run all cases in this process, for debuggers and tests")
	if err := errors.Join(f.MarkHidden("case"), f.MarkHidden("in-process")); err != nil {
		panic(err) // the flags are there
	}
	f.BoolVar(&opts.list, "list", false, "list the parts and their cases")
	f.StringVar(&opts.out, "out", "", "append each case's results to `FILE` as soon as the case has ended, as lines of JSON")
	f.StringVar(&opts.dataDir, "data-dir", "", "look for data sets in `DIR`")
	f.IntVar(&opts.device, "device", 0, "use GPU `N`")
	f.StringVar(&opts.python, "python", "python3", "the Python `PROGRAM` with PyTorch")
	complete(cmd, "part", gpucheck.Names(gpucheck.Parts()))
	return cmd
}

// gpuCheck runs the command.
func (a *app) gpuCheck(ctx context.Context, opts *checkOptions) (err error) {
	if opts.list {
		for _, p := range gpucheck.Parts() {
			if !p.Hidden {
				fmt.Fprintf(a.stdout, "%-9s %s\n", p.Name, p.Summary)
				for _, c := range p.Cases {
					fmt.Fprintf(a.stdout, "          %s\n", c.Name)
				}
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
	if opts.one != "" {
		if len(parts) != 1 {
			return usage{errors.New("gpu-check: --case needs one --part")}
		}
		return gpucheck.RunCase(ctx, parts, parts[0].Name, opts.one, o, a.stdout)
	}
	report := &gpucheck.Report{}
	if report.Device, err = identify(o.Open); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s, driver for CUDA %s, %s\n", report.Device.Name, report.Device.Driver, report.Device.Products)
	out, err := newLines(opts.out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	if err := out.write(gpucheck.Line{Version: version(), When: a.now().UTC(), Device: &report.Device}); err != nil {
		return err
	}
	err = gpucheck.Run(ctx, parts, o, func(list []gpucheck.Line) error { return out.write(list...) }, func(p gpucheck.PartReport) error {
		report.Parts = append(report.Parts, p)
		fmt.Fprintln(a.stdout)
		return p.WriteTable(a.stdout)
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
	if beside := filepath.Dir(self); data == "" && recordio.IsFolder(filepath.Join(beside, "fashion-mnist")) {
		data = beside
	}
	if data, err = datasets.Dir(data, a.getenv); err != nil {
		return gpucheck.Options{}, err
	}
	if found, _ := filepath.Glob(filepath.Join(data, "fashion-mnist", "train-images*")); found == nil {
		data = "" // skip the parts that need the files; the only error is an invalid pattern
	}
	args := []string{"gpu-check", "--device", strconv.Itoa(opts.device), "--python", opts.python}
	if data != "" {
		args = append(args, "--data-dir", data)
	}
	if opts.inProcess {
		self = ""
	}
	devices, _ := a.gpus.list() // opening the device reports the error
	return gpucheck.Options{
		Args: args, Cases: opts.cases, GPUs: len(devices),
		Open: func() (driver.Driver, error) { return a.gpus.open(opts.device) },
		Data: data, Self: self, Python: opts.python,
		Log: func(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) },
	}, nil
}

// identify opens the device once: without a device no part needs to start.
func identify(open func() (driver.Driver, error)) (driver.Info, error) {
	d, err := open()
	if err != nil {
		return driver.Info{}, err
	}
	return d.Info(), d.Close()
}

// lines is the report file, which is on disk up to the last line at all times. Without a file it
// does nothing.
type lines struct{ file *os.File }

// newLines opens the file for appending.
func newLines(name string) (lines, error) {
	if name == "" {
		return lines{}, nil
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	return lines{f}, err
}

func (l lines) write(list ...gpucheck.Line) error {
	if l.file == nil {
		return nil
	}
	w := json.NewEncoder(l.file)
	for _, line := range list {
		if err := w.Encode(line); err != nil {
			return err
		}
	}
	return l.file.Sync()
}

func (l lines) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
