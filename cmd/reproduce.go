package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ppal/datasets"
	"ppal/internal/config"
	"ppal/internal/reproduce"
	"ppal/internal/reproduce/decisions"
	"ppal/internal/reproduce/suite"
	"ppal/internal/study"
)

func (a *app) reproduceCommand() *cobra.Command {
	var o reproduce.Options
	var out, checkout, seeds string
	var list, full bool
	var format plotFormat
	cmd := &cobra.Command{
		Use:   "reproduce NAME",
		Short: "Repeat an experiment of the paper and judge its claims",
		Long: `Reproduce runs all methods of one figure of the paper twice: with the published gradient steps, after a search over the same
number of settings for each method; and with the same automatic primal step for every method that supports it. It writes every
record (results.jsonl), plots, and summary.md with the tables and, for each claim of the paper, a verdict with its numbers.
To continue an interrupted experiment, repeat the command with the same --out.

The experiment decisions compares ppal with other libraries on constraints that hold on decisions. It runs in a checkout of
ppal, whose "make peers" makes the Python environment of the other libraries; without it, only ppal is measured. It writes
every run (results.jsonl), plots, and summary.md with the tables and verdicts. One run computes at a time, on one thread.`,
		Example: `  ppal reproduce --list
  ppal reproduce dp-adult
  ppal reproduce decisions
  ppal reproduce mnpc-fashion-mnist --full --seeds 5 --out runs/mnpc`,
		Args: func(cmd *cobra.Command, args []string) error {
			if list {
				return noArguments(cmd, args)
			}
			if len(args) != 1 {
				return fmt.Errorf("want the name of one experiment (see ppal reproduce --list)")
			}
			return nil
		},
		ValidArgsFunction: cobra.FixedCompletions(figureNames(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			do := a.inProcesses(func(*cobra.Command, []string) error {
				return a.reproduce(cmd.Context(), args[0], full, o, seeds, out, format)
			})
			switch {
			case list:
				do = a.command(func(*cobra.Command, []string) error { return a.listFigures() })
			case args[0] == decisions.Name:
				do = a.once(func(*cobra.Command, []string) error {
					if full {
						return fmt.Errorf("reproduce: %s: %w", args[0], reproduce.ErrFull)
					}
					return a.reproduceDecisions(cmd.Context(), o, seeds, out, checkout)
				})
			}
			return do(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&list, "list", false, "list the experiments")
	flags.BoolVar(&full, "full", false, "use all data and the full width")
	flags.StringVar(&seeds, "seeds", "5", "run each method with the seeds 1 to `N`, or with a list, as in 11-20; a verdict needs 5")
	flags.IntVar(&o.Workers, "parallel", 0, "execute `N` runs in parallel, each on one thread; 0: one run for each core (default 0)")
	flags.StringVar(&out, "out", "", "write to this directory `DIR` (default runs/reproduce-NAME)")
	flags.Var(&format, "plot-format", plotFormatHelp)
	flags.StringVar(&o.Device, "device", "", "use this `DEVICE`, as in ppal train; on a GPU runs are executed one after the other (default auto)")
	flags.StringVar(&o.DataDir, "data-dir", "", "find the data sets' files in this directory `DIR` (default $PPAL_DATA, else the user's cache directory)")
	flags.StringVar(&checkout, "checkout", ".", "decisions: find the other libraries in the checkout of ppal in `DIR`")
	cmd.AddCommand(a.suiteCommand())
	return cmd
}

func figureNames() []string {
	var names []string
	for _, f := range reproduce.Figures() {
		names = append(names, f.Name)
	}
	return append(names, decisions.Name)
}

func (a *app) listFigures() error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\texperiment\tsection of the paper")
	for _, f := range reproduce.Figures() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Name, f.Title, f.Source)
	}
	fmt.Fprintf(w, "%s\t%s\tnone: a comparison with other libraries\n", decisions.Name, decisions.Title)
	fmt.Fprintf(w, "%s\t%s\tnone: a comparison with other optimisers\n", suite.Name, suite.Title)
	return w.Flush()
}

// reproduce runs a figure's comparisons and writes its report.
func (a *app) reproduce(ctx context.Context, name string, full bool, o reproduce.Options, seeds, out string, format plotFormat) error {
	f, err := reproduce.Lookup(name)
	if err == nil && full {
		f, err = f.Full()
	}
	if err != nil {
		return err
	}
	if err := checkParallel(o.Workers); err != nil {
		return err
	}
	if o.Seeds, err = parseSeeds(seeds); err != nil {
		return err
	}
	if o.Workers == 0 {
		o.Workers = runtime.NumCPU()
	}
	out = cmp.Or(out, filepath.Join("runs", "reproduce-"+f.Name))
	if o.DataDir, err = datasets.Dir(o.DataDir, a.getenv); err != nil {
		return err
	}
	if f, err = f.On(o.DataDir); err != nil {
		return err
	}
	return study.Locked(out, func() error { return a.figure(ctx, f, o, out, format) })
}

