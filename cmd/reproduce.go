package cmd

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ppal/datasets"
	"ppal/internal/compare"
	"ppal/internal/reproduce"
	"ppal/internal/reproduce/decisions"
	"ppal/internal/reproduce/suite"
	"ppal/internal/study"
)

func (a *app) reproduceCommand() *cobra.Command {
	var o reproduce.Options
	var out, checkout string
	var list bool
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
			do := a.together(func(*cobra.Command, []string) error { return a.reproduce(cmd.Context(), args[0], o, out) })
			switch {
			case list:
				do = a.command(func(*cobra.Command, []string) error { return a.listFigures() })
			case args[0] == decisions.Name:
				do = a.once(func(*cobra.Command, []string) error {
					if !cmd.Flags().Changed("seeds") {
						o.Seeds = decisions.Splits
					}
					return a.reproduceDecisions(cmd.Context(), o, out, checkout)
				})
			}
			return do(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&list, "list", false, "list the experiments")
	flags.BoolVar(&o.Full, "full", false, "use all data and the full width")
	flags.IntVar(&o.Seeds, "seeds", 3, "run each method with the seeds 1 to N (decisions: 5)")
	flags.IntVar(&o.Workers, "parallel", 0, "number of parallel runs, each on one thread; 0 is one run for each core (default 0)")
	flags.StringVar(&out, "out", "", "write to this directory (default runs/reproduce-NAME)")
	flags.StringVar(&o.Device, "device", "", "use this device, as in ppal train; on a GPU runs are executed one after the other (default auto)")
	flags.StringVar(&o.DataDir, "data-dir", "", "look for the data sets' files in this directory (default $PPAL_DATA, else the user's cache directory)")
	flags.StringVar(&checkout, "checkout", ".", "decisions: find the other libraries in this checkout of ppal")
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
		title := f.Title
		if f.Reason != "" {
			title += " (not available yet: " + f.Reason + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Name, title, f.Source)
	}
	fmt.Fprintf(w, "%s\t%s\tnone: a comparison with other libraries\n", decisions.Name, decisions.Title)
	fmt.Fprintf(w, "%s\t%s\tnone: a comparison with other optimisers\n", suite.Name, suite.Title)
	return w.Flush()
}

// reproduce runs a figure's comparisons and writes its report.
func (a *app) reproduce(ctx context.Context, name string, o reproduce.Options, out string) error {
	f, err := reproduce.Lookup(name)
	if err != nil {
		return err
	}
	if err := checkRuns(o.Seeds, o.Workers); err != nil {
		return err
	}
	if o.Workers == 0 {
		o.Workers = runtime.NumCPU()
	}
	if out == "" {
		out = filepath.Join("runs", "reproduce-"+name)
	}
	if o.DataDir, err = datasets.Dir(o.DataDir, a.getenv); err != nil {
		return err
	}
	return study.Locked(out, func() error { return a.figure(ctx, f, o, out) })
}

// figure runs a figure's comparisons in the directory out, writes its report and prints it.
func (a *app) figure(ctx context.Context, f reproduce.Figure, o reproduce.Options, out string) error {
	names, studies := f.Studies(o)
	var outcomes []*compare.Outcome
	for i, study := range studies {
		outcome, err := a.runStudy(ctx, study, filepath.Join(out, names[i]))
		if err != nil {
			return err
		}
		outcomes = append(outcomes, outcome)
	}
	if err := f.Write(out, names, outcomes); err != nil {
		return err
	}
	lines := append([]string{"", "Verdicts:"}, f.Verdicts(names, outcomes)...)
	lines = append(lines, "", "Files in "+out+": summary.md, and for each comparison report.html, results.jsonl and plots", "")
	for _, outcome := range outcomes {
		if _, err := io.WriteString(a.stdout, outcome.Markdown()+"\n"); err != nil {
			return err
		}
	}
	_, err := io.WriteString(a.stdout, strings.Join(lines, "\n"))
	return err
}

// reproduceDecisions compares ppal with other libraries on constraints that hold on decisions.
func (a *app) reproduceDecisions(ctx context.Context, o reproduce.Options, out, checkout string) error {
	if err := checkRuns(o.Seeds, 0); err != nil {
		return err
	}
	if out == "" {
		out = filepath.Join("runs", "reproduce-"+decisions.Name)
	}
	dir, err := datasets.Dir(o.DataDir, a.getenv)
	if err != nil {
		return err
	}
	options := decisions.Options{Splits: o.Seeds, Threads: 1, DataDir: dir, Out: out}
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
