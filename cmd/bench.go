package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"text/tabwriter"
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
	addSelected(cmd, opts.values, "data-dir", "simd", "dtype", "threads", "products")
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
		err = a.measureMemory(ctx, run, chosen, report)
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
		return printJSON(a.stdout, report)
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
	setThreads(cfg)
	device, err := bench.OpenCPU(cfg.Session.Device)
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
func (a *app) measureMemory(ctx context.Context, run bench.Options, cases []bench.Case, report *bench.Report) error {
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

func (a *app) listCases(cases []bench.Case) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, c := range cases {
		about := c.About
		if c.Missing != "" {
			about += " (cannot run: " + c.Missing + ")"
		}
		fmt.Fprintf(w, "%s\t%s\n", c.Name, about)
	}
	return w.Flush()
}

// printReport prints the report as tables.
func (a *app) printReport(r *bench.Report) error {
	out := &failOnce{out: a.stdout}
	m := r.Machine
	fmt.Fprintf(out, "%s, %d cores; %d threads, %s kernels, %s\n\n", m.CPU, m.Cores, m.Threads, m.Kernels, m.Dtype)
	switch {
	case r.Growth != nil:
		printGrowth(out, r.Growth)
	case r.Memory != nil:
		printMemory(out, r.Memory)
	default:
		printTimes(out, r.Cases)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(out, "\nnote: %s", n)
	}
	if len(r.Notes) > 0 {
		fmt.Fprintln(out)
	}
	return out.err
}

func printTimes(out io.Writer, cases []bench.Result) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "case\trows x features x width\tfloor ms (quartiles)\tGFLOP/s\titeration ms (quartiles)\tratio")
	for _, c := range cases {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.0f\t%s\t%.2f\n", c.Name, shape(c.Shape), medianQuartiles(c.Floor, c.FloorQuartiles), c.FloorGFLOPs,
			medianQuartiles(c.Iteration, c.IterationQuartiles), c.Ratio)
	}
	_ = w.Flush() // out keeps the error
	fmt.Fprintln(out)
	fmt.Fprintln(w, "case\tdata\tproducts\tconstraints\tallocations an iteration\tpeak memory")
	for _, c := range cases {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", c.Name, c.Data, products(c), c.Constraints, allocations(c.Allocations), mebibytes(c.PeakBytes))
	}
	_ = w.Flush()
	printComparisons(out, cases)
}

// printComparisons prints the other activities with which the cases were compared.
func printComparisons(out io.Writer, cases []bench.Result) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	before := "\n"
	for _, c := range cases {
		for _, o := range c.Others {
			fmt.Fprintf(w, "%s%s\t%s\t%s ms\tratio %.2f\n", before, c.Name, o.Name, medianQuartiles(o.Time, o.Quartiles), o.Ratio)
			before = ""
		}
	}
	_ = w.Flush()
}

func printMemory(out io.Writer, cases []bench.Memory) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "case\trows x features x width\tdata\tpeak of the process\tafter loading\tbound\tallocations an iteration")
	for _, m := range cases {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, shape(m.Shape), m.Data, held(m.ProcessPeak, m.Bound), held(m.LoadedPeak, m.Bound),
			mebibytes(m.Bound), allocations(m.Allocations))
	}
	_ = w.Flush()
	for _, m := range cases {
		t := m.Terms
		fmt.Fprintf(out, "\n%s: bound = packed data %s + other rows as read %s + 4 x parameters %s + 1.3 x activations %s + %s\n", m.Name,
			mebibytes(t.Packed), mebibytes(t.OtherSplits), mebibytes(t.Parameters), mebibytes(t.Activations), mebibytes(t.Allowance))
	}
}

// held formats a peak and whether it is within its bound.
func held(peak, bound uint64) string {
	switch {
	case peak == 0:
		return "not measured"
	case peak > bound:
		return mebibytes(peak) + " (over)"
	}
	return mebibytes(peak) + " (met)"
}

func printGrowth(out io.Writer, g *bench.Growth) {
	fmt.Fprintf(out, "random pictures, %d features, %d hidden units, 10 classes\n\n", g.Features, g.Width)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "rows\titeration ms\tleast-squares line\t")
	for i, n := range g.Rows {
		fmt.Fprintf(w, "%d\t%s\t%s\t\n", n, short(g.Iteration[i]), short(g.Intercept+g.Slope*float64(n)/1000))
	}
	_ = w.Flush()
	fmt.Fprintf(out, "\nline: %s ms + %s ms for 1,000 rows, R^2 = %.5f\n", short(g.Intercept), short(g.Slope), g.RSquared)
}

func shape(s bench.Shape) string {
	text := fmt.Sprintf("%d x %d x %d", s.Rows, s.Features, s.Width)
	if s.NonZeros > 0 {
		text += fmt.Sprintf(", %d non-zeros", s.NonZeros)
	}
	return text
}

// medianQuartiles formats a median with its quartiles.
func medianQuartiles(median float64, quartiles [2]float64) string {
	return fmt.Sprintf("%s (%s..%s)", significant(median), significant(quartiles[0]), significant(quartiles[1]))
}

// significant formats a number with at least three significant digits.
func significant(ms float64) string {
	places := 3
	for x := ms; x >= 1 && places > 0; x /= 10 {
		places--
	}
	return strconv.FormatFloat(ms, 'f', places, 64)
}

// products names the kind of products that ran, and the requested kind if it differs.
func products(r bench.Result) string {
	if r.AskedProducts == r.Products {
		return r.Products
	}
	return fmt.Sprintf("%s (%s)", r.Products, r.AskedProducts)
}

func allocations(a bench.Allocations) string { return fmt.Sprintf("%d, %d bytes", a.Count, a.Bytes) }

func mebibytes(n uint64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }
