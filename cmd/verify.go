package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ppal/datasets"
	"ppal/internal/config"
	"ppal/internal/option"
	"ppal/internal/rundir"
	"ppal/trainer/session"
	"ppal/trainer/session/verify"
)

const (
	verifyLines    = 12 // the largest number of comparisons of a section that the table shows in full
	verifyProblems = 10 // the largest number of differences with a line each
)

func (a *app) verifyCommand() *cobra.Command {
	var dataDir string
	var asJSON, everything, onlyFiles bool
	cmd := &cobra.Command{
		Use:   "verify RUN",
		Short: "Recompute the claims of a run and compare them with its files",
		Long: `Verify recomputes the claims of a finished run in float64 from its weights and its data: objective, constraints, KKT
certificate, counted decisions, measures and rates of every split with their intervals, promises, probabilities, the best
feasible record, and the proof of a run that ended as infeasible. The computation is a plain loop over the rows. It uses
neither the device nor the kernels that trained, and counts decisions by itself. Convolutional networks are the exception:
the CPU computes all scores in float64, and the loops compare a sample. Verify writes preparation.yaml, rows.csv and
model.json again and compares them, and it compares the checksums of the run's files and of the data.

What cannot be recomputed, such as times and warnings, is listed as not checked. With --files, verify compares the
checksums of the run's files only.

Exit status: 0 verified; 1 something differs, or the run is not finished; 2 the command is wrong.`,
		Example: `  ppal verify runs/20260101-120000-rates-alm
  ppal verify RUN --data-dir /data --all
  ppal verify RUN --json
  ppal verify --files RUN`,
		Args: oneRun,
		RunE: a.once(func(cmd *cobra.Command, args []string) error {
			return a.interruptible(cmd.Context(), func() error {
				r, err := a.verify(cmd.Context(), args[0], dataDir, onlyFiles)
				if err != nil {
					return err
				}
				if asJSON {
					err = printJSON(a.stdout, r)
				} else {
					most := verifyLines
					if everything {
						most = len(r.Comparisons)
					}
					err = printVerification(printing{a.stdout}, r, most)
				}
				if err != nil {
					return err
				}
				return a.differences(r)
			})
		}),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "`DIR` of the data sets (default: where the run read them, else PPAL_DATA or the cache)")
	cmd.Flags().BoolVar(&onlyFiles, "files", false, "compare the checksums of the run's files only; needs no data")
	cmd.Flags().BoolVar(&everything, "all", false, "show every number; otherwise a long section shows its worst number")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// dataOf returns the directory of the data that the run read; "" if it is not known or is not on
// this machine.
func dataOf(dir rundir.Dir, config []byte) string {
	p, err := dir.ParseProvenance(config)
	if err != nil || p.DataDir == "" {
		return ""
	}
	if _, err := os.Stat(p.DataDir); err != nil {
		return ""
	}
	return p.DataDir
}

// verify checks a run, or its files alone.
func (a *app) verify(ctx context.Context, run, dataDir string, onlyFiles bool) (*verify.Report, error) {
	dir := rundir.Dir(run)
	if onlyFiles {
		r, err := verify.Files(run)
		return r, asFailure(err)
	}
	r, err := verify.RunConfig(run, func(text []byte) (*session.Inputs, error) {
		file, err := config.ParseFile(dir.Config(), text)
		if err != nil {
			return nil, err
		}
		values := config.Values{}
		if dataDir == "" {
			dataDir = dataOf(dir, text)
		}
		if dataDir != "" {
			values["data-dir"] = dataDir
		}
		cfg, err := config.Resolve(values, file)
		if err != nil {
			return nil, err
		}
		from, err := datasets.DirOf(cfg.Dataset, cfg.DataDir, a.getenv)
		if err != nil {
			return nil, err
		}
		options, err := cfg.SessionOptions(from)
		if err != nil {
			return nil, err
		}
		options.Files.Version = version()
		in, err := session.ReadInputs(ctx, options)
		if err != nil && cfg.Table.File == standard {
			return nil, fmt.Errorf("the run read standard input, and verify reads the same rows there (ppal verify RUN < FILE; --files needs no rows): %w", err)
		}
		return in, config.NameFlags(err)
	})
	return r, asFailure(err)
}

// asFailure marks an error of a directory with an unfinished or damaged run.
func asFailure(err error) error {
	if err == nil || errors.Is(err, rundir.ErrIncomplete) {
		return err
	}
	return failure{err}
}

// differences prints a line for each difference, and returns an error if there are any.
func (a *app) differences(r *verify.Report) error {
	if r.Verified {
		return nil
	}
	out := printing{a.stderr}
	for k, p := range r.Problems {
		if left := len(r.Problems) - k; k >= verifyProblems && left > 1 {
			fmt.Fprintf(out, "ppal: %s: and %s more (--json lists all)\n", r.Run, option.Counted(left, "difference"))
			break
		}
		fmt.Fprintf(out, "ppal: %s: %s\n", r.Run, errorText(errors.New(p)))
	}
	return failure{fmt.Errorf("%s is not verified: %s", r.Run, option.Counted(len(r.Problems), "difference"))}
}

// printVerification prints the comparisons as a table, then the claims that were not checked.
func printVerification(out io.Writer, r *verify.Report, most int) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(r.Comparisons) > 0 {
		fmt.Fprintln(w, "quantity\tin the files\trecomputed\tdifference\ttolerance\tok")
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }
	section := ""
	for _, c := range r.Lines(most) {
		if c.Section != section {
			section = c.Section
			fmt.Fprintf(w, "%s:\n", section)
		}
		ok := "yes"
		if !c.OK {
			ok = "NO"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%.2g\t%.2g\t%s\n", c.Quantity, number(c.Reported), number(c.Recomputed), c.Difference, c.Tolerance, ok)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(out, "not checked: %s\n", s)
	}
	if !r.Verified {
		return nil
	}
	what := option.Counted(len(r.Comparisons), "number") + " agree with "
	if len(r.Comparisons) == 0 {
		what = "the checksums of " + option.Counted(len(r.Files), "file") + " in "
	}
	_, err := fmt.Fprintf(out, "verified: %s%s\n", what, printable(r.Run))
	return err
}