// figure runs a figure's comparisons in the directory out, writes its report and prints it.
func (a *app) figure(ctx context.Context, f reproduce.Figure, o reproduce.Options, out string, format plotFormat) error {
	names, comparisons := f.Comparisons(o)
	found, err := filepath.Glob(filepath.Join(out, "*", "study.yaml"))
	if err != nil {
		return err
	}
	for _, path := range found {
		if part := filepath.Base(filepath.Dir(path)); !slices.Contains(names, part) {
			return &config.Error{Where: "--out " + out + ":", Problem: "the comparison " + part + " in it is of another experiment than " + f.Name + "; use a new directory"}
		}
	}
	var outcomes []*study.Compared
	for i, c := range comparisons {
		outcome, err := a.runComparison(ctx, c, filepath.Join(out, names[i]), out)
		if err != nil {
			return err
		}
		// An experiment that ends early has the verdicts of its finished comparisons.
		outcomes = append(outcomes, outcome)
		if err := f.Write(out, names, outcomes); err != nil {
			return err
		}
		if err := format.write(filepath.Join(out, names[i])); err != nil {
			return err
		}
	}
	lines := slices.Concat(f.Data, []string{"", "Verdicts:"}, f.Verdicts(names, outcomes), []string{"", "Files in " + out + ": summary.md, and for each comparison report.html, results.jsonl and plots", ""})
	for _, outcome := range outcomes {
		if _, err := io.WriteString(a.stdout, outcome.Text()+"\n"); err != nil {
			return err
		}
	}
	_, err = io.WriteString(a.stdout, strings.Join(lines, "\n"))
	return err
}

