package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ppal/datasets"
	"ppal/internal/bench"
	"ppal/internal/config"
)

// benchOptions are the flags of bench that train does not have.
type benchOptions struct {
	cases                      []string
	list, memory, growth, json bool
	seconds                    float64
	values                     config.Values // dtype, simd, threads, products, data-dir
}

const benchSeconds = 5

func (a *app) benchCommand() *cobra.Command {
	opts := &benchOptions{values: config.Values{}}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Time iterations on this machine",
		Long: `Bench times iterations of typical problems. It alternates them with their floor: the two bare products with the data
matrix, with the same shape and the same kernels. The ratio of the two times shows what the rest of an iteration costs.
Times are medians with quartiles. If the files of a data set are absent, bench uses random rows of the same shape.

With --memory, bench measures the resident memory of a run, each case in its own process. With --growth, it measures how
the time of an iteration grows with the number of rows.`,
		Example: `  ppal bench
  ppal bench --cases mnpc-fashion-mnist,mnpc-cifar10 --seconds 20
  ppal bench --simd avx2 --json
  ppal bench --products float32
  ppal bench --memory
  ppal bench --list`,
		Args: noArguments,
		RunE: a.once(func(cmd *cobra.Command, _ []string) error { return a.bench(cmd.Context(), opts) }),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringSliceVar(&opts.cases, "cases", nil, "run the cases `NAME,...` (default all)")
	f.BoolVar(&opts.list, "list", false, "list the cases")
	f.Float64Var(&opts.seconds, "seconds", benchSeconds, "measure each case for `S` seconds, without its preparation")
	f.BoolVar(&opts.memory, "memory", false, "measure memory instead of times")
	f.BoolVar(&opts.growth, "growth", false, "measure the time of an iteration at 1,000 to 60,000 rows")
	f.BoolVar(&opts.json, "json", false, "print JSON")
	for _, k := range config.Keys() {
		if slices.Contains([]string{"data-dir", "simd", "dtype", "threads", "products"}, k.Name) {
			f.Var(&setting{key: k, values: opts.values}, k.Name, k.Usage())
			if choices := k.Choices(); choices != nil {
				complete(cmd, k.Name, choices)
			}
		}
	}
	cmd.MarkFlagsMutuallyExclusive("memory", "growth")
	cmd.MarkFlagsMutuallyExclusive("cases", "growth")
	complete(cmd, "cases", caseNames(append(bench.Cases(1), bench.MemoryCases(1)...)))
	return cmd
}

func caseNames(cases []bench.Case) []string {
	var names []string
	for _, c := range cases {
		names = append(names, c.Name)
	}
	return names
}

// bench runs the command.
func (a *app) bench(ctx context.Context, opts *benchOptions) error {
	if !(opts.seconds > 0) || math.IsInf(opts.seconds, 0) {
		return &config.Error{Where: fmt.Sprintf("--seconds %v:", opts.seconds), Problem: "must be a positive number"}
	}
	all := bench.Cases(a.shrink)
	if opts.memory {
		all = bench.MemoryCases(a.shrink)
	}
	run, report, err := a.beginBench(opts, all)
	if err != nil {
		return err
	}
	chosen, notes, err := bench.Choose(all, opts.cases)
	if err != nil {
		return err
	}
	if opts.list {
		return a.listCases(all)
	}
	switch {
	case opts.growth:
		rows := bench.GrowthRows()
		for i := range rows {
			rows[i] /= a.shrink
		}
		var g bench.Growth
		if g, err = bench.MeasureGrowth(ctx, run, rows); err == nil {
			report.Growth = &g
		}
	case opts.memory:
		err = a.measureMemory(ctx, opts, run, chosen, report)
	default:
		report.Notes = notes
		err = a.timeCases(ctx, run, chosen, report)
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted; no results are printed")
	case err != nil:
		return err
	case opts.json:
		return a.printJSON(report)
	}
	return a.printReport(report)
}

// beginBench resolves the settings that all cases share, and marks the cases that cannot run with
// them.
func (a *app) beginBench(opts *benchOptions, all []bench.Case) (bench.Options, *bench.Report, error) {
	cfg, err := config.Resolve(opts.values, nil)
	if err != nil {
		return bench.Options{}, nil, err
	}
	if cfg.Session.Device.Threads > 0 {
		runtime.GOMAXPROCS(cfg.Session.Device.Threads)
	}
	device, err := cfg.Session.Device.OpenCPU()
	if err != nil {
		return bench.Options{}, nil, config.NameFlags(err)
	}
	bench.Restrict(all, device, cfg.Session.Device.Dtype)
	dataDir, err := datasets.DirOf(cfg.Dataset, cfg.DataDir, a.getenv)
	if err != nil {
		return bench.Options{}, nil, err
	}
	run := bench.Options{DataDir: dataDir, Device: config.Values{}, Time: time.Duration(opts.seconds * float64(time.Second))}
	for _, name := range []string{"simd", "dtype", "threads", "products"} {
		if text, given := opts.values[name]; given {
			run.Device[name] = text
		}
	}
	return run, &bench.Report{Machine: bench.Machine{
		CPU: cpuModel(), Cores: runtime.NumCPU(), Threads: device.Threads(),
		Kernels: device.Level().String(), Dtype: cfg.Session.Device.Dtype.String(), Version: version(),
	}}, nil
}

// timeCases times the cases in their order.
func (a *app) timeCases(ctx context.Context, run bench.Options, cases []bench.Case, report *bench.Report) error {
	for i, c := range cases {
		fmt.Fprintf(a.stderr, "%s (%d of %d)\n", c.Name, i+1, len(cases))
		r, err := c.Run(ctx, run)
		if err != nil {
			return err
		}
		report.Cases = append(report.Cases, r)
	}
	return nil
}

// measureMemory measures one case in this process, or several cases in a process each.
func (a *app) measureMemory(ctx context.Context, opts *benchOptions, run bench.Options, cases []bench.Case, report *bench.Report) error {
	if len(cases) == 1 {
		m, err := cases[0].MeasureMemory(ctx, run)
		report.Memory = []bench.Memory{m}
		return err
	}
	for _, c := range cases {
		args := []string{"bench", "--memory", "--json", "--cases", c.Name, "--data-dir", run.DataDir}
		for name, text := range run.Device {
			args = append(args, "--"+name, text)
		}
		out, err := a.self(ctx, args)
		if err != nil {
			return fmt.Errorf("measuring %s in its own process: %w", c.Name, err)
		}
		var part bench.Report
		if err := json.Unmarshal(out, &part); err != nil {
			return fmt.Errorf("measuring %s in its own process: %w", c.Name, err)
		}
		report.Memory = append(report.Memory, part.Memory...)
	}
	return nil
}

// runSelf runs this program in a new process.
func runSelf(ctx context.Context, args []string) ([]byte, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = os.Stderr
	return cmd.Output()
}