// reproduceDecisions compares ppal with other libraries on constraints that hold on decisions.
func (a *app) reproduceDecisions(ctx context.Context, o reproduce.Options, seeds, out, checkout string) error {
	splits, err := strconv.Atoi(seeds)
	if err != nil || splits < 1 {
		return &config.Error{Where: "--seeds " + seeds + ":", Problem: "must be at least 1, a number of splits"}
	}
	if out == "" {
		out = filepath.Join("runs", "reproduce-"+decisions.Name)
	}
	dir, err := datasets.Dir(o.DataDir, a.getenv)
	if err != nil {
		return err
	}
	options := decisions.Options{Splits: splits, Threads: 1, DataDir: dir, Out: out}
	if options.Python, err = decisions.FindPython(checkout, filepath.Join(out, "python.log"), 1); err != nil {
		fmt.Fprintf(a.stderr, "only ppal is measured: %v\n", err)
	}
	var outcome *decisions.Outcome
	err = a.runJobs(ctx, decisions.Title, out, func(p study.Progress) error {
		options.Progress = p
		return study.Locked(out, func() (err error) {
			if outcome, err = decisions.Run(ctx, options); err == nil {
				err = outcome.Write(out)
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(printing{a.stdout}, "%s\nFiles in %s: results.jsonl, summary.md, plots\n", outcome.Markdown(), out)
	return err
}

// suiteFlags are the flags of ppal reproduce suite.
type suiteFlags struct {
	suite.Options
	problems         []string
	checkout         string
	quick, list      bool
	oracle, trace    string
	seed             uint64
	threads, workers int
}

// suiteCommand returns ppal reproduce suite.
func (a *app) suiteCommand() *cobra.Command {
	var f suiteFlags
	cmd := &cobra.Command{
		Use:   suite.Name,
		Short: "Compare ppal with other optimisers on a suite of problems",
		Long: `Suite runs ppal and other optimisers on problems under constraints: pictures, tables, and functions of few variables. Every
fourth problem is held out: no setting is tuned on it. The other optimisers are Python programs in a checkout of ppal, whose
"make peers" makes their environment; without it, only ppal is measured. All evaluate ppal's own problem, and ppal counts.

The command writes every run (results.jsonl), performance profiles (plots), and summary.md. To continue an interrupted
comparison, repeat the command with the same --out.

With --oracle, ppal serves one problem to another program on standard input and output. It first writes a line of JSON
(problem, n, m, radius, lower, upper, dtype) and the start, n numbers. All numbers are little-endian float64. A request is
a byte and its numbers: F and x (n numbers) gets f and g(x) (1 + m numbers); B and w (1 + m numbers) gets the gradient of
w_0 f + w.g at the last x of F (n numbers); R and x certifies a point that the program returns, without an answer; Q ends.`,
		Example: `  ppal reproduce suite --quick
  ppal reproduce suite --contenders ppal,nesterov --out runs/suite
  ppal reproduce suite --oracle hs043 --trace hs043.jsonl`,
		Args: noArguments,
		RunE: a.once(func(cmd *cobra.Command, args []string) error {
			var err error
			if f.DataDir, err = datasets.Dir(f.DataDir, a.getenv); err != nil {
				return err
			}
			switch {
			case f.list:
				_, err := io.WriteString(a.stdout, suite.List())
				return err
			case f.oracle != "":
				return a.serveProblem(cmd.Context(), f)
			}
			return a.reproduceSuite(cmd.Context(), f)
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.list, "list", false, "list the problems")
	flags.BoolVar(&f.quick, "quick", false, fmt.Sprintf("run a few small problems, with %d evaluations", suite.QuickEvaluations))
	flags.StringSliceVar(&f.problems, "problems", nil, "run the problems `NAME,...` only")
	flags.StringSliceVar(&f.Contenders, "contenders", nil, "run the contenders `NAME,...` only, such as ppal,nesterov")
	flags.IntVar(&f.Evaluations, "evaluations", 0, fmt.Sprintf("stop a run after `N` evaluations; 0: %d, or %d with --quick (default 0)", suite.Evaluations, suite.QuickEvaluations))
	flags.IntVar(&f.workers, "parallel", 0, "execute `N` runs in parallel, each on one thread; 0: one run for each core (default 0)")
	flags.DurationVar(&f.RunLimit, "run-limit", suite.DefaultRunLimit, "stop another optimiser on a problem after this `TIME`; its evaluations until then count")
	flags.StringVar(&f.Out, "out", "", "write to this directory `DIR` (default runs/reproduce-suite)")
	flags.StringVar(&f.DataDir, "data-dir", "", "find the data sets' files in this directory `DIR` (default $PPAL_DATA, else the user's cache directory)")
	flags.StringVar(&f.checkout, "checkout", ".", "find the other optimisers in the checkout of ppal in `DIR`")
	flags.StringVar(&f.oracle, "oracle", "", "serve the problem `NAME` on standard input and output")
	flags.Uint64Var(&f.seed, "seed", 0, "oracle: draw the start from the seed `N`; 0: the problem's own seed (default 0)")
	flags.StringVar(&f.trace, "trace", "", "oracle: write a line of JSON for every evaluation to this `FILE`")
	flags.IntVar(&f.threads, "threads", 0, "oracle: compute on `N` threads; 0: on all cores (default 0)")
	return cmd
}

// serveProblem answers the requests of an optimiser.
func (a *app) serveProblem(ctx context.Context, f suiteFlags) (err error) {
	list, err := suite.Select(f.oracle)
	if err != nil {
		return usage{err}
	}
	b, err := suite.Build(ctx, list[0], f.DataDir, f.seed, f.threads)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if f.trace == "" {
		return suite.Serve(b, a.stdin, a.stdout, nil)
	}
	trace, err := os.Create(f.trace)
	if err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	defer func() { err = errors.Join(err, trace.Close()) }()
	return suite.Serve(b, a.stdin, a.stdout, trace)
}

// reproduceSuite compares ppal with other optimisers.
func (a *app) reproduceSuite(ctx context.Context, f suiteFlags) error {
	o := f.Options
	if f.workers < 0 || o.Evaluations < 0 || o.RunLimit <= 0 {
		return usage{fmt.Errorf("--parallel %d, --evaluations %d, --run-limit %v: want numbers of at least 0, and a positive limit", f.workers, o.Evaluations, o.RunLimit)}
	}
	list, err := suite.Select(f.problems...)
	if err != nil {
		return usage{err}
	}
	if o.Workers = f.workers; o.Workers == 0 {
		o.Workers = runtime.NumCPU()
	}
	if f.quick {
		o.Evaluations = cmp.Or(o.Evaluations, suite.QuickEvaluations)
	}
	for _, p := range list {
		if !f.quick || f.problems != nil || p.Quick {
			o.Problems = append(o.Problems, p)
		}
	}
	o.Out = cmp.Or(o.Out, filepath.Join("runs", "reproduce-"+suite.Name))
	if o.Program, err = os.Executable(); err == nil {
		o.Python, err = suite.FindPython(f.checkout, filepath.Join(o.Out, "python.log"))
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "only ppal is measured: %v\n", err)
	}
	var outcome *suite.Outcome
	err = a.runJobs(ctx, suite.Title, o.Out, func(p study.Progress) error {
		o.Progress = p
		return study.Locked(o.Out, func() (err error) {
			if outcome, err = suite.Compare(ctx, o); err == nil {
				err = outcome.Write(o.Out)
			}
			return err
		})
	})
	switch {
	case errors.Is(err, suite.ErrContender):
		return usage{err}
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(printing{a.stdout}, "%s\nFiles in %s: results.jsonl, summary.md, plots\n", outcome.Markdown(), o.Out)
	return err
}
